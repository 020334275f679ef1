package viewtest

import (
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// RunPurge checks what a store forgets, and what it never does.
func RunPurge(t *testing.T, open Open) {
	s := opener(t, open)()
	g := &groups{StateStore: s, t: t, target: groupTarget}
	i := &items{StateStore: s, t: t, target: target}
	guards := func(want ...pipeline.Key) {
		t.Helper()
		all := []pipeline.Key{"kept", "left", "back"}
		gs, err := s.Guards(t.Context(), target, all)
		if err != nil {
			t.Fatal(err)
		}
		cs, err := s.Contributions(t.Context(), groupTarget, all)
		if err != nil {
			t.Fatal(err)
		}
		var guarded, counted []pipeline.Key
		for i := range all {
			if !gs[i].Version.IsZero() {
				guarded = append(guarded, all[i])
			}
			if !cs[i].Version.IsZero() {
				counted = append(counted, all[i])
			}
		}
		same(t, "guards", guarded, want)
		same(t, "contributions", counted, want)
	}
	purge := func(before time.Time, want int) {
		t.Helper()
		if n, err := s.Purge(t.Context(), before); err != nil || n != want {
			t.Fatalf("%d are purged (%v), want %d", n, err, want)
		}
	}

	empty := func(t view.Target, want bool) {
		g.t.Helper()
		if got, err := s.Empty(g.t.Context(), t); err != nil || got != want {
			g.t.Errorf("%s is empty: %v (%v), want %v", t.View, got, err, want)
		}
	}
	empty(target, true)
	empty(groupTarget, true)

	start := time.Now()
	// Each item comes; left and back go; back comes again.
	for n, key := range []pipeline.Key{"kept", "left", "back"} {
		sk := string(key)
		c := claimOf(t, key, 1, "x")
		i.settle(".", step(t, key, 0, 1, sk, takes(t, sk, "", "r1", c, c)))
		g.held("it comes", state.GroupWrite{Items: []state.ContributionWrite{counted(t, key, 0, 1, "1")}, Groups: []state.GroupChange{change(t, "1", 1, "1")}})
		if n > 0 {
			i.settle(".", step(t, key, 1, 2, "", takes(t, sk, "r1", "", state.Claim{}, state.Claim{})))
			g.held("it goes", state.GroupWrite{Items: []state.ContributionWrite{counted(t, key, 1, 2, "")}, Groups: []state.GroupChange{change(t, "1", -1, "-1")}})
		}
	}
	back := claimOf(t, "back", 3, "y")
	i.settle(".", step(t, "back", 2, 3, "back", takes(t, "back", "", "r3", back, back)))
	g.held("it comes again", state.GroupWrite{Items: []state.ContributionWrite{counted(t, "back", 2, 3, "1")}, Groups: []state.GroupChange{change(t, "1", 1, "1")}})

	empty(target, false)
	empty(groupTarget, false)
	other := target
	other.View = "another"
	empty(other, true)
	gone := groups{StateStore: s, t: t, target: groupTarget}
	gone.target.View = "gone"
	gone.held("it was never there", state.GroupWrite{Items: []state.ContributionWrite{counted(t, "gone", 0, 1, "")}})
	empty(gone.target, false)

	own := target
	own.View = "own"
	empty(own, true)
	apply(t, s, own, tombstone(t, "own", "gone", 5), row(t, "own", "kept", 5, "x"))
	empty(own, false)

	purge(start, 0)
	guards("kept", "left", "back")
	same(t, "an older row", apply(t, s, own, row(t, "own", "gone", 4, "old")), []bool{true})
	purge(time.Now().Add(time.Hour), 4)
	guards("kept", "back")
	purge(time.Now().Add(time.Hour), 0)
	same(t, "rows that guard themselves", rows(t, s, own.Table, view.Query{PK: pipeline.StringValue("own")}), []string{`{"PK":{"S":"own"},"SK":{"S":"kept"},"text":{"S":"x"}}`})
	same(t, "an older row, when its tombstone is forgotten", apply(t, s, own, row(t, "own", "gone", 4, "old")), []bool{false})
	apply(t, s, own, tombstone(t, "own", "gone", 6), tombstone(t, "own", "kept", 6))
	i.rows("back of back says y", "kept of kept says x")
	g.rows(`{"PK":{"S":"g"},"SK":{"S":"1"},"orders":{"N":"2"},"revenue":{"N":"2"}}`)
	// What is forgotten is unknown, and may come anew.
	i.settle("L", step(t, "left", 2, 3, ""))
	i.settle(".", step(t, "left", 0, 3, ""))
}
