package dir_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/sinks/deadletter/dir"
)

// Several stores have the same folder open. Each of them reads exactly the dead letters that were put and not removed
// since, by any of the stores. This is so even if the files contain broken lines or the folder was removed meanwhile.
func TestSeveralStores_Property(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		parent, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		path := filepath.Join(parent, "dead")
		o := dir.Options{Dir: path, FileBytes: int64(rapid.SampledFrom([]int{1, 400, 1 << 20}).Draw(rt, "file bytes"))}
		stores := make([]*dir.Store, 3)
		for i := range stores {
			if stores[i], err = dir.New(o); err != nil {
				rt.Fatal(err)
			}
		}
		var want []string
		for range rapid.IntRange(1, 20).Draw(rt, "steps") {
			i := rapid.IntRange(0, len(stores)-1).Draw(rt, "store")
			n := rapid.IntRange(1, 6).Draw(rt, "letter")
			switch step := rapid.SampledFrom([]string{"put", "put", "put", "remove", "remove", "reopen", "broken line", "cut line", "removed folder"}).Draw(rt, "step"); step {
			case "put":
				err = stores[i].Put(t.Context(), letters(n))
				if !slices.Contains(want, fmt.Sprint(n)) {
					want = append(want, fmt.Sprint(n))
				}
			case "remove":
				err = stores[i].Remove(t.Context(), ids(n, n%6+1))
				want = slices.DeleteFunc(want, func(w string) bool { return w == fmt.Sprint(n) || w == fmt.Sprint(n%6+1) })
			case "reopen":
				if err = stores[i].Close(); err == nil {
					stores[i], err = dir.New(o)
				}
			case "broken line":
				err = leave(path, "{\"id\":\"no letter\"}\n")
			case "cut line":
				err = leave(path, `{"id":"0123456789`)
			case "removed folder":
				err, want = os.RemoveAll(path), nil
			}
			if err != nil {
				rt.Fatal(err)
			}
			for at, s := range stores {
				got, err := indexes(t, s)
				if err != nil {
					rt.Fatal(err)
				}
				if !slices.Equal(got, want) {
					rt.Fatalf("store %d reads %v, want %v", at, got, want)
				}
			}
		}
		for _, s := range stores {
			err = errors.Join(err, s.Close())
		}
		last, openErr := dir.New(o)
		if err = errors.Join(err, openErr); err != nil {
			rt.Fatal(err)
		}
		if got, err := indexes(t, last); err != nil || !slices.Equal(got, want) {
			rt.Fatalf("opened again it holds %v, want %v (%v)", got, want, err)
		}
		if err := errors.Join(last.Close(), os.RemoveAll(parent)); err != nil {
			rt.Fatal(err)
		}
	})
}

// leave appends text to the last file of a folder, past the stores.
func leave(path, text string) error {
	files, err := filepath.Glob(filepath.Join(path, "0*.jsonl"))
	if err != nil || len(files) == 0 {
		return err
	}
	f, err := os.OpenFile(files[len(files)-1], os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// indexes returns the indexes of all dead letters in the order of reading.
func indexes(t *testing.T, s *dir.Store) ([]string, error) {
	var got []string
	for l, err := range s.Read(t.Context()) {
		if err != nil {
			return nil, err
		}
		got = append(got, fmt.Sprint(l.Index))
	}
	return got, nil
}

// A redrive removes the dead letters of a running consumer, and then the files. Dead letters that the consumer puts
// later are not lost.
func TestARedriveEndsBesideAConsumer(t *testing.T) {
	path := t.TempDir()
	consumer, redrive := open(t, path, 0), open(t, path, 0)
	put(t, consumer, 1, 2)
	remove(t, redrive, 1, 2)
	if err := redrive.Close(); err != nil {
		t.Fatal(err)
	}
	for i := 3; i <= 12; i++ {
		put(t, consumer, i)
	}
	put(t, consumer, 1) // the first change fails again
	if got := read(t, open(t, path, 0)); got != "3 4 5 6 7 8 9 10 11 12 1" {
		t.Errorf("letters %s, want 3 to 12 and 1", got)
	}
}

// If several stores put dead letters at the same time, none is lost and none is there twice.
func TestSeveralStoresAtOnce(t *testing.T) {
	path := t.TempDir()
	const writers, each = 4, 25
	errs := make(chan error, writers)
	for w := range writers {
		go func() {
			s, err := dir.New(dir.Options{Dir: path, FileBytes: 2000})
			for i := range each {
				if err == nil {
					err = s.Put(t.Context(), letters(100*w+i, 1000+i)) // one letter of this writer, and one that all writers put
				}
				if err == nil && i%3 == 0 {
					err = s.Remove(t.Context(), ids(100*w+i))
				}
				if err == nil && i%10 == 9 {
					if err = s.Close(); err == nil {
						s, err = dir.New(dir.Options{Dir: path, FileBytes: 2000})
					}
				}
			}
			if err == nil {
				err = s.Close()
			}
			errs <- err
		}()
	}
	for range writers {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	got := strings.Fields(read(t, open(t, path, 0)))
	var want []string
	for w := range writers {
		for i := range each {
			if i%3 != 0 {
				want = append(want, fmt.Sprint(100*w+i))
			}
		}
	}
	for i := range each {
		want = append(want, fmt.Sprint(1000+i))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%d letters, want %d: %v", len(got), len(want), got)
	}
}

// If a line is not a dead letter, the store logs the line and copies it to a file of its own. The other dead letters
// are still read and removed, and their file is deleted with the last of them.
func TestABrokenLineIsSetAside(t *testing.T) {
	path := t.TempDir()
	s := open(t, path, 0)
	put(t, s, 1)
	for _, text := range []string{"no letter\n", `{"removed":7}` + "\n"} {
		if err := leave(path, text); err != nil {
			t.Fatal(err)
		}
	}
	put(t, s, 2)
	if err := leave(path, "{\"id\":\"another\",\"class\":3}\n"); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	other, err := dir.New(dir.Options{Dir: path, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(path, "00000001.jsonl")
	if said := log.String(); !strings.Contains(said, "file="+file+" line=5 now_in="+file+".line5.broken") {
		t.Errorf("the log says %s", said)
	}
	for line, want := range map[int]string{2: "no letter\n", 3: `{"removed":7}` + "\n", 5: "{\"id\":\"another\",\"class\":3}\n"} {
		if b, err := os.ReadFile(fmt.Sprintf("%s.line%d.broken", file, line)); err != nil || string(b) != want {
			t.Errorf("line %d: set aside is %q (%v)", line, b, err)
		}
	}
	if got := read(t, s) + "; " + read(t, other); got != "1 2; 1 2" {
		t.Errorf("letters %s", got)
	}
	remove(t, other, 1, 2)
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file of no letters is there: %v", err)
	}
}
