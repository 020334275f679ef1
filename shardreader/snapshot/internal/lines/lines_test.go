package lines_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/replay"
	"github.com/tablewake/tablewake/shardreader/snapshot/internal/lines"
)

// Blocks have every item after the skipped ones once, in order, with its place in the file.
func TestReader(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOf(rapid.SampledFrom([]string{"", " ", "\r", "{}", `{"a":1}`, strings.Repeat("x", 100)})).Draw(t, "lines")
		file := strings.Join(texts, "\n")
		if rapid.Bool().Draw(t, "end") {
			file += "\n"
		}
		var items []string
		for _, text := range texts {
			if strings.TrimSpace(text) != "" {
				items = append(items, strings.TrimSpace(text))
			}
		}
		skip := rapid.IntRange(0, len(items)+1).Draw(t, "skip")
		r := lines.New(iotest.HalfReader(strings.NewReader(file)), rapid.IntRange(1, 300).Draw(t, "size"), int64(skip))
		var got []string
		for {
			b, err := r.Next()
			if skip > len(items) {
				if !errors.Is(err, lines.ErrShort) {
					t.Fatalf("skipped %d of %d: %v", skip, len(items), err)
				}
				return
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(file[b.Offset:], string(b.Bytes)) || int(b.Line) != 1+strings.Count(file[:b.Offset], "\n") {
				t.Fatalf("block at %d, line %d: %q", b.Offset, b.Line, b.Bytes)
			}
			n := int64(0)
			for line := range strings.Lines(string(b.Bytes)) {
				if strings.TrimSpace(line) != "" {
					got = append(got, strings.TrimSpace(line))
					n++
				}
			}
			if n != b.Items || n == 0 {
				t.Fatalf("%d items in %q", b.Items, b.Bytes)
			}
		}
		if want := items[skip:]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

func TestReader_ErrorComesAfterWholeLines(t *testing.T) {
	broken := errors.New("connection reset")
	r := lines.New(io.MultiReader(strings.NewReader("{}\n{}\n{"), iotest.ErrReader(broken)), 1<<20, 0)
	if b, err := r.Next(); err != nil || b.Items != 2 {
		t.Errorf("%d items, %v", b.Items, err)
	}
	if _, err := r.Next(); !errors.Is(err, broken) {
		t.Errorf("then %v", err)
	}
}

// endless has no line end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte("x"), len(p))), nil }

func TestReader_EndlessLine(t *testing.T) {
	if _, err := lines.New(endless{}, 1<<20, 0).Next(); err == nil || !strings.Contains(err.Error(), "line 1 is longer") {
		t.Errorf("got %v", err)
	}
}

func TestBlock_Page(t *testing.T) {
	decoder := record.NewSnapshotDecoder(record.SnapshotOptions{DecoderOptions: record.DecoderOptions{EpochZero: true}, Keys: []string{"PK"}})
	b := lines.Block{Bytes: []byte(`{"PK":{"S":"a"}}` + "\nx\n" + `{"PK":{"S":"b"}}` + "\ny\n"), Offset: 100, Line: 11}
	page := b.Page(decoder, "data/a.json.gz", "7")
	p, err := page.Decode()
	if err != nil || len(p.Changes) != 2 || len(p.Errors) != 2 || page.Bytes != len(b.Bytes) || page.Position != "7" {
		t.Fatalf("%+v, %+v, %v", page, p, err)
	}
	for i, want := range []string{"data/a.json.gz:12 (byte 117)", "data/a.json.gz:14 (byte 136)"} {
		if at, ok := errors.AsType[*replay.LocationError](p.Errors[i].Err); !ok || at.Location() != want {
			t.Errorf("error %d: %v, want %s", i, p.Errors[i].Err, want)
		}
	}
}
