package sample

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/cmd/internal/cli"
)

// A sample may be a part of a file: of items or records, plain or compressed. What is cut off is not missed.
func TestRead_CutFiles(t *testing.T) {
	const record = `{"eventID":"1","eventName":"INSERT","eventVersion":"1.1","eventSource":"aws:dynamodb","dynamodb":{"Keys":{"PK":{"S":"a"}},` +
		`"NewImage":{"PK":{"S":"a"}},"SequenceNumber":"1","SizeBytes":9,"StreamViewType":"NEW_AND_OLD_IMAGES"}}` + "\n"
	for name, line := range map[string]string{"items": `{"PK":{"S":"a"}}` + "\n", "records": record} {
		plain := strings.Repeat(line, 3000)
		var zip bytes.Buffer
		w := gzip.NewWriter(&zip)
		if _, err := w.Write([]byte(plain)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		for form, content := range map[string][]byte{"plain": []byte(plain[:len(plain)-9]), "gzip": zip.Bytes()[:zip.Len()-9]} {
			path := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := Read(t.Context(), cli.Streams{Err: t.Output()}, []string{path})
			if err != nil || len(s.Items) < 1000 {
				t.Errorf("%s, %s: %v", name, form, err)
			}
		}
	}
}

// A line of an export shows its item, even if the line is a deletion. A plain item may have an attribute named Item.
func TestItemOf(t *testing.T) {
	for line, want := range map[string]string{
		`{"Item":{"PK":{"S":"a"}}}`: `{"PK":{"S":"a"}}`,
		`{"Metadata":{"WriteTimestampMicros":{"N":"1"}},"Keys":{"PK":{"S":"a"}},"NewImage":{"PK":{"S":"a"},"n":{"N":"1"}}}`: `{"PK":{"S":"a"},"n":{"N":"1"}}`,
		`{"Metadata":{"WriteTimestampMicros":{"N":"1"}},"Keys":{"PK":{"S":"a"}},"OldImage":{"PK":{"S":"a"},"n":{"N":"2"}}}`: `{"PK":{"S":"a"},"n":{"N":"2"}}`,
		`{"Metadata":{"WriteTimestampMicros":{"N":"1"}},"Keys":{"PK":{"S":"a"}}}`:                                           `{"PK":{"S":"a"}}`,
		`{"Item":{"S":"an attribute"},"PK":{"S":"a"}}`:                                                                      `{"Item":{"S":"an attribute"},"PK":{"S":"a"}}`,
	} {
		m, err := parseLine([]byte(line))
		if err != nil || string(m.Bytes()) != want {
			t.Errorf("%s\nis %s, %v", line, m.Bytes(), err)
		}
	}
	if _, err := parseLine([]byte(`{"PK":"a"}`)); err == nil {
		t.Error("plain JSON is an item")
	}
}
