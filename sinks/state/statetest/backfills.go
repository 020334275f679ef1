package statetest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tablewake/tablewake/sinks/state"
)

func (f *fixture) setPart(s state.Store, expected, next state.Part) bool {
	f.t.Helper()
	done, err := s.SetPart(f.t.Context(), expected, next)
	must(f.t, err)
	return done
}

func (f *fixture) parts(s state.Store, run string) []state.Part {
	f.t.Helper()
	return collect(f.t, s.Parts(f.t.Context(), run))
}

func testBackfill(run string, start time.Time) state.Backfill {
	return state.Backfill{Run: run, Sinks: "orders,users", Source: "export s3://b#1/é/", Start: start,
		From: start.Add(-time.Hour), Parts: 3}
}

// Every process reads the backfills of its pipeline in the order of their start. If a run is added twice, the first
// description stays.
func checkBackfillsAreReadBack(t *testing.T, f *fixture) {
	add := func(s state.Store, b, want state.Backfill) {
		t.Helper()
		if got, err := s.AddBackfill(t.Context(), b); err != nil || got != want {
			t.Errorf("adding %+v: %+v, %v, want %+v", b, got, err, want)
		}
	}
	late, early, equal := testBackfill("a#1", bornAt.Add(time.Minute)), testBackfill("z 1%", bornAt),
		testBackfill("b", bornAt.Add(time.Minute))
	early.From = time.Time{} // unknown
	for _, b := range []state.Backfill{equal, late, early} {
		add(f.state, b, b)
	}
	add(f.suite.State(f.Store, "other"), testBackfill("a#1", bornAt), testBackfill("a#1", bornAt))
	other := f.suite.State(f.open(), "test")
	changed := late
	changed.Source, changed.Parts = "items FILE", 1
	add(other, changed, late)
	if got, want := collect(t, other.Backfills(t.Context())),
		[]state.Backfill{early, late, equal}; !slices.Equal(got, want) {
		t.Errorf("backfills:\n%+v, want\n%+v", got, want)
	}
}

// If several processes begin one run at once, all get the same description.
func checkOneBackfillIsStored(t *testing.T, f *fixture) {
	expectSame(t, processes(f, 8, func(i int, s state.Store) (state.Backfill, error) {
		return s.AddBackfill(t.Context(), testBackfill("run", bornAt.Add(time.Duration(i)*time.Second)))
	}))
}

// Parts are read in the order of the bytes of their IDs. Only the parts of the requested run and pipeline are read.
func checkPartsAreReadBack(t *testing.T, f *fixture) {
	ids := []string{"data/a b.json.gz", "data/a!b.json.gz", "data/a#b", "data/a%20b", "data/é", "z",
		strings.Repeat("x", state.MaxPartID), strings.Repeat("x", state.MaxPartID-1) + "y"}
	var want []state.Part
	for i, id := range ids {
		p := state.Part{
			Run: "run#1", ID: id, Owner: "host/1#a", Counter: int64(i) + 1, Items: 1 << 40, Done: i%2 == 0,
			Position: `{"PK":{"S":"` + strings.Repeat("é", i*500) + `"}}`,
		}
		if !f.setPart(f.state, state.Part{}, p) {
			t.Errorf("%.20q is not stored", id)
		}
		want = append(want, p)
	}
	f.setPart(f.state, state.Part{}, state.Part{Run: "run", ID: "1#z", Counter: 1})
	f.setPart(f.suite.State(f.Store, "other"), state.Part{}, state.Part{Run: "run#1", ID: "z", Counter: 1})
	slices.SortFunc(want, func(a, b state.Part) int { return strings.Compare(a.ID, b.ID) })
	if got := f.parts(f.suite.State(f.open(), "test"), "run#1"); !slices.Equal(got, want) {
		t.Errorf("parts:\n%+.300v, want\n%+.300v", got, want)
	}
	if got := f.parts(f.state, "none"); len(got) > 0 {
		t.Errorf("a run that has no parts has %+v", got)
	}
}

// A part is replaced only if it is unchanged. So a process that lost its claim cannot move the position.
func checkPartsChangeAsRead(t *testing.T, f *fixture) {
	other := f.suite.State(f.open(), "test")
	first := state.Part{Run: "run", ID: "1", Owner: "a", Counter: 1}
	rival := state.Part{Run: "run", ID: "1", Owner: "b", Counter: 1}
	if !f.setPart(f.state, state.Part{}, first) || f.setPart(other, state.Part{}, rival) {
		t.Error("two processes claimed a part, want the first alone")
	}
	taken := first
	taken.Owner, taken.Counter = "b", 2
	if !f.setPart(other, first, taken) {
		t.Error("a dead owner is not replaced")
	}
	late := first
	late.Counter, late.Position, late.Items = 2, "100", 100
	if f.setPart(f.state, first, late) {
		t.Error("the former owner moved the position")
	}
	for name, change := range map[string]func(*state.Part){
		"owner":    func(p *state.Part) { p.Owner = "" },
		"counter":  func(p *state.Part) { p.Counter-- },
		"position": func(p *state.Part) { p.Position = "7" },
		"items":    func(p *state.Part) { p.Items++ },
		"done":     func(p *state.Part) { p.Done = true },
	} {
		expected, next := taken, taken
		change(&expected)
		next.Counter++
		if f.setPart(f.state, expected, next) {
			t.Errorf("a part whose %s differs was replaced", name)
		}
	}
	done := taken
	done.Owner, done.Counter, done.Position, done.Items, done.Done = "", 3, "200", 200, true
	if !f.setPart(other, taken, done) {
		t.Error("the owner cannot end the part")
	}
	if got := f.parts(f.state, "run"); !slices.Equal(got, []state.Part{done}) {
		t.Errorf("parts: %+v, want %+v", got, done)
	}
	if f.setPart(f.state, state.Part{Run: "run", ID: "2", Owner: "a", Counter: 1},
		state.Part{Run: "run", ID: "2", Owner: "a", Counter: 2}) {
		t.Error("a part that is not stored was replaced")
	}
}

// If processes claim the same parts at once, each part is claimed by exactly one of them.
func checkPartsAreClaimedOnce(t *testing.T, f *fixture) {
	const n = 20
	var claimed [n]atomic.Int32
	processes(f, 4, func(i int, s state.Store) (_ bool, err error) {
		for j := range n {
			id := (j + i*5) % n
			done, setErr := s.SetPart(t.Context(), state.Part{},
				state.Part{Run: "run", ID: fmt.Sprintf("%05d", id), Owner: fmt.Sprint(i), Counter: 1})
			err = cmp.Or(err, setErr)
			if done {
				claimed[id].Add(1)
			}
		}
		return false, err
	})
	for i := range claimed {
		if got := claimed[i].Load(); got != 1 {
			t.Errorf("part %d was claimed %d times", i, got)
		}
	}
	if got := f.parts(f.state, "run"); len(got) != n {
		t.Errorf("%d parts are stored, want %d", len(got), n)
	}
}

// Removing a backfill removes all its parts and no other backfill. Removing it again is not an error.
func checkBackfillsAreRemoved(t *testing.T, f *fixture) {
	const manyParts = 130 // more than one request can remove
	for run, parts := range map[string]int{"run": manyParts, "run 2": 1} {
		_, err := f.state.AddBackfill(t.Context(), testBackfill(run, bornAt))
		must(t, err)
		for i := range parts {
			f.setPart(f.state, state.Part{}, state.Part{Run: run, ID: fmt.Sprint(i), Counter: 1})
		}
	}
	for range 2 {
		must(t, f.state.RemoveBackfill(t.Context(), "run"))
	}
	if got := collect(t, f.state.Backfills(t.Context())); !slices.Equal(got,
		[]state.Backfill{testBackfill("run 2", bornAt)}) {
		t.Errorf("backfills: %+v", got)
	}
	if a, b := f.parts(f.state, "run"), f.parts(f.state, "run 2"); len(a) != 0 || len(b) != 1 {
		t.Errorf("%d and %d parts are left, want 0 and 1", len(a), len(b))
	}
}

// SetPart refuses invalid parts.
func checkInvalidParts(t *testing.T, f *fixture) {
	good := state.Part{Run: "run", ID: "1", Counter: 1}
	for name, p := range map[string]struct{ expected, next state.Part }{
		"no run":       {next: state.Part{ID: "1", Counter: 1}},
		"no id":        {next: state.Part{Run: "run", Counter: 1}},
		"long id":      {next: state.Part{Run: "run", ID: strings.Repeat("x", state.MaxPartID+1), Counter: 1}},
		"no text":      {next: state.Part{Run: "run", ID: "\xff", Counter: 1}},
		"another part": {good, state.Part{Run: "run", ID: "2", Counter: 2}},
		"same counter": {good, good},
		"no counter":   {next: state.Part{Run: "run", ID: "1"}},
	} {
		if done, err := f.state.SetPart(t.Context(), p.expected, p.next); done || err == nil {
			t.Errorf("%s: it is stored (%v)", name, err)
		}
	}
	if got := f.parts(f.state, "run"); len(got) > 0 {
		t.Errorf("parts: %+v", got)
	}
}
