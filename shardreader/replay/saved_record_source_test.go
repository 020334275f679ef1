package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/test/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

const arn = "arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-01-02T03:04:05.000"

// record is the n-th record of a stream, as JSON on one line.
func recordJSON(n int) string {
	key := fmt.Sprintf(`{"PK":{"S":"item \"%d\" [{"}}`, n)
	return fmt.Sprintf(`{"eventID":"%d","eventName":"INSERT","eventVersion":"1.1","eventSource":"aws:dynamodb","awsRegion":"eu-central-1","dynamodb":{"ApproximateCreationDateTime":1767322800,"Keys":%s,"NewImage":%s,"SequenceNumber":"%d","SizeBytes":20,"StreamViewType":"NEW_AND_OLD_IMAGES"},"eventSourceARN":"%s"}`, n, key, key, n+1, arn)
}

func recordsJSON(from, n int) []string {
	var rs []string
	for i := range n {
		rs = append(rs, recordJSON(from+i))
	}
	return rs
}

func event(records []string) string { return `{"Records":[` + strings.Join(records, ",") + `]}` }
func array(records []string) string { return `[` + strings.Join(records, ",") + `]` }
func lines(records []string) string { return strings.Join(records, "\n") + "\n" }

func pretty(t testing.TB, s string) string {
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(s), "", "    "); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// fataler is a *testing.T, *testing.B or *rapid.T.
type fataler interface{ Fatal(...any) }

func gzipped(t fataler, s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, s); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func zstandard(t fataler, s string) string {
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	return string(z.EncodeAll([]byte(s), nil))
}

// write makes files under a new folder and returns it.
func write(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// got is what a replay brought.
type got struct {
	sequences []string // of changes, "!" for a record that could not be decoded
	errs      []*record.RecordError
	pages     []*pipeline.Page // as Read returned them
	upTo      []int            // records up to the end of each page
	err       error            // how it ended; nil for io.EOF
}

func open(t testing.TB, o Options) *Source {
	t.Helper()
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// reading is a test, or one try of a property, that reads.
type reading interface {
	rapid.TB
	Context() context.Context
}

// readAll reads a source to its end.
func readAll(t reading, s *Source) got {
	t.Helper()
	var g got
	for {
		p, err := s.Read(t.Context())
		if err != nil {
			if p != nil {
				t.Errorf("a page beside %v", err)
			}
			if !errors.Is(err, io.EOF) {
				g.err = err
			}
			return g
		}
		d, err := p.Decode()
		if err != nil {
			t.Fatalf("decoding: %v", err)
		}
		g.pages = append(g.pages, p)
		records := make([]string, len(d.Changes)+len(d.Errors))
		for _, c := range d.Changes {
			records[c.Index] = c.Sequence
		}
		for _, e := range d.Errors {
			records[e.Index] = "!"
		}
		g.sequences = append(g.sequences, records...)
		g.errs = append(g.errs, d.Errors...)
		g.upTo = append(g.upTo, len(g.sequences))
	}
}

// numbers are the sequence numbers of records from..from+n-1.
func numbers(from, n int) []string {
	var s []string
	for i := range n {
		s = append(s, fmt.Sprint(from+i+1))
	}
	return s
}

// shapes are the forms in which 40 records may be saved.
func shapes(t testing.TB) map[string]string {
	rs := recordsJSON(0, 40)
	events := []string{event(rs[:15]), event(nil), event(rs[15:])}
	cli := strings.Replace(event(rs), `{"Records"`, `{"NextShardIterator":"it","Records"`, 1)
	return map[string]string{
		"lines":                    lines(rs),
		"lines without the last":   strings.TrimSuffix(lines(rs), "\n"),
		"lines of Windows":         strings.ReplaceAll(lines(rs), "\n", "\r\n"),
		"lines with empty ones":    "\n" + strings.ReplaceAll(lines(rs), "\n", "\n\n \n"),
		"records without lines":    strings.Join(rs, ""),
		"pretty records":           pretty(t, rs[0]) + pretty(t, rs[1]) + "\n" + lines(rs[2:]),
		"an array":                 array(rs),
		"a pretty array":           pretty(t, array(rs)),
		"a record a line in array": "[\n" + strings.Join(rs, ",\n") + "\n]\n",
		"an event":                 event(rs),
		"a pretty event":           pretty(t, event(rs)),
		"an event a line":          lines(events),
		"pretty events":            pretty(t, events[0]) + "\n" + pretty(t, events[2]),
		"an array of events":       array(events),
		"get-records output":       pretty(t, cli),
		"the same behind itself":   pretty(t, strings.Replace(event(rs[:15]), "]}", `],"NextShardIterator":"it"}`, 1)) + "\n" + event(rs[15:]),
		"a byte order mark":        "\ufeff" + lines(rs),
	}
}

func TestSource_EveryShape(t *testing.T) {
	want := numbers(0, 40)
	for name, content := range shapes(t) {
		t.Run(name, func(t *testing.T) {
			dir := write(t, map[string]string{"plain": content, "gzip": gzipped(t, content), "zstd": zstandard(t, content),
				"members": gzipped(t, content[:100]) + gzipped(t, content[100:]), "frames": zstandard(t, content[:100]) + zstandard(t, content[100:])})
			for _, file := range []string{"plain", "gzip", "zstd", "members", "frames"} {
				for _, block := range []int{1, 1000, 0} {
					g := readAll(t, open(t, Options{Paths: []string{filepath.Join(dir, file)}, BlockBytes: block}))
					if diff := cmp.Diff(want, g.sequences); diff != "" || g.err != nil || len(g.errs) > 0 {
						t.Errorf("%s by %d: %v, %v, records (-want +got):\n%s", file, block, g.err, g.errs, diff)
					}
				}
			}
		})
	}
}

func TestSource_GoesOnBehindAnyPage(t *testing.T) {
	want := numbers(0, 40)
	for name, content := range shapes(t) {
		t.Run(name, func(t *testing.T) {
			dir := write(t, map[string]string{"a": lines(recordsJSON(100, 3)), "b": gzipped(t, content), "c": event(recordsJSON(200, 3))})
			all := slices.Concat(numbers(100, 3), want, numbers(200, 3))
			whole := readAll(t, open(t, Options{Paths: []string{dir}, BlockBytes: 700}))
			if diff := cmp.Diff(all, whole.sequences); diff != "" {
				t.Fatalf("whole (-want +got):\n%s", diff)
			}
			for i, p := range whole.pages {
				g := readAll(t, open(t, Options{Paths: []string{dir}, BlockBytes: 900, From: p.Position}))
				if diff := cmp.Diff(all[whole.upTo[i]:], append([]string{}, g.sequences...)); diff != "" || g.err != nil {
					t.Errorf("behind page %d at %s: %v, records (-want +got):\n%s", i, p.Position, g.err, diff)
				}
			}
		})
	}
}

func TestOpen_RefusesPositions(t *testing.T) {
	dir := write(t, map[string]string{"a": lines(recordsJSON(0, 1))})
	for position, want := range map[pipeline.Position]string{
		"x": "not a position",
		`{"file":"` + pipeline.Position(filepath.Join(dir, "gone")) + `","line":1,"within":"lines"}`: "not among the files",
		`{"file":"a","line":1,"within":"dreams"}`:                                                    "dreams",
		`{"file":"a","line":0,"within":"lines"}`:                                                     "below their range",
	} {
		if _, err := Open(Options{Paths: []string{dir}, From: position}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", position, err, want)
		}
	}
	// A file that is shorter now cannot be continued.
	short := Options{Paths: []string{dir}, From: `{"file":"` + pipeline.Position(filepath.Join(dir, "a")) + `","offset":99999,"line":7,"within":"lines"}`}
	if g := readAll(t, open(t, short)); g.err == nil || !strings.Contains(g.err.Error(), "going to byte 99999") {
		t.Errorf("error %v", g.err)
	}
}

func TestSource_Folders(t *testing.T) {
	dir := write(t, map[string]string{
		"b.jsonl":           lines(recordsJSON(10, 2)),
		"a/2.json.gz":       gzipped(t, event(recordsJSON(2, 2))),
		"a/1.bin":           zstandard(t, array(recordsJSON(0, 2))),
		"c/deep/er/x.jsonl": lines(recordsJSON(20, 1)),
		".hidden/x.jsonl":   lines(recordsJSON(90, 1)),
		".hidden.jsonl":     lines(recordsJSON(90, 1)),
		"tablewake.yaml":    "version: 1\nname: shop\n",
		"mapping.json":      `{"properties":{"title":{"type":"text"}}}`,
		"empty.jsonl":       "",
	})
	var skipped []string
	s := open(t, Options{Paths: []string{dir}, Skipped: func(path string, why error) {
		skipped = append(skipped, filepath.Base(path))
		if why == nil {
			t.Errorf("%s was skipped without a reason", path)
		}
	}})
	g := readAll(t, s)
	want := slices.Concat(numbers(0, 4), numbers(10, 2), numbers(20, 1))
	if diff := cmp.Diff(want, g.sequences); diff != "" || g.err != nil {
		t.Errorf("%v, records (-want +got):\n%s", g.err, diff)
	}
	if diff := cmp.Diff([]string{"empty.jsonl", "mapping.json", "tablewake.yaml"}, skipped); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
	p := s.Progress()
	if p.Bytes != p.TotalBytes || p.Bytes == 0 {
		t.Errorf("progress at the end %+v", p)
	}
	if _, err := Open(Options{Paths: []string{t.TempDir()}}); err == nil {
		t.Error("an empty folder is no error")
	}
	if _, err := Open(Options{Paths: []string{filepath.Join(dir, "gone")}}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := Open(Options{}); err == nil {
		t.Error("no paths are no error")
	}
}

func TestSource_StandardInput(t *testing.T) {
	dir := write(t, map[string]string{"a": lines(recordsJSON(0, 2)), "b": lines(recordsJSON(50, 1))})
	s := open(t, Options{Paths: []string{filepath.Join(dir, "a"), "-", filepath.Join(dir, "b")}, Stdin: strings.NewReader(gzipped(t, event(recordsJSON(10, 3))))})
	g := readAll(t, s)
	if diff := cmp.Diff(slices.Concat(numbers(0, 2), numbers(10, 3), numbers(50, 1)), g.sequences); diff != "" || g.err != nil {
		t.Errorf("%v, records (-want +got):\n%s", g.err, diff)
	}
}

// A pipe that brings nothing does not keep Read from ending with its context.
func TestSource_GivenUpOnAPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		s, err := Open(Options{Paths: []string{"-"}, Stdin: r})
		if err != nil {
			t.Fatal(err)
		}
		stop := errors.New("the user stopped it")
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			time.Sleep(time.Minute)
			cancel(stop)
		}()
		if p, err := s.Read(ctx); !errors.Is(err, stop) || p != nil {
			t.Errorf("Read gives %v, %v; want the cause of the cancellation", p, err)
		}
		if err := errors.Join(w.Close(), s.Close()); err != nil {
			t.Fatal(err)
		}
	})
}

// endless is a record and another, over and over, up to a size.
type endless struct {
	record []byte
	rest   []byte
	size   int
}

func (e *endless) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) && e.size > 0 {
		if len(e.rest) == 0 {
			e.rest = e.record
		}
		k := copy(p[n:], e.rest)
		e.rest, n, e.size = e.rest[k:], n+k, e.size-k
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// Memory does not grow with the input, whatever its shape.
func TestSource_BoundedMemory(t *testing.T) {
	for name, in := range map[string]*endless{
		"array":   {rest: []byte("[" + recordJSON(0)), record: []byte("," + recordJSON(1))},
		"event":   {rest: []byte(`{"Records":[` + recordJSON(0)), record: []byte(",\n" + recordJSON(1))},
		"records": {rest: []byte(recordJSON(0)), record: []byte(recordJSON(1))},
		"lines":   {rest: []byte(recordJSON(0)), record: []byte("\n" + recordJSON(1))},
	} {
		t.Run(name, func(t *testing.T) {
			in.size = 32 << 20
			s := open(t, Options{Paths: []string{"-"}, Stdin: in})
			var most uint64
			bytes := 0
			for n := 0; ; n++ {
				p, err := s.Read(t.Context())
				if err != nil {
					break
				}
				bytes += p.Bytes
				if n%8 == 0 {
					var m runtime.MemStats
					runtime.GC()
					runtime.ReadMemStats(&m)
					most = max(most, m.HeapAlloc)
				}
			}
			if most > 12<<20 || bytes < 30<<20 {
				t.Errorf("%d MiB on the heap for %d MiB of records", most>>20, bytes>>20)
			}
		})
	}
}

// One record larger than a block is a block by itself.
func TestSource_LargeRecords(t *testing.T) {
	big := strings.Replace(recordJSON(0), "item", strings.Repeat("x", 300_000), 2)
	rs := []string{recordJSON(1), big, recordJSON(2)}
	for name, content := range map[string]string{"lines": lines(rs), "array": array(rs), "event": event(rs)} {
		path := filepath.Join(write(t, map[string]string{"f": content}), "f")
		g := readAll(t, open(t, Options{Paths: []string{path}, BlockBytes: 1000}))
		if diff := cmp.Diff([]string{"2", "1", "3"}, g.sequences); diff != "" || g.err != nil {
			t.Errorf("%s: %v, records (-want +got):\n%s", name, g.err, diff)
		}
	}
}

// A long line that comes in small pieces is not scanned again for each of them: this test
// takes minutes where it is.
func TestSource_LongLineInSmallPieces(t *testing.T) {
	long := strings.Replace(recordJSON(0), "item", strings.Repeat("x", 4<<20), 2)
	for name, content := range map[string]string{
		"line": long + "\n" + recordJSON(1), "array": array([]string{long, recordJSON(1)}), "member": `{"x":` + array([]string{long}) + `,"Records":[` + long + "," + recordJSON(1) + "]}",
		"cut": long[:len(long)-10] + "\n" + recordJSON(1), "brackets": `{"x":` + strings.Repeat(`{"a":[`, 1<<20) + "\n" + recordJSON(1),
	} {
		g := readAll(t, open(t, Options{Paths: []string{"-"}, Stdin: &small{strings.NewReader(content)}, BlockBytes: 1000}))
		if n := len(g.sequences); n == 0 || g.sequences[n-1] != "2" {
			t.Errorf("%s: %v, %d records", name, g.err, n)
		}
	}
}

// small reads a hundred bytes at a time.
type small struct{ r io.Reader }

func (s *small) Read(p []byte) (int, error) { return s.r.Read(p[:min(len(p), 100)]) }

// Reading a file ends with its context, however much its few bytes are once they are unpacked.
func TestSource_GivenUpOnALongFile(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	for range 64 {
		if _, err := z.Write(bytes.Repeat([]byte{'x'}, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(write(t, map[string]string{"f": packed.String()}), "f")
	s := open(t, Options{Paths: []string{path}})
	stop := errors.New("the user stopped it")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	if p, err := s.Read(ctx); !errors.Is(err, stop) || p != nil {
		t.Errorf("Read gives %v, %v; want the cause of the cancellation", p, err)
	}
	s = open(t, Options{Paths: []string{path}})
	reads := 0
	ctx, cancel = context.WithCancelCause(t.Context())
	s.readCtx = ctx
	r := s.untilCancelled(readerFunc(func(p []byte) (int, error) {
		if reads++; reads == 3 {
			cancel(stop)
		}
		return len(p), nil
	}))
	w := &window{r: r, blockBytes: 100, maxRecord: maxRecordBytes}
	if w.fillTo(1 << 30); !errors.Is(w.err, errInterrupted) || reads != 3 {
		t.Errorf("%v after %d reads", w.err, reads)
	}
}
