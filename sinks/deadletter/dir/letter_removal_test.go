package dir_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/sinks/deadletter"
	"github.com/tablewake/tablewake/sinks/deadletter/dir"
)

func ids(of ...int) []string {
	var out []string
	for _, l := range letters(of...) {
		out = append(out, deadletter.ID(&l))
	}
	return out
}

func remove(t *testing.T, s *dir.Store, of ...int) {
	t.Helper()
	if err := s.Remove(t.Context(), ids(of...)); err != nil {
		t.Fatal(err)
	}
}

// Removed dead letters are gone, also for the next process, and can be put again. A dead letter that is still in the
// folder is not appended a second time.
func TestRemove(t *testing.T) {
	path := t.TempDir()
	s := open(t, path, 300)
	put(t, s, 1, 2, 3)
	remove(t, s, 1, 3, 9)
	remove(t, s)
	put(t, s, 2, 4)
	if got := read(t, s); got != "2 4" {
		t.Errorf("letters %s, want 2 4", got)
	}
	put(t, s, 3)
	for range 2 {
		if got := read(t, s); got != "2 4 3" {
			t.Errorf("letters %s, want 2 4 3", got)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := s.Remove(t.Context(), ids(2)); err == nil {
			t.Error("a closed store removes letters")
		}
		s = open(t, path, 300)
		put(t, s, 2, 3, 4)
	}
}

// If a process crashes during Remove, either all dead letters of the call are removed or none.
func TestRemove_CutByACrash(t *testing.T) {
	path := t.TempDir()
	s := open(t, path, 0)
	put(t, s, 1, 2, 3)
	file := filepath.Join(path, "00000001.jsonl")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	remove(t, s, 1, 2)
	after, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for cut := len(whole); cut <= len(after); cut++ {
		path := t.TempDir()
		if err := os.WriteFile(filepath.Join(path, "00000001.jsonl"), after[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		want := "1 2 3"
		if cut >= len(after)-1 { // at most the line end is missing
			want = "3"
		}
		if got := read(t, open(t, path, 0)); got != want {
			t.Errorf("cut at %d of %d: letters %s, want %s", cut, len(after), got, want)
		}
	}
}

// The store deletes a file when all its dead letters are removed, the oldest file first. No dead letter is lost with a
// file, and no removal that another file still needs.
func TestRemove_EmptyFilesAreDeleted(t *testing.T) {
	path := t.TempDir()
	s := open(t, path, 1) // one file for each call
	for i := 1; i <= 4; i++ {
		put(t, s, i)
	}
	remove(t, s, 1, 2, 4)
	s = reopen(t, s, path)
	if got := files(t, path); got != "3 4 5" || read(t, s) != "3" {
		t.Errorf("files %s with the letters %s; want 3 4 5 with 3", got, read(t, s))
	}
	remove(t, s, 3)
	s = reopen(t, s, path)
	if got := files(t, path); got != "7" || read(t, s) != "" {
		t.Errorf("files %s with the letters %s, want one with none", got, read(t, s))
	}
	put(t, s, 3)
	if s = reopen(t, s, path); read(t, s) != "3" {
		t.Errorf("letters %s, want 3", read(t, s))
	}
}

// The folder contains exactly the dead letters that were put and not removed since. This is so for any order of calls,
// any file size and any number of reopenings.
func TestRemove_Property(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		path, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		o := dir.Options{Dir: path, FileBytes: int64(rapid.SampledFrom([]int{1, 400, 1 << 20}).Draw(rt, "file bytes"))}
		s, err := dir.New(o)
		if err != nil {
			rt.Fatal(err)
		}
		var want []string
		for range rapid.IntRange(0, 12).Draw(rt, "steps") {
			n := rapid.IntRange(1, 6).Draw(rt, "letter")
			switch rapid.IntRange(0, 4).Draw(rt, "step") {
			case 0, 1:
				err = s.Put(t.Context(), letters(n))
				if !slices.Contains(want, fmt.Sprint(n)) {
					want = append(want, fmt.Sprint(n))
				}
			case 2, 3:
				err = s.Remove(t.Context(), ids(n, n%6+1))
				want = slices.DeleteFunc(want, func(w string) bool { return w == fmt.Sprint(n) || w == fmt.Sprint(n%6+1) })
			default:
				err = s.Close()
				if err == nil {
					s, err = dir.New(o)
				}
			}
			if err != nil {
				rt.Fatal(err)
			}
			var got []string
			for l, err := range s.Read(t.Context()) {
				if err != nil {
					rt.Fatal(err)
				}
				got = append(got, fmt.Sprint(l.Index))
			}
			if !slices.Equal(got, want) {
				rt.Fatalf("letters %v, want %v", got, want)
			}
		}
		if err := errors.Join(s.Close(), os.RemoveAll(path)); err != nil {
			rt.Fatal(err)
		}
	})
}

func reopen(t *testing.T, s *dir.Store, path string) *dir.Store {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return open(t, path, 1)
}

// files returns the numbers of the files in the folder.
func files(t *testing.T, path string) string {
	t.Helper()
	es, err := os.ReadDir(path)
	if err != nil {
		t.Fatal(err)
	}
	var ns []string
	for _, e := range es {
		if e.Name() == ".lock" {
			continue
		}
		ns = append(ns, strings.TrimLeft(strings.TrimSuffix(e.Name(), ".jsonl"), "0"))
	}
	return strings.Join(ns, " ")
}
