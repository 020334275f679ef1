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

	"github.com/tablewake/tablewake/shardreader/internal/inputs"
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
		r, free, err := inputs.Decompress("f", bytes.NewReader(b))
		if err != nil {
			t.Fatal(name, err)
		}
		got, err := io.ReadAll(r)
		if free(); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		if name == "plain" {
			continue
		}
		r, free, err = inputs.Decompress("f", bytes.NewReader(b[:len(b)-5]))
		if err != nil {
			t.Fatal(name, err)
		}
		if _, err = io.ReadAll(r); err == nil || !strings.Contains(err.Error(), "copy the file again") {
			t.Errorf("%s, cut: %v", name, err)
		}
		free()
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
	r, free, err := inputs.Decompress("f", io.MultiReader(bytes.NewReader(gz.Bytes()[:gz.Len()-20]), iotest.ErrReader(broken)))
	if err != nil {
		t.Fatal(err)
	}
	defer free()
	if _, err = io.ReadAll(r); !errors.Is(err, broken) || err.Error() != broken.Error() {
		t.Errorf("got %v", err)
	}
}

// Compressed data is never empty: an empty file was cut short. Other files may be empty.
func TestDecompress_EmptyFile(t *testing.T) {
	for name, format := range map[string]string{"a.jsonl.zst": "zstd", "a.json.gz": "gzip", "a.jsonl": ""} {
		_, _, err := inputs.Decompress(name, strings.NewReader(""))
		if want := "the " + format + " data is cut short"; format == "" && err != nil ||
			format != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
