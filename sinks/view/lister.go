package view

import (
	"context"
	"iter"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// Lister lists the rows of one view or aggregate.
type Lister interface {
	// ListRows yields the live rows of t's sink and pipeline, each once, in no order. It leaves out tombstones and
	// the rows of other sinks and pipelines. A row of another birth is yielded, so that it can be reported. The
	// read is eventually consistent: a row that is written meanwhile may be missing, or be as it was. Several
	// goroutines may list at once. It holds one page in memory. A pulled error ends the sequence. The error is
	// [ErrNoTable] if the table does not exist.
	ListRows(ctx context.Context, t Target, l state.Listing) iter.Seq2[Row, error]
}

// GuardLister is implemented by an [ItemStore] that lists guards and claims.
type GuardLister interface {
	// ListGuards yields the guards of t with a row, all claims of items on rows, and which item has each row that is
	// claimed, under the rules of [Lister.ListRows]. A guard without a row, void or not, remembers a removal and is left out. A target that was
	// never written to has none.
	ListGuards(ctx context.Context, t state.Target, l state.Listing) iter.Seq2[state.ItemGuard, error]
}

// ContributionLister is implemented by a [GroupStore] that lists contributions.
type ContributionLister interface {
	// ListContributions yields the contributions of t with shares, under the rules of [Lister.ListRows]. A
	// contribution without shares, void or not, remembers a removal and is left out. A target that was never
	// written to has no contributions.
	ListContributions(ctx context.Context, t state.Target, l state.Listing) iter.Seq2[state.ItemContribution, error]
}

// GroupLister is implemented by a [GroupStore] that lists groups.
type GroupLister interface {
	// ListGroups yields the rows of the aggregate t with their members, under the rules of [Lister.ListRows]. values
	// are the values of the aggregate, of which it uses Name and Of. All members of one group are in memory.
	ListGroups(ctx context.Context, t Target, values []Value, l state.Listing) iter.Seq2[Group, error]
}

// GroupReader is implemented by a [GroupStore] that reads groups by their rows.
type GroupReader interface {
	// ReadGroups reads the groups of rows with their members, in the order of rows. Each group is read
	// consistently, so that its members are those of its Revision. The zero Group means that there is no row, or
	// one of another sink or pipeline. values are as in [GroupLister.ListGroups]. The error is [ErrNoTable] if the
	// table does not exist.
	ReadGroups(ctx context.Context, t Target, values []Value, rows []state.Row) ([]Group, error)
}

// Group is one row of an aggregate, as it is stored.
//
// Item is what readers get. The other fields are what the store computes it from. They differ if the row was
// damaged or changed by hand.
type Group struct {
	Row      state.Row // with its shard
	Birth    string    // as in [Row]
	Revision string    // a new text with each write of the store; "" if the row has none
	Item     item.Image
	Derived  string // as in [StoredRow]

	Shares  int64             // number of shares in the group; 0 if the row does not say
	Version record.Version    // highest version of the changes; zero if the row does not say
	Counts  []state.Increment // each count in the order of values; a count that is missing or not a number is left out
	Sums    []state.Increment // likewise
	Members []state.Member    // of all min, max and distinct, in the order of values and then of the members; Remove is false
}
