package view

import (
	"strconv"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
)

// GroupOp is one share that an item has after a change, or says why it has none.
// Together the ops of a change replace what the item counted for.
type GroupOp struct {
	Share  state.Share // zero: the item counts nowhere
	Reason string      // why it counts nowhere: [ReasonWhen], [ReasonSparse], [ReasonRemoved], [ReasonExpired] or that it can't be counted

	aggregate *Aggregate
	shown     string // the group's key as people are shown it, where a mask decides
	shard     int
	earlier   bool  // the item may have counted for something before the change
	flaw      error // the item can't be counted: once what it counted for is taken out the change fails with it; nil: none
}

var _ pipeline.Op = (*GroupOp)(nil)

// Target is the aggregate that the op is of.
func (o *GroupOp) Target() Target { return o.aggregate.target }

// KeyText is the group's key as people are shown it, with what is hidden masked; ""
// where the item counts nowhere.
func (o *GroupOp) KeyText() string {
	switch {
	case o.Share.Group == "":
		return ""
	case o.shown != "":
		return o.shown
	}
	return string(o.aggregate.target.appendRow(nil, o.Share.Group))
}

// Row is the row that the share counts in, with its shard; "" where the item counts nowhere.
func (o *GroupOp) Row() state.Row {
	if o.Share.Group == "" {
		return ""
	}
	return o.aggregate.shardRow(o.Share.Group, o.shard)
}

// String is a line such as: count in group PK="REVENUE#EUR" SK="2026-01-02":
// revenue +10.5, orders +1 (replaces what the item counted for).
func (o *GroupOp) String() string {
	if o.Share.Group == "" {
		if o.Reason == ReasonExpired {
			return "keep what the item counted for (" + o.Reason + ")"
		}
		if o.flaw != nil {
			return "count nowhere (the change goes to dead letters: " + o.flaw.Error() + "; what the item counted for is taken out)"
		}
		return "count nowhere (" + o.Reason + "; what the item counted for is taken out)"
	}
	b := append(make([]byte, 0, 128), "count in group "...)
	b = append(b, o.KeyText()...)
	if n := o.aggregate.shards; n > 1 {
		b = append(b, " shard "...)
		b = strconv.AppendInt(b, int64(o.shard), 10)
	}
	separator := ": "
	for i := range o.aggregate.values {
		v := &o.aggregate.values[i]
		text := o.Share.Values[v.at]
		if text == "" && v.of != count {
			continue
		}
		b = append(append(b, separator...), v.Name...)
		b = append(b, ' ')
		separator = ", "
		switch {
		case v.of == count:
			b = append(b, "+1"...)
		case v.hidden:
			b = append(append(b, v.Of...), ' ')
			b = o.aggregate.mask.Value("", v.shared(text)).AppendJSON(b)
		case v.of == sum:
			if text[0] != '-' {
				b = append(b, '+')
			}
			b = append(b, text...)
		default:
			b = append(append(b, v.Of...), ' ')
			b = v.shared(text).AppendJSON(b)
		}
	}
	return string(append(b, " (replaces what the item counted for)"...))
}

// shared is the value whose text a share has.
func (v *value) shared(text string) item.Value {
	if v.of == sum {
		d, _ := decimal.Parse(text) // Plan made it
		return item.NumberValue(d)
	}
	member, _ := state.ParseSortable(text) // Plan made it
	return member
}
