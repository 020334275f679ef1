package view

import (
	"context"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
)

// GroupStore writes the rows of aggregates: the contributions of items and the
// rows of the groups that they count in change together or not at all.
//
// All methods block, may be called by several goroutines, and by other processes
// on the same tables. An error means the whole call failed, and is marked as
// pipeline.Transient and pipeline.Fatal say.
type GroupStore interface {
	// Contributions reads what items count for, in the order of items, consistently.
	// The zero Contribution stands for an item that is not known.
	Contributions(ctx context.Context, t Target, items []item.Key) ([]state.Contribution, error)

	// Contribute applies ws, each of them whole or not at all, and returns one
	// Result for each. A write is Lost when a contribution, by its version and by
	// whether it is void, is not what was read, and fails with a [ForeignRowError] where a group's row belongs to
	// another sink. No two writes of a call have an item in common; they may have groups.
	// What it reports as done is durable.
	Contribute(ctx context.Context, t Target, ws []state.GroupWrite) ([]Result, error)

	// MaxActions is how many items and group changes (each [state.GroupChange] and each
	// [state.Member] is one) a GroupWrite may have together; 0: any number.
	MaxActions() int
}
