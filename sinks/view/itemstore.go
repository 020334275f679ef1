package view

import (
	"context"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
)

// ItemStore writes rows that are guarded by item, because several items may claim
// one: the row, the claims of those who wait for it, and the guards of the items
// change together or not at all.
//
// All methods block, may be called by several goroutines, and by other processes
// on the same tables. An error means the whole call failed, and is marked as
// pipeline.Transient and pipeline.Fatal say.
type ItemStore interface {
	// Guards reads what is remembered of items, in the order of items, consistently.
	// The zero Guard stands for an item that is not known.
	Guards(ctx context.Context, t Target, items []pipeline.Key) ([]state.Guard, error)

	// Seats reads rows with all their claims, in the order of rows, consistently.
	Seats(ctx context.Context, t Target, rows []state.Row) ([]Seat, error)

	// Settle applies ws in order, each of them whole or not at all, and returns one
	// Result for each. A write is Lost when the guard, by its version and by whether it is
	// void, or a seat is not what it was read as. A later write of ws may build on an earlier one, by the version and
	// the revisions that this one gives, and is lost with it. What it reports as done
	// is durable. Values are ranges of a page: a store that keeps them beyond the call
	// clones them.
	Settle(ctx context.Context, t Target, ws []ItemWrite) ([]ItemResult, error)
}

// Seat is a row with everyone who claims it.
type Seat struct {
	Row      state.Row
	Revision string           // names the write that it is of; "" where there is no claim
	Holder   Claim            // whose row stands there; the zero Claim where nobody's does
	Waiting  []Claim          // claims of others, in no order
	Foreign  *ForeignRowError // of a row that belongs to another sink: it can't be claimed. Default: it can
}

// Claim is what an item would have in a row.
type Claim struct {
	Source     pipeline.Key // of the item; "" in the zero Claim
	Version    pipeline.Version
	Time       time.Time // creation time of that change; 1970 where it has none
	Attributes []Column  // of the row, without its key
}

// ItemWrite moves one item from the row it had to the row it asks for.
type ItemWrite struct {
	Source  pipeline.Key
	Was     pipeline.Version // of the guard: that was read, or that an earlier write of the call gives; zero where there was none
	WasVoid bool             // of the guard: likewise
	Guard   state.Guard
	Seats   []SeatWrite // that change, each row once: at most the one it leaves and the one it takes
}

// SeatWrite changes the claim of the write's item on a row, and who holds the row.
// The claims of others stay as they are.
type SeatWrite struct {
	Row      state.Row
	Was      string // Revision of the seat: that was read, or that an earlier write of the call gives
	Revision string // of the seat from now on, unlike any that it had; "" where nobody claims it any more
	Claim    Claim  // what the item claims from now on; the zero Claim: nothing
	Holder   Claim  // whose row stands there from now on: Claim, or one that is there; the zero Claim: the row goes away
}

// ItemResult is what became of an ItemWrite. The zero ItemResult is: it is done.
type ItemResult struct {
	Lost bool  // something changed since it was read: read again
	Err  error // this write failed; marked with pipeline.Transient where it may be tried again
}
