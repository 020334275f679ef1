package viewtest

import (
	"context"
	"io"
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

// opener opens a new store, and the same one again, as other processes do. The test closes them.
func opener[S io.Closer](t *testing.T, open func(ctx context.Context, dir string) (S, error)) func() S {
	dir := t.TempDir()
	return func() S {
		t.Helper()
		s, err := open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	}
}
