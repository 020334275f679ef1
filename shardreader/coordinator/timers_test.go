package coordinator

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Timers run in the order of time, then of arrival, however they were added, and those that
// come due meanwhile run too.
func TestTimers_Order(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type due struct {
			at   time.Duration
			made int
		}
		var w Coordinator
		var want, got []due
		add := func(d time.Duration) {
			x := due{w.now + d, len(want)}
			want = append(want, x)
			w.after(d, func() { got = append(got, x) })
		}
		for range rapid.IntRange(1, 8).Draw(t, "rounds") {
			for _, d := range rapid.SliceOfN(rapid.IntRange(0, 20), 0, 40).Draw(t, "delays") {
				add(time.Duration(d))
			}
			if rapid.Bool().Draw(t, "nested") {
				w.after(1, func() { add(0) })
			}
			w.now += time.Duration(rapid.IntRange(0, 12).Draw(t, "passes"))
			w.runTimers()
			for _, x := range got {
				if x.at > w.now {
					t.Fatalf("a timer of %v ran at %v", x.at, w.now)
				}
			}
			if len(w.timers.pending) > 0 && w.Wake() <= w.now {
				t.Fatalf("what was due at %v did not run at %v", w.Wake(), w.now)
			}
		}
		w.now += 100
		w.runTimers()
		slices.SortStableFunc(want, func(a, b due) int { return int(a.at - b.at) })
		if !slices.Equal(got, want) {
			t.Fatalf("ran %v, want %v", got, want)
		}
	})
}
