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
	if !strings.HasPrefix(info.Source, "items "+dir+" sha256:") || !info.Time.Equal(at) || !info.OldestTime.Equal(at) || info.Items != -1 || info.View != record.NewAndOldImages {
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
		"shorter now":      {texts(0, 3), "4,1c291ca3", "shorter_now: the file has fewer items now"},
		"wrong position":   {texts(0, 3), "x", "not a position"},
		"no checksum":      {texts(0, 3), "3", "not a position"},
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

// A file whose items were read in part is read on if those are the same: as a copy, longer, or whole after it was cut.
// A file with others is refused, also if it has the size of the one before.
func TestSnapshot_Replaced(t *testing.T) {
	path, n := filepath.Join(t.TempDir(), "a.json"), 6000
	was := texts(0, n)
	var packed bytes.Buffer
	z := gz(&packed)
	if _, err := z.Write(was); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		was, is []byte
		more    int // items behind those of before
		refused string
	}{
		"a copy":                  {was: was, is: was},
		"compressed":              {was: was, is: packed.Bytes()},
		"longer":                  {was: was, is: texts(0, n+1), more: 1},
		"whole after it was cut":  {was: packed.Bytes()[:packed.Len()-20], is: packed.Bytes()},
		"shorter":                 {was: was, is: texts(0, n/2), refused: "a.json: the file has fewer items now"},
		"as long":                 {was: was, is: bytes.Replace(was, []byte(`"4000"`), []byte(`"4001"`), 1), refused: "a.json: the items that were read from the file before are others now: put the file back"},
		"as long, the last blank": {was: was, is: append(bytes.Clone(was[:len(was)-2]), "\n\n"...), refused: "are others now"},
	} {
		write(t, path, test.was, nil)
		s := open(t, items.Options{Paths: []string{path}, BlockBytes: 1000})
		id := s.Parts()[0].ID
		read1, after, err := read(t, s, id, "")
		if len(after) < 2 || len(read1) < n/2 {
			t.Fatal(name, after, err)
		}
		write(t, path, test.is, nil)
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := read(t, s, id, ""); err == nil || !strings.Contains(err.Error(), "a.json was changed or replaced during the backfill") {
			t.Errorf("%s, by the process that opened it: %v", name, err)
		}
		other := open(t, items.Options{Paths: []string{path}})
		if other.Info().Source != s.Info().Source {
			t.Errorf("%s: the name is %s, and was %s", name, other.Info().Source, s.Info().Source)
		}
		read2, _, err := read(t, other, id, after[len(after)-1])
		switch {
		case test.refused != "":
			if len(read2) > 0 || err == nil || !strings.Contains(err.Error(), test.refused) {
				t.Errorf("%s: %d items, %v", name, len(read2), err)
			}
		case !errors.Is(err, io.EOF) || len(read1)+len(read2) != n+test.more:
			t.Errorf("%s: %d and %d items, %v", name, len(read1), len(read2), err)
		}
	}
	write(t, path, was, nil)
	s := open(t, items.Options{Paths: []string{path}})
	write(t, path, bytes.Replace(was, []byte(`"4"`), []byte(`"5"`), 1), nil)
	if other := open(t, items.Options{Paths: []string{path}}); other.Info().Source == s.Info().Source {
		t.Error("with another beginning it has the same name")
	}
}

// A file that is changed while it is read is an error at its end.
func TestSnapshot_ChangedWhileItIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.json")
	write(t, path, texts(0, 10), nil)
	s := open(t, items.Options{Paths: []string{path}})
	r, err := s.Open(t.Context(), s.Parts()[0].ID, "")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = r.Read(t.Context())
	}
	if !strings.Contains(err.Error(), "a.json was changed or replaced during the backfill: put the file back as it was") {
		t.Error(err)
	}
}

func TestOpen_Options(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.json")
	write(t, path, texts(0, 1), nil)
	write(t, path+".gz", []byte{0x1f, 0x8b, 8, 0, 0, 0}, nil)
	for want, o := range map[string]items.Options{
		"Paths is empty":                 {},
		"standard input":                 {Paths: []string{"-"}},
		"copy the file again":            {Paths: []string{path + ".gz"}},
		"/dev/null cannot be read twice": {Paths: []string{"/dev/null"}},
		"named twice":                    {Paths: []string{path, filepath.Dir(path) + "/./a.json"}},
		"BlockBytes is negative":         {Paths: []string{path}, BlockBytes: -1},
		"no such file":                   {Paths: []string{path + ".old"}},
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
