package view

import (
	"context"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
)

// ItemStore writes rows that are guarded by item, because several items can claim one row. The row, the waiting
// claims and the guards of the items change together or not at all.
//
// All methods block, may be called by several goroutines, and by other processes
// on the same tables. An error means the whole call failed, and is marked as
// pipeline.Transient and pipeline.Fatal say.
type ItemStore interface {
	// Guards reads what is remembered of items, in the order of items, consistently.
	// The zero Guard means an unknown item.
	Guards(ctx context.Context, t Target, items []item.Key) ([]state.Guard, error)

	// RowClaims reads rows with all their claims, in the order of rows, consistently.
	RowClaims(ctx context.Context, t Target, rows []state.Row) ([]RowClaims, error)

	// Settle applies ws in order, each of them whole or not at all, and returns one
	// Result for each. A write is Lost if the guard (its version or Void) or the claims
	// on a row have changed since they were read. A later write of ws may build on an earlier one, by the version and
	// the revisions of that one, and is lost with it. A result that is not an error is durable. Values are ranges of a
	// page: a store that keeps them beyond the call clones them.
	Settle(ctx context.Context, t Target, ws []state.ItemWrite) ([]Result, error)
}

// RowClaims is a row with all claims on it.
type RowClaims struct {
	state.RowClaims
	Foreign *ForeignRowError // the row belongs to another sink and cannot be claimed; nil: it can
}
