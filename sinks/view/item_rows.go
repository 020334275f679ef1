package view

import (
	"fmt"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// A view with ForEach has a row for each element of an item. The key of a row contains the key of the item and the
// identity of the element, which distinguishes it within the item. So each row belongs to one item, and the
// contribution of the item orders the writes of its rows. The contribution has the version of the item, and a share for
// each row. A share has the row's key and the digest of the row's attributes. The contribution and the rows change in
// one transaction, on condition that the stored contribution, including its shares, is as it was read. A change of many
// rows needs several such transactions, which are called parts. If a change is not written completely, or if no rows
// could be made of it, the contribution is void. The only condition on a row itself is that no other sink or item owns
// it. A removed row leaves no tombstone.
//
//	stored contribution     rows in the table          who replaces it
//	none                    none                       any change
//	complete, with shares   the rows of the shares     a newer change or a repair
//	complete, no shares     none                       a newer change; it expires like a tombstone
//	void, no shares         none: a dead letter        the same change once it can be planned, or a newer one
//	void, with shares       the rows of the shares: a  the same change, which continues, or a newer one; or another
//	                        change is written in part  repair, if a repair was written in part
//
// The races, and why each is safe:
//
//   - Stale or repeated change: a change that is older than the contribution is superseded. A change of the same
//     version writes nothing.
//   - Crash between two parts: the contribution is void, and its shares are the rows that are stored. The same change
//     is delivered again, compares its rows with the shares, and writes the rest. If a newer change comes first, it
//     does the same with its own rows.
//   - Two writers of one change, or a newer change between two parts: the later transaction expects shares that are no
//     longer stored. So it is lost, and its writer reads again.
//   - Delete and insert: the empty contribution of the delete supersedes older changes.
//   - Backfill: its version is older than every version of the stream. If a change of the stream came first, the
//     backfill is superseded. If the backfill came first, the change compares its rows with those of the backfill. A
//     delete of an item that had rows stores its version even if the rows are not stored yet.
//   - Repair: it writes the rows and the contribution with a newer version. A writer that read the former contribution
//     loses its transaction.

// ItemRowsOp replaces the stored rows of an item by the rows of its elements. After it, d.Ops has an [ElementRowOp] for
// each of these rows. The ElementRowOps are only for display.
type ItemRowsOp struct {
	Target  *Target
	Source  item.Key
	Version record.Version
	Rows    []*ElementRowOp // in the order of the elements

	sink   *Sink          // the sink that planned the op; nil in tests
	change *record.Change // the planned change; valid until its page is released
	rowAbsence
}

// ElementRowOp is the row of one element. Its [ItemRowsOp] writes the row if it differs from the stored row.
type ElementRowOp struct {
	PK, SK     item.Value // SK is absent if the table has no sort key
	Row        state.Row
	Attributes []state.Column // attributes of the row, without its key
	Position   int            // position of the element in its list, set or map

	target     *Target
	displayKey string // key of the row for people, if parts of it are masked; else ""
	digest     string // digest of Attributes
	size       int    // approximate size of the row, in bytes
}

var (
	_ pipeline.Op = (*ItemRowsOp)(nil)
	_ pipeline.Op = (*ElementRowOp)(nil)
)

// String returns a line such as: put row PK="SKU#7" SK="o1#0" (element 0).
func (o *ElementRowOp) String() string {
	return fmt.Sprintf("put row %s (element %d)", o.KeyText(), o.Position)
}

// KeyText returns the row's key with masked parts, for people.
func (o *ElementRowOp) KeyText() string {
	if o.displayKey != "" {
		return o.displayKey
	}
	return o.target.keyText(o.PK, o.SK)
}

// SetAttributes replaces the attributes of the row.
func (o *ElementRowOp) SetAttributes(columns []state.Column) {
	o.Attributes = columns
	o.digest, o.size = digestOf(columns)
	o.size += len(o.Row)
}

func (o *ElementRowOp) stateRow() state.Row { return o.Row }

// String returns a line such as: 2 rows of the item, and 1 leaves: PK="SKU#9" SK="o1#1" (guarded by item). The old
// image determines which rows leave.
func (o *ItemRowsOp) String() string {
	var b strings.Builder
	switch n := len(o.Rows); n {
	case 0:
		b.WriteString("no rows of the item")
	case 1:
		b.WriteString("1 row of the item")
	default:
		fmt.Fprintf(&b, "%d rows of the item", n)
	}
	if leaving := o.leavingKeys(); len(leaving) == 1 {
		b.WriteString(", and 1 leaves: " + leaving[0])
	} else if len(leaving) > 1 {
		fmt.Fprintf(&b, ", and %d leave: %s", len(leaving), strings.Join(leaving, "; "))
	}
	b.WriteString(" (")
	if len(o.Rows) == 0 {
		b.WriteString(o.text("it has no element with a whole key") + "; ")
	}
	b.WriteString("guarded by item: " + rowsOfElements.Why + ")")
	return b.String()
}

// leavingKeys returns the keys of the rows that the item no longer has after the change. The old image shows which rows
// it had before.
func (o *ItemRowsOp) leavingKeys() []string {
	rows := make(map[state.Row]bool, len(o.Rows))
	for _, r := range o.Rows {
		rows[r.Row] = true
	}
	var keys []string
	for _, r := range o.Before() {
		if !rows[r.Row] {
			keys = append(keys, r.KeyText())
		}
	}
	return keys
}

// Before returns the rows that the item had before the change, by the old image. It returns nil if the item had no
// rows, or if its rows are unknown.
func (o *ItemRowsOp) Before() []*ElementRowOp {
	if o.sink == nil || o.change == nil || !o.change.Old.Exists() {
		return nil
	}
	rows, _, err := o.sink.elementRows(o.change, o.change.Old)
	if err != nil {
		return nil
	}
	return rows
}

// Shares returns the shares of the item's contribution after the op: one for each row.
func (o *ItemRowsOp) Shares() []state.Share {
	shares := make([]state.Share, len(o.Rows))
	for i, r := range o.Rows {
		shares[i] = r.rowShare()
	}
	return shares
}

func (o *ItemRowsOp) orderKey() string        { return string(o.Source) }
func (o *ItemRowsOp) version() record.Version { return o.Version }

// removalOp returns the op that removes all rows of the item. It is written if the store refuses the rows permanently.
// removalOp returns nil if the op has no rows already.
func (o *ItemRowsOp) removalOp(cause error) *ItemRowsOp {
	if len(o.Rows) == 0 {
		return nil
	}
	return &ItemRowsOp{Target: o.Target, Source: o.Source, Version: o.Version,
		rowAbsence: rowAbsence{reason: reasonVoid, changeErr: cause}}
}
