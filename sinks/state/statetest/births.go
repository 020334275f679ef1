package statetest

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tablewake/tablewake/sinks/state"
)

func (w *fixture) births(s state.Store) []state.Birth {
	w.t.Helper()
	return collect(w.t, s.Births(w.t.Context()))
}

func (w *fixture) recordBirth(s state.Store, b state.Birth) state.Birth {
	w.t.Helper()
	stored, err := s.RecordBirth(w.t.Context(), b)
	must(w.t, err)
	return stored
}

func (w *fixture) setBirth(s state.Store, was, now state.Birth) bool {
	w.t.Helper()
	done, err := s.SetBirth(w.t.Context(), was, now)
	must(w.t, err)
	return done
}

var bornAt = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// Every process reads the births that were recorded, in order, and only those of its pipeline.
func birthsComeBack(t *testing.T, w *fixture) {
	second := w.recordBirth(w.state, state.NewBirth("orders", "table b#%/é", bornAt))
	first := w.recordBirth(w.state, state.NewBirth("orders", "table a", bornAt))
	full := state.NewBirth("users", "index users", bornAt)
	full.State, full.Store, full.Begun = "the state", "the store", true
	w.recordBirth(w.state, full)
	w.recordBirth(w.suite.State(w.Store, "other"), state.NewBirth("orders", "table a", bornAt))
	got := w.births(w.suite.State(w.open(), "test"))
	if want := []state.Birth{first, second, full}; !slices.Equal(got, want) {
		t.Errorf("births:\n%+v, want\n%+v", got, want)
	}
	if first.ID == second.ID || len(first.ID) != 16 {
		t.Errorf("ids %q and %q", first.ID, second.ID)
	}
}

// Many processes that begin a sink at once get one birth.
func birthsAreOne(t *testing.T, w *fixture) {
	const n = 8
	got := make([]state.Birth, n)
	var all sync.WaitGroup
	for i := range n {
		s := w.suite.State(w.open(), "test")
		all.Go(func() {
			var err error
			if got[i], err = s.RecordBirth(t.Context(), state.NewBirth("orders", "table a", bornAt)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, b := range got {
		if b != got[0] {
			t.Errorf("one has %+v, another %+v", b, got[0])
		}
	}
}

// A birth is replaced only if it is unchanged, so that the first of two writers wins.
func birthsChangeAsRead(t *testing.T, w *fixture) {
	was := w.recordBirth(w.state, state.NewBirth("orders", "table a", bornAt))
	now := was
	now.State, now.Store, now.Begun = "s", "t", true
	if !w.setBirth(w.state, was, now) {
		t.Error("it was not replaced")
	}
	late := was
	late.Store = "late"
	if w.setBirth(w.suite.State(w.open(), "test"), was, late) {
		t.Error("one that was replaced meanwhile was replaced again")
	}
	if bs := w.births(w.state); len(bs) != 1 || bs[0] != now {
		t.Errorf("births: %+v, want %+v", bs, now)
	}
	if w.setBirth(w.state, was, state.Birth{}) {
		t.Error("one that was replaced meanwhile was removed")
	}
	if !w.setBirth(w.state, now, state.Birth{}) || len(w.births(w.state)) > 0 {
		t.Error("it was not removed")
	}
	if again := w.recordBirth(w.state, state.NewBirth("orders", "table a", bornAt)); again.ID == was.ID {
		t.Error("another birth has the same id")
	}
}

// The state has the same identity in every process.
func identityStays(t *testing.T, w *fixture) {
	id, err := w.state.Identity(t.Context())
	must(t, err)
	again, err := w.suite.State(w.open(), "other").Identity(t.Context())
	if err != nil || again != id {
		t.Errorf("it is %q, and to another process %q (%v)", id, again, err)
	}
}
