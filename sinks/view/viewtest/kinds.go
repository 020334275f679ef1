package viewtest

import (
	"context"

	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// kinds are where the tombstones of rows that guard themselves may be.
var kinds = map[string]bool{"Apart": false, "InPlace": true}

// ofKind is a store all of whose targets are of one kind.
type ofKind struct {
	Store
	inPlace bool
}

func (k ofKind) Apply(ctx context.Context, t view.Target, ms []view.Mutation) ([]view.Result, error) {
	t.InPlace = k.inPlace
	return k.Store.Apply(ctx, t, ms)
}

// inspector is the store's, where it has one.
func (k ofKind) inspector() (inspector, bool) {
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
