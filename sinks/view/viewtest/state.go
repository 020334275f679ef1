package viewtest

import (
	"context"
	"io"
	"iter"
	"testing"

	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// StateStore is a store of every kind of row, which remembers items and may forget them, under test.
type StateStore interface {
	Store
	view.ItemStore
	view.GroupStore
	state.Purger
	view.Emptier
}

// Open opens a store in dir, as in [Suite].
type Open func(ctx context.Context, dir string) (StateStore, error)

// need ends the test on an error.
func need(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// all is what a sequence yields.
func all[T any](t testing.TB, seq iter.Seq2[T, error]) (vs []T) {
	t.Helper()
	for v, err := range seq {
		need(t, err)
		vs = append(vs, v)
	}
	return vs
}

// shelf is a store with what the checks of its writes need again and again.
type shelf struct {
	StateStore
	t      *testing.T
	target view.Target
	open   func() StateStore
}

// of is the store as seen by another target.
func (s *shelf) of(target view.Target) *shelf { return &shelf{s.StateStore, s.t, target, s.open} }

// again is the store as another process has it open.
func (s *shelf) again() *shelf { return &shelf{s.open(), s.t, s.target, s.open} }

// runChecks runs each check on a store of its own.
func runChecks(t *testing.T, open Open, target view.Target, checks map[string]func(*testing.T, *shelf)) {
	for name, check := range checks {
		t.Run(name, func(t *testing.T) {
			open := opener(t, open)
			check(t, &shelf{open(), t, target, open})
		})
	}
}

// rows expects the rows of the target's table, as DynamoDB JSON.
func (s *shelf) rows(want ...string) {
	s.t.Helper()
	same(s.t, "rows", rows(s.t, s.StateStore, s.target.Table, view.Query{}), want)
}

// opener opens a new store, and the same one again, as other processes do. The test closes them.
func opener[S io.Closer](t *testing.T, open func(ctx context.Context, dir string) (S, error)) func() S {
	dir := t.TempDir()
	return func() S {
		t.Helper()
		s, err := open(t.Context(), dir)
		need(t, err)
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	}
}
