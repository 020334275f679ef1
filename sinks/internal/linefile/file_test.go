package linefile_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/sinks/internal/linefile"
)

// open opens the file at path and returns the lines that it held.
func open(t *testing.T, path string) (*linefile.File, []string) {
	t.Helper()
	var seen []string
	f, err := linefile.Open(path, func(line []byte) error {
		seen = append(seen, string(line))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return f, seen
}

func TestAppendedLinesAreThereAfterOpening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "folder", "lines")
	long := strings.Repeat("x", 200_000)
	f, seen := open(t, path)
	if len(seen) != 0 {
		t.Fatalf("a new file holds %q", seen)
	}
	for _, lines := range []string{"a\nb\n", long + "\n", "\n", "c\n"} {
		if err := f.Append([]byte(lines)); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := f.Size(), int64(len(long)+8); got != want {
		t.Errorf("size %d, want %d", got, want)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f, seen = open(t, path)
	defer f.Close()
	if want := []string{"a", "b", long, "", "c"}; !slices.Equal(seen, want) {
		t.Errorf("opened again, the file holds %d lines, want %d", len(seen), len(want))
	}
}

// A file that a crash cut anywhere opens with the lines that were whole, and goes
// on behind them.
func TestACutLineIsRepaired(t *testing.T) {
	const whole = "first\nsecond\nthird\n"
	for cut := range len(whole) + 1 {
		path := filepath.Join(t.TempDir(), "lines")
		if err := os.WriteFile(path, []byte(whole[:cut]), 0o644); err != nil {
			t.Fatal(err)
		}
		f, seen := open(t, path)
		kept := strings.Count(whole[:cut], "\n")
		if want := strings.SplitAfter(whole, "\n")[:kept]; strings.Join(seen, "\n") != strings.TrimSuffix(strings.Join(want, ""), "\n") {
			t.Errorf("cut at %d: opened with %q, want %q", cut, seen, want)
		}
		if err := f.Append([]byte("next\n")); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		f, seen = open(t, path)
		if len(seen) != kept+1 || seen[kept] != "next" {
			t.Errorf("cut at %d: after an append the file holds %q", cut, seen)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOpenTellsTheLineThatIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lines")
	if err := os.WriteFile(path, []byte("good\nbad\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	refused := errors.New("refused")
	_, err := linefile.Open(path, func(line []byte) error {
		if string(line) == "bad" {
			return refused
		}
		return nil
	})
	if !errors.Is(err, refused) || !strings.Contains(err.Error(), "line at byte 5") {
		t.Errorf("error %v, want one of the line at byte 5", err)
	}
}

func TestAFailedAppendLeavesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lines")
	f, _ := open(t, path)
	if err := f.Append([]byte("kept\n")); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Append([]byte("lost\n")); err == nil {
		t.Error("a closed file took a line")
	}
	if f.Size() != 5 {
		t.Errorf("size %d after a failed append, want 5", f.Size())
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "kept\n" {
		t.Errorf("the file holds %q (%v)", b, err)
	}
}

// Recent knows exactly the last ids, in whatever order and how often they come.
func TestRecentKnowsTheLast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		r := linefile.NewRecent(limit)
		var order []string // without repetitions, oldest first
		for _, id := range rapid.SliceOf(rapid.StringMatching("[a-h]")).Draw(t, "ids") {
			if !slices.Contains(order, id) {
				order = append(order, id)
				if len(order) > limit {
					order = order[1:]
				}
			}
			r.Add(id)
			for c := 'a'; c <= 'h'; c++ {
				if got, want := r.Has(string(c)), slices.Contains(order, string(c)); got != want {
					t.Fatalf("after %q of %q: Has(%c) is %v, want %v", id, order, c, got, want)
				}
			}
		}
	})
}

// What is forgotten is not known, and added again it is as new: its old place, when
// that is taken by another, does not take it along.
func TestRecentForgets(t *testing.T) {
	r := linefile.NewRecent(3)
	for _, id := range []string{"a", "b"} {
		r.Add(id)
	}
	r.Forget("a")
	r.Forget("unknown")
	if r.Has("a") || !r.Has("b") {
		t.Error("forgotten a is known, or b is not")
	}
	for _, id := range []string{"a", "c"} { // c takes the place that a had first
		r.Add(id)
	}
	for _, id := range []string{"a", "b", "c"} {
		if !r.Has(id) {
			t.Errorf("%s is not known", id)
		}
	}
}
