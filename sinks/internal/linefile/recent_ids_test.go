package linefile_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/sinks/internal/linefile"
)

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

// A forgotten entry is unknown, and is new if it is added again: its old place, once another has it, does not remove
// it.
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
