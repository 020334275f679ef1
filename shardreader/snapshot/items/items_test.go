package items_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/replay"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/shardreader/snapshot/items"
	"github.com/tablewake/tablewake/test/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

var decoder = record.SnapshotOptions{DecoderOptions: record.DecoderOptions{EpochZero: true}, Keys: []string{"PK"}}

// texts returns n lines, of both forms, from an item on.
func texts(from, n int) []byte {
	var b bytes.Buffer
	for i := from; i < from+n; i++ {
		if i%2 == 0 {
			fmt.Fprintf(&b, `{"Item":{"PK":{"S":"%d"}}}`+"\r\n\n", i)
		} else {
			fmt.Fprintf(&b, `{"PK":{"S":"%d"},"N":{"N":"1"}}`+"\n", i)
		}
	}
	return b.Bytes()
}

func write(t *testing.T, path string, b []byte, pack func(io.Writer) io.WriteCloser) {
	t.Helper()
	if pack != nil {
		var packed bytes.Buffer
		w := pack(&packed)
		if _, err := w.Write(b); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		b = packed.Bytes()
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func gz(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }

func zs(w io.Writer) io.WriteCloser {
	z, err := zstd.NewWriter(w)
	if err != nil {
		panic(err)
	}
	return z
}

func open(t *testing.T, o items.Options) *items.Snapshot {
	t.Helper()
	o.Decoder = decoder
	s, err := items.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// read reads a part to its end. It returns the keys, and the position after each page.
func read(t *testing.T, s *items.Snapshot, id string, from pipeline.Position) (keys []string, after []pipeline.Position, err error) {
	t.Helper()
	r, err := s.Open(t.Context(), id, from)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	for {
		page, err := r.Read(t.Context())
		if err != nil {
			return keys, after, err
		}
		p, err := page.Decode()
		if err != nil {
			return keys, after, err
		}
		for i := range p.Changes {
			v, _ := p.Changes[i].New.Get("PK")
			keys = append(keys, string(v.Raw()))
		}
		for _, e := range p.Errors {
			keys = append(keys, e.Err.Error())
		}
		after = append(after, page.Position)
	}
}

func TestSnapshot(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "b.json"), texts(0, 1000), nil)
	write(t, filepath.Join(dir, "sub", "c.json.gz"), texts(1000, 500), gz)
	write(t, filepath.Join(dir, "a.zst"), texts(1500, 300), zs)
	write(t, filepath.Join(dir, "empty"), nil, nil)
	write(t, filepath.Join(dir, ".hidden"), texts(5000, 1), nil)
	at := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	s := open(t, items.Options{Paths: []string{dir}, Time: at, BlockBytes: 4096})
	info := s.Info()
	if info.Source != "items "+dir || !info.Time.Equal(at) || !info.From.Equal(at) || info.Items != -1 || info.View != record.NewAndOldImages {
		t.Errorf("%+v", info)
	}
	var ids []string
	var all []string
	size := int64(0)
	for _, part := range s.Parts() {
		ids = append(ids, strings.TrimPrefix(part.ID, filepath.ToSlash(dir)+"/"))
		size += part.Bytes
		keys, after, err := read(t, s, part.ID, "")
		if !errors.Is(err, io.EOF) {
			t.Fatalf("%s: %v", part.ID, err)
		}
		all = append(all, keys...)
		for i, p := range after { // it continues after every page
			rest, _, err := read(t, s, part.ID, p)
			var n int
			if _, scan := fmt.Sscan(string(p), &n); scan != nil || !errors.Is(err, io.EOF) || !slices.Equal(rest, keys[n:]) {
				t.Fatalf("%s after page %d (%s): %v, %d keys", part.ID, i, p, err, len(rest))
			}
		}
	}
	if !slices.Equal(ids, []string{"a.zst", "b.json", "empty", "sub/c.json.gz"}) || size != info.Bytes {
		t.Errorf("parts %v, %d bytes of %d", ids, size, info.Bytes)
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) != 1800 {
		t.Errorf("%d keys", len(all))
	}
}

// A record with an error is located, and costs no other.
func TestSnapshot_LineWithAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "items.json")
	write(t, path, []byte("\n{\"PK\":{\"S\":\"a\"}}\n{\"SK\":{\"S\":\"b\"}}\n{\"PK\":{\"S\":\"c\"}}\n"), nil)
	s := open(t, items.Options{Paths: []string{path}})
	keys, _, err := read(t, s, s.Parts()[0].ID, "")
	if !errors.Is(err, io.EOF) || len(keys) != 3 || keys[0] != "a" || keys[1] != "c" || !strings.HasPrefix(keys[2], filepath.ToSlash(path)+":3 (byte ") {
		t.Errorf("%q, %v", keys, err)
	}
	if _, ok := errors.AsType[*replay.LocationError](err); ok {
		t.Error(err)
	}
}

func TestSnapshot_Refused(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		content []byte
		from    pipeline.Position
		want    string
	}{
		"answer of a scan": {[]byte("{\"Items\":[\n{\"PK\":{\"S\":\"a\"}}]}\n"), "", "answer_of_a_scan:1: the first line is not an item"},
		"stream records":   {[]byte("\n\n" + `{"eventID":"1","eventName":"INSERT","dynamodb":{}}` + "\n"), "", "stream_records:3: the first line is not an item"},
		"text":             {[]byte("PK,SK\n"), "", "jq -c '.Items[]'"},
		"shorter now":      {texts(0, 3), pipeline.Position(fmt.Sprintf("4,%d", len(texts(0, 3)))), "shorter_now: the file has fewer items now"},
		"wrong position":   {texts(0, 3), "x", "not a position"},
		"cut gzip":         {[]byte{0x1f, 0x8b, 8, 0, 0, 0}, "", "copy the file again"},
	} {
		path := filepath.Join(dir, strings.ReplaceAll(name, " ", "_"))
		write(t, path, c.content, nil)
		s := open(t, items.Options{Paths: []string{path}})
		if _, _, err := read(t, s, s.Parts()[0].ID, c.from); err == nil || errors.Is(err, io.EOF) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	write(t, filepath.Join(dir, "gone"), texts(0, 1), nil)
	s := open(t, items.Options{Paths: []string{filepath.Join(dir, "gone")}})
	if err := os.Remove(filepath.Join(dir, "gone")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := read(t, s, s.Parts()[0].ID, ""); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "gone") {
		t.Errorf("missing: %v", err)
	}
}

// A file that was replaced by one of another size is read from its start.
func TestSnapshot_Replaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.json")
	write(t, path, texts(0, 3), nil)
	s := open(t, items.Options{Paths: []string{path}})
	_, after, err := read(t, s, s.Parts()[0].ID, "")
	if !errors.Is(err, io.EOF) || len(after) == 0 {
		t.Fatal(after, err)
	}
	write(t, path, texts(0, 5), nil)
	if keys, _, _ := read(t, s, s.Parts()[0].ID, after[len(after)-1]); len(keys) != 5 {
		t.Errorf("of the replaced file %q are read", keys)
	}
}

func TestOpen_Options(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.json")
	write(t, path, texts(0, 1), nil)
	for want, o := range map[string]items.Options{
		"Paths is empty":         {},
		"standard input":         {Paths: []string{"-"}},
		"named twice":            {Paths: []string{path, filepath.Dir(path) + "/./a.json"}},
		"BlockBytes is negative": {Paths: []string{path}, BlockBytes: -1},
		"no such file":           {Paths: []string{path + ".old"}},
	} {
		if _, err := items.Open(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// The progress of a single file is known before its end, although its number of items is not.
func TestSnapshot_Progress(t *testing.T) {
	path := filepath.Join(t.TempDir(), "items.json.gz")
	write(t, path, texts(0, 200_000), gz)
	snap := open(t, items.Options{Paths: []string{path}, BlockBytes: 64 << 10})
	src, err := snapshot.NewSource(snapshot.SourceOptions{Snapshot: snap, Backfills: forgetful{}, Run: "run", Owner: "p1"})
	if err != nil {
		t.Fatal(err)
	}
	var seen []snapshot.Progress
	sink := pipeline.SinkFunc(func(context.Context, []pipeline.Delivery) error {
		seen = append(seen, src.Progress())
		return nil
	})
	p, err := pipeline.New(pipeline.Options{Name: "test", MaxChanges: 5000, Routes: []pipeline.Route{{Name: "sink", Sink: sink, Concurrency: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(t.Context(), src, src); err != nil {
		t.Fatal(err)
	}
	if err := src.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	seen = append(seen, src.Progress())
	size := snap.Info().Bytes
	between := 0
	for i, p := range seen {
		if i > 0 && p.Bytes < seen[i-1].Bytes || p.Bytes > size || p.TotalBytes != size {
			t.Fatalf("%+v after %+v", p, seen[max(i, 1)-1])
		}
		if p.Bytes > size/4 && p.Bytes < size*3/4 {
			between++
		}
	}
	if last := seen[len(seen)-1]; between == 0 || last.Bytes != size || last.Items != 200_000 || last.Parts != 1 {
		t.Errorf("%d between, last %+v", between, last)
	}
}
