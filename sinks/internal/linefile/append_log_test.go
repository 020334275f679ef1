package linefile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/filelock"
	"github.com/tablewake/tablewake/test/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// reader is a log with the lines that it has seen. A line is whole where it ends with a dot.
type reader struct {
	*Log
	folder string
	seen   []string
	places []Position
	logged bytes.Buffer
}

func newReader(folder string, fileBytes int64) *reader {
	r := &reader{folder: folder}
	r.Log = NewLog(LogOptions{
		Lock: filepath.Join(folder, ".lock"), Bytes: fileBytes,
		Files: func() ([]string, error) { return filepath.Glob(filepath.Join(folder, "*.lines")) },
		Next: func(last string) string {
			n := 0
			if last != "" {
				fmt.Sscanf(filepath.Base(last), "%03d.lines", &n)
			}
			return filepath.Join(folder, fmt.Sprintf("%03d.lines", n+1))
		},
		OnLine: func(at Position, line []byte) error {
			if !bytes.HasSuffix(line, []byte(".")) {
				return errors.New("it has no dot")
			}
			r.seen, r.places = append(r.seen, string(line)), append(r.places, at)
			return nil
		},
		OnReset: func() { r.seen, r.places = nil, nil },
		Logger:  slog.New(slog.NewTextHandler(&r.logged, nil)),
	})
	return r
}

// do appends lines, none too, and returns all that were seen by then.
func (r *reader) do(ctx context.Context, lines ...string) ([]string, error) {
	end, err := r.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	if len(lines) == 0 {
		return slices.Clone(r.seen), nil
	}
	at, err := r.Append([]byte(strings.Join(lines, "\n")+"\n"), len(lines))
	if err != nil {
		return nil, err
	}
	r.seen, r.places = append(r.seen, lines...), append(r.places, at)
	return slices.Clone(r.seen), nil
}

func TestAppendedLinesAreThereAfterOpening(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new", "folder")
	r := newReader(folder, 0)
	long := strings.Repeat("x", 200_000) + "."
	for _, lines := range [][]string{{"a.", "b."}, {long}, {"c."}} {
		if _, err := r.do(t.Context(), lines...); err != nil {
			t.Fatal(err)
		}
	}
	files, size, lines := r.Files()
	if len(files) != 1 || size != int64(len(long)+10) || lines != 4 {
		t.Errorf("%v, %d bytes, %d lines", files, size, lines)
	}
	if err := errors.Join(r.Close(), r.Close()); err != nil {
		t.Fatal(err)
	}
	if got, err := newReader(folder, 0).do(t.Context()); err != nil || !slices.Equal(got, []string{"a.", "b.", long, "c."}) {
		t.Errorf("opened again, it has %d lines (%v)", len(got), err)
	}
}

// A file that a crash cut anywhere opens with its complete lines, and continues after them. The rest is set aside.
func TestACutLineIsRepaired(t *testing.T) {
	const all = "first.\nsecond.\nthird.\n"
	for cut := range len(all) + 1 {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, "001.lines"), []byte(all[:cut]), 0o644); err != nil {
			t.Fatal(err)
		}
		var want []string
		rest := ""
		for line := range strings.SplitSeq(all[:cut], "\n") {
			if strings.HasSuffix(line, ".") {
				want = append(want, line)
			} else {
				rest = line
			}
		}
		r := newReader(folder, 0)
		if got, err := r.do(t.Context()); err != nil || !slices.Equal(got, want) {
			t.Errorf("cut at %d: it opens with %q, want %q (%v)", cut, got, want, err)
		}
		want = append(want, "next.")
		if _, err := r.do(t.Context(), "next."); err != nil {
			t.Fatal(err)
		}
		if got, err := newReader(folder, 0).do(t.Context()); err != nil || !slices.Equal(got, want) {
			t.Errorf("cut at %d: after an append it has %q, want %q (%v)", cut, got, want, err)
		}
		aside, err := os.ReadFile(filepath.Join(folder, fmt.Sprintf("001.lines.line%d.broken", len(want))))
		if rest != "" && (err != nil || string(aside) != rest+"\n") {
			t.Errorf("cut at %d: set aside is %q, want %q (%v)", cut, aside, rest, err)
		}
	}
}

// A broken line goes to a file beside, which a log names, and the others keep their places.
func TestABrokenLineIsSetAside(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "001.lines")
	if err := os.WriteFile(path, []byte("a.\n\nbro\x00ken\nb.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		r := newReader(folder, 0)
		got, err := r.do(t.Context())
		if err != nil || !slices.Equal(got, []string{"a.", "b."}) || r.places[1] != (Position{path, 4}) {
			t.Errorf("it has %q at %v (%v)", got, r.places, err)
		}
		if said := r.logged.String(); strings.Contains(said, "file="+path+" line=3 now_in="+path+".line3.broken") != (i == 0) {
			t.Errorf("opening %d: the log says %q", i, said)
		}
	}
	if b, err := os.ReadFile(path + ".line3.broken"); err != nil || string(b) != "bro\x00ken\n" {
		t.Errorf("set aside is %q (%v)", b, err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "a.\n\n       \nb.\n" {
		t.Errorf("the file holds %q (%v)", b, err)
	}
}

// A broken line that can't be set aside stays where it is, and stops nothing.
func TestABrokenLineThatCannotBeSetAside(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "001.lines")
	if err := errors.Join(os.WriteFile(path, []byte("broken\na.\n"), 0o644), os.Mkdir(path+".line1.broken", 0o755)); err != nil {
		t.Fatal(err)
	}
	r := newReader(folder, 0)
	if got, err := r.do(t.Context(), "b."); err != nil || !slices.Equal(got, []string{"a.", "b."}) {
		t.Errorf("it has %q (%v)", got, err)
	}
	if said := r.logged.String(); !strings.Contains(said, "cannot be set aside") || !strings.Contains(said, "line=1") {
		t.Errorf("the log says %q", said)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "broken\na.\nb.\n" {
		t.Errorf("the file holds %q (%v)", b, err)
	}
}

// Lines are durable before they count as seen, also where making them so failed once.
func TestLinesAreSyncedBeforeTheyCount(t *testing.T) {
	folder := t.TempDir()
	r := newReader(folder, 0)
	if _, err := r.do(t.Context(), "a."); err != nil {
		t.Fatal(err)
	}
	if err := appendTo(filepath.Join(folder, "001.lines"), "b."); err != nil {
		t.Fatal(err)
	}
	whole := r.file.f
	readOnly, err := os.Open(whole.Name()) // b. cannot be ended
	if err != nil {
		t.Fatal(err)
	}
	defer readOnly.Close()
	r.file.f = readOnly
	for range 2 {
		if _, err := r.do(t.Context()); err == nil {
			t.Error("it opens with a line that is not ended")
		}
	}
	if !r.file.dirty {
		t.Error("what was seen passes for durable")
	}
	r.file.f = whole
	if got, err := r.do(t.Context()); err != nil || r.file.dirty || got[len(got)-1] != "b." {
		t.Errorf("it has %q (%v)", got, err)
	}
}

func TestAFailedAppendLeavesNothing(t *testing.T) {
	folder := t.TempDir()
	r := newReader(folder, 0)
	if _, err := r.do(t.Context(), "kept."); err != nil {
		t.Fatal(err)
	}
	end, err := r.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.file.f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Append([]byte("lost.\n"), 1); err == nil {
		t.Error("a closed file took a line")
	}
	end()
	if b, err := os.ReadFile(filepath.Join(folder, "001.lines")); err != nil || string(b) != "kept.\n" {
		t.Errorf("the file holds %q (%v)", b, err)
	}
}

// A file or a lock that is removed while lines are appended to it has not taken them.
func TestWhatIsRemovedMeanwhile(t *testing.T) {
	for name, remove := range map[string]func(folder string) error{
		"the folder": os.RemoveAll,
		"the file":   func(folder string) error { return os.Remove(filepath.Join(folder, "001.lines")) },
		"the lock":   func(folder string) error { return os.Remove(filepath.Join(folder, ".lock")) },
		"the file, replaced": func(folder string) error {
			path := filepath.Join(folder, "001.lines")
			return errors.Join(os.WriteFile(path+"~", []byte("other.\n"), 0o644), os.Rename(path+"~", path))
		},
	} {
		folder := filepath.Join(t.TempDir(), "folder")
		r := newReader(folder, 0)
		if _, err := r.do(t.Context(), "before."); err != nil {
			t.Fatal(err)
		}
		end, err := r.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := remove(folder); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Append([]byte("lost.\n"), 1); err == nil || !strings.Contains(err.Error(), "removed or replaced") {
			t.Errorf("%s: it took a line (%v)", name, err)
		}
		end()
		if _, err := r.do(t.Context(), "after."); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got, err := newReader(folder, 0).do(t.Context())
		if err != nil || !slices.Contains(got, "after.") {
			t.Errorf("%s: it has %q (%v)", name, got, err)
		}
	}
}

func TestWhoWaitsForTheLock(t *testing.T) {
	folder := t.TempDir()
	lock, err := filelock.Take(t.Context(), filepath.Join(folder, ".lock"), filelock.Exclusive, 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	r := newReader(folder, 0)
	if _, err := r.do(ctx); !errors.Is(err, enough) {
		t.Errorf("a wait that is cancelled ends with %v", err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.do(t.Context(), "a."); err != nil {
		t.Error(err)
	}
}

// Every log that has the files open sees every line that any of them appended, in one
// order, and what others left between them stops none.
func TestSeveralLogs_Property(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		parent, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(parent)
		folder := filepath.Join(parent, "folder")
		bytes := int64(rapid.SampledFrom([]int{0, 1, 12}).Draw(rt, "file bytes"))
		logs := []*reader{newReader(folder, bytes), newReader(folder, bytes), newReader(folder, bytes)}
		defer func() {
			for _, l := range logs {
				_ = l.Close()
			}
		}()
		var want []string
		for n := range rapid.IntRange(1, 15).Draw(rt, "steps") {
			i := rapid.IntRange(0, len(logs)-1).Draw(rt, "log")
			var err error
			switch rapid.SampledFrom([]string{"append", "append", "append", "reopen", "stray", "removed", "first removed"}).Draw(rt, "step") {
			case "append":
				line := fmt.Sprintf("%d.", n)
				_, err = logs[i].do(t.Context(), line)
				want = append(want, line)
			case "reopen":
				err = logs[i].Close()
				logs[i] = newReader(folder, bytes)
			case "stray":
				files, _ := filepath.Glob(filepath.Join(folder, "*.lines"))
				text := rapid.SampledFrom([]string{"broken\n", "\n", "cut", "broken\ncut"}).Draw(rt, "text")
				if len(files) > 0 {
					err = appendTo(files[len(files)-1], text)
				}
			case "removed":
				err, want = os.RemoveAll(folder), nil
			case "first removed":
				files, _ := filepath.Glob(filepath.Join(folder, "*.lines"))
				if len(files) == 0 {
					continue
				}
				var content []byte
				content, err = os.ReadFile(files[0])
				err = errors.Join(err, os.Remove(files[0]))
				want = slices.DeleteFunc(want, func(line string) bool { return slices.Contains(strings.Split(string(content), "\n"), line) })
			}
			if err != nil {
				rt.Fatal(err)
			}
			j := rapid.IntRange(0, len(logs)-1).Draw(rt, "reader")
			if got, err := logs[j].do(t.Context()); err != nil || !slices.Equal(got, want) {
				rt.Fatalf("log %d has %q, want %q (%v)", j, got, want, err)
			}
		}
	})
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
