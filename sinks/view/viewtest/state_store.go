package viewtest

import (
	"context"
	"io"
	"iter"
	"testing"

	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// StateStore is a store of every kind of row under test. It remembers items and may forget them.
type StateStore interface {
	Store
	view.ItemStore
	view.GroupStore
	state.Purger
	view.Emptier
}

// Open opens a store in dir, as [Suite] has it.
type Open func(ctx context.Context, dir string) (StateStore, error)

// must ends the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// all returns the values of a sequence.
func all[T any](t testing.TB, seq iter.Seq2[T, error]) (vs []T) {
	t.Helper()
	for v, err := range seq {
		must(t, err)
		vs = append(vs, v)
	}
	return vs
}

// storeCheck is a store with helpers to check its writes.
type storeCheck struct {
	StateStore
	t      *testing.T
	target view.Target
	open   func() StateStore
}

// withTarget returns the store with another target.
func (s *storeCheck) withTarget(target view.Target) *storeCheck {
	return &storeCheck{s.StateStore, s.t, target, s.open}
}

// reopen opens the store once more, as another process does.
func (s *storeCheck) reopen() *storeCheck { return &storeCheck{s.open(), s.t, s.target, s.open} }

// runChecks runs each check on a store of its own.
func runChecks(t *testing.T, open Open, target view.Target, checks map[string]func(*testing.T, *storeCheck)) {
	for name, check := range checks {
		t.Run(name, func(t *testing.T) {
			open := opener(t, open)
			check(t, &storeCheck{open(), t, target, open})
		})
	}
}

// wantRows expects the rows of the target's table, as DynamoDB JSON.
func (s *storeCheck) wantRows(want ...string) {
	s.t.Helper()
	same(s.t, "rows", rows(s.t, s.StateStore, s.target.Table, view.Query{}), want)
}

// opener returns a function that opens a new store, and then the same one again, as other processes do. The test
// closes them.
func opener[S io.Closer](t *testing.T, open func(ctx context.Context, dir string) (S, error)) func() S {
	dir := t.TempDir()
	return func() S {
		t.Helper()
		s, err := open(t.Context(), dir)
		must(t, err)
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	}
}
