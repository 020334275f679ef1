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
	"github.com/tablewake/tablewake/pipeline/inputs"
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
	s, err := items.Open(t.Context(), o)
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
	write(t, filepath.Join(dir, ".hidden"), texts(5000, 1), nil)
	at := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	s := open(t, items.Options{Paths: []string{dir}, Time: at, BlockBytes: 4096})
	info := s.Info()
	if !strings.HasPrefix(info.Source, "items "+dir+" sha256:") || !info.Time.Equal(at) || !info.OldestTime.Equal(at) || info.Items != 1800 || info.View != record.NewAndOldImages {
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
	if !slices.Equal(ids, []string{"a.zst", "b.json", "sub/c.json.gz"}) || size != info.Bytes {
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
	for name, c := range map[string]struct{ content, want string }{
		"answer of a scan":  {"{\"Items\":[\n{\"PK\":{\"S\":\"a\"}}]}\n", "answer_of_a_scan:1: the first line is not an item"},
		"stream records":    {"\n\n" + `{"eventID":"1","eventName":"INSERT","dynamodb":{}}` + "\n", "stream_records:3: the first line is not an item"},
		"text":              {"PK,SK\n", "jq -c '.Items[]'"},
		"nothing":           {" \n\n", "there is no item, and a sink that is filled by nothing can't be filled again"},
		"zeros":             {`{"PK":{"S":"a"}}` + "\n" + `{"PK"` + strings.Repeat("\x00", 512) + `"b"}}` + "\n" + `{"PK":{"S":"c"}}` + "\n", "zeros:2: the file has bytes 0, so it is cut short: copy the file again"},
		"cut":               {`{"PK":{"S":"a"}}` + "\n\n" + `{"PK":{"S":"b"},"Na`, "cut:3: the file ends within a JSON value, so it is cut short: copy the file again"},
		"cut at the second": {`{"PK":{"S":"a"}}` + "\n" + `{"PK":{"S":"b"}}{"PK":`, "cut_at_the_second:2: the file ends within a JSON value, so it is cut short"},
		"cut at a number":   {`{"PK":{"S":"a"}}` + "\n" + `{"PK":{"S":"b"}`, "cut_at_a_number:2: the file ends within a JSON value, so it is cut short"},
	} {
		path := filepath.Join(dir, strings.ReplaceAll(name, " ", "_"))
		write(t, path, []byte(c.content), nil)
		if _, err := items.Open(t.Context(), items.Options{Paths: []string{path}, Decoder: decoder}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	path := filepath.Join(dir, "gone")
	write(t, path, texts(0, 3), nil)
	s := open(t, items.Options{Paths: []string{path}})
	for _, from := range []pipeline.Position{"x", "3", "-1,a"} {
		if _, _, err := read(t, s, s.Parts()[0].ID, from); err == nil || !strings.Contains(err.Error(), "not a position") {
			t.Errorf("%s: %v", from, err)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, _, err := read(t, s, s.Parts()[0].ID, ""); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "gone") {
		t.Errorf("missing: %v", err)
	}
}

// A whole last line without a line end does not show that the file was cut. It may have several items, or none that can
// be decoded.
func TestOpen_LastLineIsWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "items.json")
	const two, more = `{"Item":{"PK":{"S":"b"}}}{"Item":{"PK":{"S":"c"}}}`, `{"Item":{"PK":{"S":"d"}}}{"Item":{"PK":{"S":"e"}}}`
	for content, want := range map[string]int64{
		`{"PK":{"S":"a"}}` + "\n" + `{"PK":{"S":"b"}}`:         2,
		`{"PK":{"S":"a"}}` + "\n" + `{"SK":{"S":"b"}}`:         2,
		`{"PK":{"S":"a"}}` + "\n" + `{"SK":{"S":"b"}} ` + "\r": 2,
		`{"PK":{"S":"a"}}` + "\nx\n":                           2,
		`{"PK":{"S":"a"}}` + "\n" + two:                        3,
		`{"PK":{"S":"}{"}}` + "\n" + two + " \n" + more:        5,
		two:                                  2,
		"\ufeff" + `{"PK":{"S":"a"}}`:        1,
		"\ufeff" + two + ` {"PK":{"S":"d"}}`: 3,
	} {
		write(t, path, []byte(content), nil)
		s := open(t, items.Options{Paths: []string{path}})
		keys, _, err := read(t, s, s.Parts()[0].ID, "")
		if n := s.Info().Items; n != want || int64(len(keys)) != want || !errors.Is(err, io.EOF) {
			t.Errorf("%q: %d items, read are %q, %v", content, n, keys, err)
		}
	}
}

// An item that is there twice is an error, in whichever files and blocks the two are. A sample does not look for it.
func TestOpen_RepeatedItem(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), texts(0, 500), nil)
	for at, want := range map[int]string{0: "a, the other in ", 499: "b: remove the one", 500: ""} {
		write(t, filepath.Join(dir, "b"), texts(at, 500), gz)
		o := items.Options{Paths: []string{dir}, BlockBytes: 1000, Decoder: record.SnapshotOptions{Keys: []string{"PK"}, DecoderOptions: record.DecoderOptions{EpochZero: true}}}
		_, err := items.Open(t.Context(), o)
		if hasError := err != nil; hasError != (want != "") || hasError && !strings.Contains(err.Error(), want) {
			t.Errorf("from %d: %v", at, err)
		}
		o.Sample = true
		if _, err := items.Open(t.Context(), o); err != nil {
			t.Errorf("a sample from %d: %v", at, err)
		}
	}
}

// A file without an item is an error, also beside other files of a folder: its items may be lost. A sample leaves it out.
func TestOpen_EmptyFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), texts(0, 3), nil)
	write(t, filepath.Join(dir, "b"), nil, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })
	o := items.Options{Paths: []string{dir}, Decoder: decoder}
	if _, err := items.Open(t.Context(), o); !errors.Is(err, inputs.ErrEmpty) || !strings.Contains(err.Error(), "b: it is empty") {
		t.Error(err)
	}
	o.Sample = true
	if s := open(t, o); len(s.Parts()) != 2 {
		t.Errorf("parts %v", s.Parts())
	}
}

// A sample may be a part of a compressed file, too. All whole lines of the part are read.
func TestOpen_SampleOfCutGzip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "items.json.gz")
	write(t, path, texts(0, 5000), func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })
	stored, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, stored[:len(stored)/2], nil)
	s := open(t, items.Options{Paths: []string{path}, Sample: true, BlockBytes: 100})
	keys, _, err := read(t, s, s.Parts()[0].ID, "")
	if !errors.Is(err, io.EOF) || len(keys) < 1000 {
		t.Errorf("%d items, %v", len(keys), err)
	}
}

// A sample is read once, to a line that is cut. A file without items or of another kind is refused.
func TestOpen_Sample(t *testing.T) {
	path := filepath.Join(t.TempDir(), "items.json")
	o := items.Options{Paths: []string{path}, Sample: true, BlockBytes: 100}
	write(t, path, append(texts(0, 100), `{"PK":{"S":"b"},"Na`...), nil)
	s := open(t, o)
	keys, _, err := read(t, s, s.Parts()[0].ID, "")
	if !errors.Is(err, io.EOF) || len(keys) != 101 || s.Info().Items != -1 || s.Parts()[0].Items != -1 || s.Info().Source != "items "+path {
		t.Errorf("%d items, %v, %+v", len(keys), err, s.Info())
	}
	for content, want := range map[string]string{"\n": "there is no item", "PK,SK\n": "the first line is not an item"} {
		write(t, path, []byte(content), nil)
		o.Decoder = decoder
		if _, err := items.Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", content, err)
		}
	}
}

// Open reports how many stored bytes and items it has read.
func TestOpen_Progress(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), texts(0, 500), nil)
	write(t, filepath.Join(dir, "b"), texts(500, 500), func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })
	var last [3]int64
	s := open(t, items.Options{Paths: []string{dir}, BlockBytes: 100, Progress: func(bytes, total, items int64) {
		if bytes < last[0] || bytes > total || items <= last[2] {
			t.Errorf("after %v: %d of %d bytes, %d items", last, bytes, total, items)
		}
		last = [3]int64{bytes, total, items}
	}})
	if want := [3]int64{s.Info().Bytes, s.Info().Bytes, 1000}; last != want {
		t.Errorf("at the end %v, want %v", last, want)
	}
}

// With RefuseUndecodable an undecodable line anywhere in a file is an error of Open, with its place.
func TestOpen_RefuseUndecodable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "items.json")
	o := items.Options{Paths: []string{path}, Decoder: decoder, RefuseUndecodable: true, BlockBytes: 100}
	write(t, path, slices.Concat(texts(0, 100), []byte("{\"SK\":{\"S\":\"b\"}}\n"), texts(101, 100)), nil)
	if _, err := items.Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "items.json:151 (byte ") {
		t.Errorf("%v", err)
	}
	write(t, path, texts(0, 201), nil)
	if _, err := items.Open(t.Context(), o); err != nil {
		t.Error(err)
	}
}

// The name of a snapshot and the positions identify the whole content of each file. A part that was read to a position
// is read on from a copy of the file, also a compressed one, and from no other file.
func TestSnapshot_Replaced(t *testing.T) {
	path, n := filepath.Join(t.TempDir(), "a.json"), 6000
	was := texts(0, n)
	changed := func(old, replacement string) []byte {
		return bytes.Replace(was, []byte(old), []byte(replacement), 1)
	}
	for name, test := range map[string]struct {
		is   []byte
		pack func(io.Writer) io.WriteCloser
		same bool
	}{
		"a copy":                  {is: was, same: true},
		"gzip":                    {is: was, pack: gz, same: true},
		"zstd":                    {is: was, pack: zs, same: true},
		"longer":                  {is: texts(0, n+1)},
		"shorter":                 {is: texts(0, n-1)},
		"shorter, compressed":     {is: texts(0, n-1), pack: gz},
		"another beginning":       {is: changed(`"4"`, `"x"`)},
		"another end":             {is: changed(`"5999"`, `"599x"`)},
		"as long, the last blank": {is: append(bytes.Clone(was[:len(was)-2]), "\n\n"...)},
	} {
		write(t, path, was, nil)
		s := open(t, items.Options{Paths: []string{path}, BlockBytes: 1000})
		id := s.Parts()[0].ID
		all, after, err := read(t, s, id, "")
		if len(after) < 3 || len(all) != n {
			t.Fatal(name, len(after), len(all), err)
		}
		write(t, path, test.is, test.pack)
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := read(t, s, id, ""); err == nil || !strings.Contains(err.Error(), "a.json was changed or replaced during the backfill") {
			t.Errorf("%s, by the process that opened it: %v", name, err)
		}
		other := open(t, items.Options{Paths: []string{path}})
		if isSame := other.Info().Source == s.Info().Source; isSame != test.same {
			t.Errorf("%s: the name is %s, and was %s", name, other.Info().Source, s.Info().Source)
		}
		rest, _, err := read(t, other, id, after[1])
		isRead := errors.Is(err, io.EOF) && slices.Equal(rest, all[n-len(rest):]) && len(rest) > 0
		isRefused := err != nil && strings.Contains(err.Error(), "a.json: the file is another one than the file whose items were read before: put the file back")
		if isRead != test.same || isRefused == test.same {
			t.Errorf("%s: after two pages %d items, %v", name, len(rest), err)
		}
	}
}

// The name of a snapshot of several files changes with any of them.
func TestSnapshot_NameOfSeveralFiles(t *testing.T) {
	dir := t.TempDir()
	put := func(name string, from, n int) string {
		write(t, filepath.Join(dir, name), texts(from, n), nil)
		return open(t, items.Options{Paths: []string{dir}}).Info().Source
	}
	put("a", 0, 10)
	names := []string{put("b", 10, 10), put("b", 10, 9), put("b", 20, 10), put("a", 40, 10), put("b", 0, 10), put("c", 30, 1)}
	slices.Sort(names)
	if len(slices.Compact(names)) != 6 {
		t.Errorf("%q", names)
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

// A file whose second read differs from the first is an error, also if its time did not change.
func TestSnapshot_ReplacedWithItsTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.json")
	for name, changed := range map[string][]byte{
		"longer":         texts(0, 11),
		"shorter":        texts(0, 9),
		"a line less":    append(texts(0, 9), strings.Repeat("\n", len(texts(9, 1)))...),
		"a line more":    bytes.Replace(texts(0, 10), []byte("\r\n"), []byte("\n1"), 1),
		"all lines less": []byte(strings.Repeat("\n", len(texts(0, 10)))),
	} {
		write(t, path, texts(0, 10), nil)
		about, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		s := open(t, items.Options{Paths: []string{path}, BlockBytes: 100})
		_, after, _ := read(t, s, s.Parts()[0].ID, "")
		write(t, path, changed, nil)
		if err := os.Chtimes(path, time.Time{}, about.ModTime()); err != nil {
			t.Fatal(err)
		}
		for _, from := range append(after, "") {
			if _, _, err := read(t, s, s.Parts()[0].ID, from); err == nil || !strings.Contains(err.Error(), "a.json was changed or replaced during the backfill: put the file back as it was, and repeat the command; or fill another sink") {
				t.Errorf("%s from %q: %v", name, from, err)
			}
		}
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
		if _, err := items.Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// The progress of a single file is known before its end.
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
