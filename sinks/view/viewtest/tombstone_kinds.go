package viewtest

import (
	"context"

	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// tombstoneKinds are the places of tombstones, as values of Target.InPlace.
var tombstoneKinds = map[string]bool{"Apart": false, "InPlace": true}

// kindStore is a store that sets InPlace of all targets.
type kindStore struct {
	Store
	inPlace bool
}

func (k kindStore) Apply(ctx context.Context, t view.Target, ms []view.Mutation) ([]view.Result, error) {
	t.InPlace = k.inPlace
	return k.Store.Apply(ctx, t, ms)
}

// inspector returns the store as an Inspector; false if it is none.
func (k kindStore) inspector() (inspector, bool) {
	in, ok := k.Store.(view.Inspector)
	return inspector{in, k.inPlace}, ok
}

type inspector struct {
	view.Inspector
	inPlace bool
}

func (in inspector) StoredRows(ctx context.Context, t view.Target, rows []state.Row) ([]view.StoredRow, error) {
	t.InPlace = in.inPlace
	return in.Inspector.StoredRows(ctx, t, rows)
}
