package view

import (
	"context"
	"time"

	"github.com/tablewake/tablewake/pipeline"
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
	Guards(ctx context.Context, t Target, items []pipeline.Key) ([]state.Guard, error)

	// RowClaims reads rows with all their claims, in the order of rows, consistently.
	RowClaims(ctx context.Context, t Target, rows []state.Row) ([]RowClaims, error)

	// Settle applies ws in order, each of them whole or not at all, and returns one
	// Result for each. A write is Lost if the guard (its version or Void) or the claims
	// on a row have changed since they were read. A later write of ws may build on an earlier one, by the version and
	// the revisions of that one, and is lost with it. A result that is not an error is durable. Values are ranges of a
	// page: a store that keeps them beyond the call clones them.
	Settle(ctx context.Context, t Target, ws []ItemWrite) ([]ItemResult, error)
}

// RowClaims is a row with all claims on it. The stored item of DynamoDB is called a seat.
type RowClaims struct {
	Row      state.Row
	Revision string           // names the last write of the claims; "" if there is no claim
	Owner    Claim            // has the row; the zero Claim: none
	Waiting  []Claim          // the other claims, in no order
	Foreign  *ForeignRowError // the row belongs to another sink and cannot be claimed; nil: it can
}

// Claim is what an item would have in a row.
type Claim struct {
	Source     pipeline.Key // of the item; "" in the zero Claim
	Version    pipeline.Version
	Time       time.Time // creation time of that change; 1970 if it has none
	Attributes []Column  // of the row, without its key
}

// ItemWrite moves one item from the row it had to the row it requests.
type ItemWrite struct {
	Source  pipeline.Key
	Was     pipeline.Version // of the guard that was read, or that an earlier write of the call leaves; zero if there was none
	WasVoid bool             // of the same guard
	Guard   state.Guard
	Rows    []RowClaimsWrite // changes of claims, each row once: at most the one it leaves and the one it takes
}

// RowClaimsWrite changes the claim of the write's item on a row, and the owner of the row. The other claims stay
// as they are.
type RowClaimsWrite struct {
	Row      state.Row
	Was      string // Revision that was read, or that an earlier write of the call leaves
	Revision string // the new one, unlike any before; "" if no claim is left
	Claim    Claim  // the new claim of the item; the zero Claim: none
	Owner    Claim  // the new owner: Claim, or one of the other claims; the zero Claim: the row is deleted
}

// ItemResult is the result of an ItemWrite. The zero ItemResult means success.
type ItemResult struct {
	Lost bool  // something changed since it was read: read again
	Err  error // this write failed; marked with pipeline.Transient where it may be tried again
}
