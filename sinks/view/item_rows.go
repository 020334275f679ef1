package view

import (
	"fmt"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// A view with ForEach has a row for each element of an item. The key of a row has the item and the element, so each row
// belongs to one item, and the item's contribution alone orders the writes of its rows. It has the version, and a share for
// each row with the digest of what is in the row. It and the rows change in one transaction, on condition that it is stored
// as it was read, with its shares. Rows have no condition but their owner, and leave no tombstones.
//
//	stored contribution     rows in the table          who replaces it
//	none                    none                       any change
//	complete, with shares   those of the shares        a newer change, or a repair at its version
//	complete, no shares     none                       a newer change; it expires as a tombstone does
//	void, no shares         none: a dead letter        the same change once it can be planned, or a newer one
//	void, with shares       those of the shares: a     the same change, which goes on, or a newer one
//	                        change is written in part
//
// The races, and why each is safe:
//
//   - A stale change is older than the contribution: superseded. A repeated one has its version: nothing is written.
//   - A crash between two parts leaves a void contribution that names the rows as they are. The change comes again,
//     compares with them, and writes the rest. A newer change compares with them too, and wins.
//   - Two writers of one change, or a newer change between two parts: the second transaction expects other shares, is lost,
//     and reads again.
//   - Delete and insert: the empty contribution of the delete refuses what is older than it.
//   - A backfill: its version is older than all of the stream. If the stream was first, the backfill is superseded; if it
//     comes second, it compares with the rows of the backfill. A delete of rows that are not there yet leaves its version.
//   - A repair keeps the version, and writes the rows with the contribution. A change that was read before it expects the
//     shares of before: if they are others now, it is lost; if not, its differences are still right.

// ItemRowsOp replaces the rows of an item by those of its elements. The ops of the rows follow it, for people.
type ItemRowsOp struct {
	Target  *Target
	Source  item.Key
	Version record.Version
	Rows    []*ElementRowOp // in the order of the elements

	sink      *Sink          // the sink that planned it; nil in tests
	change    *record.Change // that it is planned of; valid with the page
	reason    string         // why there are no rows: ReasonWhen, ReasonSparse, ReasonRemoved or void
	idle      bool           // there are no rows, and the old image had none
	changeErr error          // the change fails with it after the write: no rows can be made of the new image. nil: none
}

// ElementRowOp is the row of one element. [ItemRowsOp] writes it, if it differs from what is stored.
type ElementRowOp struct {
	PK, SK     item.Value // SK is absent if the table has no sort key
	Row        state.Row
	Attributes []state.Column // without the key
	Position   int            // of the element

	target     *Target
	displayKey string // the row key for people if parts of it are masked
	digest     string // of Attributes
	size       int    // of the row, in bytes, roughly
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
	return string(o.target.appendKey(nil, o.PK, o.SK))
}

// SetAttributes replaces the attributes of the row.
func (o *ElementRowOp) SetAttributes(columns []state.Column) {
	o.Attributes = columns
	o.digest, o.size = digestOf(columns)
	o.size += len(o.Row)
}

func (o *ElementRowOp) stateRow() state.Row { return o.Row }

// String returns a line such as: 2 rows of the item, and 1 leaves: PK="SKU#9" SK="o1#1" (guarded by item). Which rows leave
// is told by the old image.
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
		b.WriteString(o.reasonText() + "; ")
	}
	b.WriteString("guarded by item: " + rowsOfElements.Why + ")")
	return b.String()
}

// leavingKeys returns the keys of the rows that the item had before the change and has no more, by the old image.
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

// Before returns the rows that the item had before the change, by the old image; nil if it had none or if that is unknown.
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

// Shares returns the shares that the contribution of the item has for its rows.
func (o *ItemRowsOp) Shares() []state.Share {
	shares := make([]state.Share, len(o.Rows))
	for i, r := range o.Rows {
		shares[i] = r.share()
	}
	return shares
}

// Err returns the error with which the change fails once the write is durable: no rows can be made of the item. nil: none.
func (o *ItemRowsOp) Err() error { return o.changeErr }

// Idle reports whether the item has no rows and, by the old image, had none before. Such a change is only written if
// something is remembered of the item.
func (o *ItemRowsOp) Idle() bool { return o.idle }

func (o *ItemRowsOp) reasonText() string {
	return noRowText(o.reason, "it has no element with a whole key", o.changeErr)
}

func (o *ItemRowsOp) orderKey() string        { return string(o.Source) }
func (o *ItemRowsOp) version() record.Version { return o.Version }
func (o *ItemRowsOp) noEffect() bool          { return o.idle }
func (o *ItemRowsOp) errAfterWrite() error    { return o.changeErr }
func (o *ItemRowsOp) noEffectReason() string  { return o.reason }

// removal returns the op that removes all rows of the item, to write if the store refuses the rows permanently; nil if
// there are none.
func (o *ItemRowsOp) removal(cause error) *ItemRowsOp {
	if len(o.Rows) == 0 {
		return nil
	}
	return &ItemRowsOp{Target: o.Target, Source: o.Source, Version: o.Version, reason: void, changeErr: cause}
}
