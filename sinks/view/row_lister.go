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
	// ListRows yields the live rows of t's sink and pipeline, each once, in no order. It leaves out tombstones and the
	// rows of other sinks and pipelines. It also yields rows whose birth, the id of a sink's output, is not that of t,
	// so that they can be reported. A row that is written during the read may be missing or outdated. Unless
	// l.Consistent is set, this is also true of a row that was written shortly before. Several goroutines may list at
	// once. One page is in memory. The sequence ends with the first error. The error is [ErrNoTable] if the table does
	// not exist.
	ListRows(ctx context.Context, t Target, l state.Listing) iter.Seq2[Row, error]
}

// GuardLister is implemented by an [ItemStore] that lists guards and claims.
type GuardLister interface {
	// ListGuards yields the guards of t that have a row, all claims of items on rows, and the owner of each claimed
	// row. The rules of [Lister.ListRows] apply. ListGuards leaves out guards without a row, because such guards only
	// record a removal. A target that was never written to has no guards.
	ListGuards(ctx context.Context, t state.Target, l state.Listing) iter.Seq2[state.ItemGuard, error]
}

// ContributionLister is implemented by a [GroupStore] that lists contributions.
type ContributionLister interface {
	// ListContributions yields the contributions of t that have shares. The rules of [Lister.ListRows] apply.
	// Contributions without shares are left out, because they only record a removal. A target that was never written to
	// has no contributions.
	ListContributions(ctx context.Context, t state.Target, l state.Listing) iter.Seq2[state.ItemContribution, error]
}

// GroupLister is implemented by a [GroupStore] that lists groups.
type GroupLister interface {
	// ListGroups yields the rows of the aggregate t with their members. The rules of [Lister.ListRows] apply. values
	// are the values of the aggregate; only Name and Kind are used. All members of one group are in memory.
	ListGroups(ctx context.Context, t Target, values []Value, l state.Listing) iter.Seq2[Group, error]
}

// GroupReader is implemented by a [GroupStore] that reads groups by their rows.
type GroupReader interface {
	// ReadGroups reads the groups of rows with their members, in the order of rows. It reads each group consistently:
	// the members are those of the Revision. The zero Group means that there is no row, or a row of another sink or
	// pipeline. values are the values of the aggregate; only Name and Kind are used. The error is [ErrNoTable] if the
	// table does not exist.
	ReadGroups(ctx context.Context, t Target, values []Value, rows []state.Row) ([]Group, error)
}

// Group is one stored row of an aggregate.
//
// Item is the row that readers get. The store computes it from the other fields. If the row was damaged or changed by
// hand, Item does not match these fields.
type Group struct {
	Row           state.Row // row of the group, with its shard
	Birth         string    // as in [Row]
	Revision      string    // text that each write of the store changes; "" if the row has none
	Item          item.Image
	DifferingCopy string // as in [StoredRow]

	Shares  int64             // number of shares in the group; 0 if the row has no number
	Version record.Version    // highest version of the changes; zero if the row has none
	Counts  []state.Increment // counts in the order of values, without counts that are missing or not a number
	Sums    []state.Increment // sums in the order of values, without sums that are missing or not a number
	// Members are the members of all min, max and distinct, sorted by the order of values, then of members. Remove is
	// false.
	Members []state.Member
}

// AddTotal adds the stored value of a count or a sum to Counts or Sums.
func (g *Group) AddTotal(v Value, total state.Number) {
	amount := state.Increment{Name: v.Name, Amount: total}
	if v.Kind == kindNames[countKind] {
		g.Counts = append(g.Counts, amount)
	} else {
		g.Sums = append(g.Sums, amount)
	}
}
