package inputs_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/tablewake/tablewake/pipeline/inputs"
)

func TestDecompress(t *testing.T) {
	text := []byte(strings.Repeat("a line\n", 50_000))
	var gz, zs bytes.Buffer
	w := gzip.NewWriter(&gz)
	z, err := zstd.NewWriter(&zs)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []io.WriteCloser{w, z} {
		if _, err := w.Write(text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for name, b := range map[string][]byte{"plain": text, "gzip": gz.Bytes(), "zstd": zs.Bytes()} {
		r, err := inputs.Decompress("f", io.NopCloser(bytes.NewReader(b)))
		if err != nil {
			t.Fatal(name, err)
		}
		got, err := io.ReadAll(r)
		if err := errors.Join(err, r.Close()); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		if name == "plain" {
			continue
		}
		if r, err = inputs.Decompress("f", io.NopCloser(bytes.NewReader(b[:len(b)-5]))); err != nil {
			t.Fatal(name, err)
		}
		_, err = io.ReadAll(r)
		if !errors.Is(err, inputs.ErrCut) || r.Close() != nil {
			t.Errorf("%s, cut: %v", name, err)
		}
	}
}

// An error of the connection is not damaged data: its reader may try again.
func TestDecompress_ErrorOfTheReader(t *testing.T) {
	var gz bytes.Buffer
	w := gzip.NewWriter(&gz)
	if _, err := w.Write(bytes.Repeat([]byte("a line\n"), 1000)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("connection reset")
	r, err := inputs.Decompress("f", io.NopCloser(io.MultiReader(bytes.NewReader(gz.Bytes()[:gz.Len()-20]), iotest.ErrReader(broken))))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err = io.ReadAll(r); !errors.Is(err, broken) || err.Error() != broken.Error() {
		t.Errorf("got %v", err)
	}
}

// Compressed data is never empty: an empty file was cut short. Other files may be empty.
func TestDecompress_EmptyFile(t *testing.T) {
	for name, format := range map[string]string{"a.jsonl.zst": "zstd", "a.json.gz": "gzip", "a.jsonl": ""} {
		_, err := inputs.Decompress(name, io.NopCloser(strings.NewReader("")))
		if want := "the " + format + " data is cut short"; format == "" && err != nil ||
			format != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Text was cut if its last value of JSON is not closed. Other text says nothing.
func TestCheckEnd(t *testing.T) {
	for text, isCut := range map[string]bool{
		"": false, "\n": false, `{"a":1}`: false, `{"a":1}{"b":[`: true, `{"a`: true, `[1,`: true, "\ufeff{": true,
		"PK,SK": false, `{"a"}`: false, `{"a":"` + "\n": false,
	} {
		if err := inputs.CheckEnd([]byte(text)); errors.Is(err, inputs.ErrCut) != isCut || (err != nil) != isCut {
			t.Errorf("%q: %v", text, err)
		}
	}
}
