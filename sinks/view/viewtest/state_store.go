package viewtest

import (
	"context"
	"errors"
	"io"
	"iter"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// StateStore is a store under test that supports every kind of row. It keeps guards and contributions, and can be
// purged.
type StateStore interface {
	Store
	view.ItemStore
	view.ItemRowsStore
	view.GroupStore
	view.Inspector
	view.Lister
	view.GuardLister
	view.ClaimLister
	view.ContributionLister
	view.GroupLister
	view.GroupReader
	view.Repairer
	view.GroupRepairer
	state.Purger
	view.Emptier
}

// Open opens a store in dir, as in [Suite].
type Open func(ctx context.Context, dir string) (StateStore, error)

// must ends the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// all returns the values of a sequence, and ends the test on an error.
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
	open   func() StateStore // opens the same store, as another process does
}

// withTarget returns the store with another target.
func (s *storeCheck) withTarget(target view.Target) *storeCheck {
	return &storeCheck{s.StateStore, s.t, target, s.open}
}

// reopen opens the store a second time, as another process does.
func (s *storeCheck) reopen() *storeCheck { return &storeCheck{s.open(), s.t, s.target, s.open} }

// runChecks runs each check on a new store with the given target.
func runChecks(t *testing.T, open Open, target view.Target, checks map[string]func(*testing.T, *storeCheck)) {
	for name, check := range checks {
		t.Run(name, func(t *testing.T) {
			open := opener(t, open)
			check(t, &storeCheck{open(), t, target, open})
		})
	}
}

// wantRows checks the rows of the target's table, as DynamoDB JSON.
func (s *storeCheck) wantRows(want ...string) {
	s.t.Helper()
	checkEqual(s.t, "rows", readRows(s.t, s.StateStore, s.target.Table, view.Query{}), want)
}

// onlyResult returns the result of a call with one write.
func (s *storeCheck) onlyResult(rs []view.Result, err error) view.Result {
	s.t.Helper()
	must(s.t, err)
	if len(rs) != 1 {
		s.t.Fatalf("%d results for 1 write", len(rs))
	}
	return rs[0]
}

// wantDone fails the test if a write did not succeed.
func wantDone(t *testing.T, what string, r view.Result) {
	t.Helper()
	if r != (view.Result{}) {
		t.Fatalf("%s: %+v, want it done", what, r)
	}
}

// wantLost fails the test if a write was not lost.
func wantLost(t *testing.T, what string, r view.Result) {
	t.Helper()
	if !r.Lost || r.Err != nil {
		t.Errorf("%s: %+v, want it lost", what, r)
	}
}

// wantForeign fails the test if err is not the permanent error of a row that belongs to the sink of owner.
func wantForeign(t *testing.T, what string, err error, owner view.Target, row state.Row) {
	t.Helper()
	foreign, ok := errors.AsType[*view.ForeignRowError](err)
	if !ok || foreign.View != owner.View || foreign.Pipeline != owner.Pipeline || foreign.Row != row {
		t.Errorf("%s: got %v, want a ForeignRowError of the view %s of the pipeline %s", what, err, owner.View,
			owner.Pipeline)
	}
	checkPermanent(t, what, err)
}

// wantOtherBirth fails the test if err is not the fatal error of a row with another birth.
func wantOtherBirth(t *testing.T, what string, err error) {
	t.Helper()
	lost, ok := errors.AsType[*state.LostError](err)
	namesSink := ok && (lost.Sink == target.View || lost.Sink == groupTarget.View)
	if !namesSink || !pipeline.IsFatal(err) {
		t.Errorf("%s: got %v, want a fatal LostError", what, err)
	}
}

// sortKeys returns the sort keys of rows.
func sortKeys(t testing.TB, rows iter.Seq2[view.Row, error]) (sks []string) {
	t.Helper()
	for _, r := range all(t, rows) {
		sk, _ := r.SK.Text()
		sks = append(sks, sk)
	}
	return sks
}

// makeRow returns the row whose key attributes are the texts pk and sk.
func makeRow(t *testing.T, pk, sk string) state.Row {
	t.Helper()
	return rowOf(t, view.Mutation{PK: item.StringValue(pk), SK: item.StringValue(sk)})
}

// rowOf returns the row that a mutation writes.
func rowOf(t *testing.T, m view.Mutation) state.Row {
	t.Helper()
	r, err := state.MakeRow(m.PK, m.SK)
	must(t, err)
	return r
}

// opener returns a function that opens a store. The first call creates the store. Later calls open the same store
// again, as other processes do. Each store is closed when the test ends.
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
