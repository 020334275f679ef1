package view

import (
	"strconv"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
)

// GroupOp is one share of an item after a change: what the item counts for in one group. An item without shares has one
// GroupOp, which has the reason. A Write replaces the item's contribution, which is the stored list of its shares, by
// the shares of all ops of the change. If the item expired and stays counted, its shares stay in their groups
// permanently, and the contribution is emptied.
type GroupOp struct {
	Share state.Share // zero if the item counts nowhere

	// Reason says why the item counts nowhere, if there is no Share: [ReasonWhen], [ReasonSparse], [ReasonRemoved] or
	// void. If there is a Share, Reason is [ReasonExpired] if the item expired and the share stays, else "".
	Reason string

	aggregate     *Aggregate
	displayKey    string // key of the group for people, if parts of it are masked; else ""
	shard         int
	countedBefore bool // the item may have counted for something before the change
	// changeErr is the error if the item cannot be counted; else nil. The change fails with changeErr after the item's
	// contribution is removed.
	changeErr error
}

var _ pipeline.Op = (*GroupOp)(nil)

// Target returns the aggregate of the op.
func (o *GroupOp) Target() Target { return o.aggregate.target }

// KeyText returns the group's key with masked parts, for people; "" if the item counts nowhere.
func (o *GroupOp) KeyText() string {
	switch {
	case o.Share.Group == "":
		return ""
	case o.displayKey != "":
		return o.displayKey
	}
	return o.aggregate.target.rowKeyText(o.Share.Group)
}

// Row returns the row that the share counts in, with its shard; "" if the item counts nowhere.
func (o *GroupOp) Row() state.Row {
	if o.Share.Group == "" {
		return ""
	}
	return o.aggregate.shardRow(o.Share.Group, o.shard)
}

// Err returns the error if the item cannot be counted; else nil. The change fails with the error after the item's
// contribution is removed.
func (o *GroupOp) Err() error { return o.changeErr }

// String returns a line such as: count in group PK="REVENUE#EUR" SK="2026-01-02": revenue +10.5, orders +1
// (replaces what the item counted for).
func (o *GroupOp) String() string {
	switch {
	case o.Share.Group == "" && o.changeErr != nil:
		return "count nowhere (the change goes to dead letters: " + o.changeErr.Error() +
			"; what the item counted for is taken out)"
	case o.Share.Group == "":
		return "count nowhere (" + o.Reason + "; what the item counted for is taken out)"
	}

	start, end := "count in group ", " (replaces what the item counted for)"
	if o.keepsExpired() {
		start, end = "keep in group ", " (expired; replaces what the item counted for)"
	}
	b := append(make([]byte, 0, 128), start...)
	b = append(b, o.KeyText()...)
	if n := o.aggregate.shards; n > 1 {
		b = append(b, " shard "...)
		b = strconv.AppendInt(b, int64(o.shard), 10)
	}
	separator := ": "
	for i := range o.aggregate.values {
		v := &o.aggregate.values[i]
		text := o.Share.Values[v.shareIndex]
		if text == "" && v.kind != countKind {
			continue
		}
		b = append(append(append(b, separator...), v.Name...), ' ')
		b, separator = o.appendShareValue(b, v, text), ", "
	}
	return string(append(b, end...))
}

// appendShareValue appends what a value of the share adds to the group, such as +10.5 or max "a".
func (o *GroupOp) appendShareValue(b []byte, v *parsedValue, text string) []byte {
	switch {
	case v.kind == countKind:
		return append(b, "+1"...)
	case v.masked:
		b = append(append(b, v.Kind...), ' ')
		return o.aggregate.mask.Value("", v.shareValue(text)).AppendJSON(b)
	case v.kind == sumKind:
		if text[0] != '-' {
			b = append(b, '+')
		}
		return append(b, text...)
	default:
		b = append(append(b, v.Kind...), ' ')
		return v.shareValue(text).AppendJSON(b)
	}
}

// keepsExpired reports whether the share stays in its group permanently, because the item expired.
func (o *GroupOp) keepsExpired() bool { return o.Reason == ReasonExpired }

// shareValue parses a text of v in a share.
func (v *parsedValue) shareValue(text string) item.Value {
	if v.kind == sumKind {
		d, _ := decimal.Parse(text) // Plan made it
		return item.NumberValue(d)
	}
	member, _ := state.ParseSortable(text) // Plan made it
	return member
}
