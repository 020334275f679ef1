package view

import (
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/state"
)

// Before is the row that stands at the op's key before the change, as the change's old image says;
// false where it says that none does, or nothing. What it costs to replace can be told from it.
func (o *Op) Before(c *record.Change) (Mutation, bool) {
	if o.sink == nil || o.Step == Enter || o.Step == MoveTo {
		return Mutation{}, false
	}
	_, _, row, attributes, ok := o.sink.rowBefore(c)
	if !ok || row != o.row {
		return Mutation{}, false
	}
	m := o.Mutation
	m.Tombstone, m.Void, m.Fresh, m.Attributes = false, false, false, attributes
	return m, true
}

// Before is the row that the item asked for before the change, as its old image says, and
// what it claimed there; false where that says that it asked for none, or nothing.
func (o *ClaimOp) Before(c *record.Change) (state.Row, state.Claim, bool) {
	if o.sink == nil {
		return "", state.Claim{}, false
	}
	pk, sk, _, attributes, ok := o.sink.rowBefore(c)
	row, err := state.MakeRow(pk, sk)
	if !ok || err != nil {
		return "", state.Claim{}, false
	}
	claim := o.Claim
	claim.Source, claim.Version, claim.Time, claim.Attributes = c.Key, c.Version, timeOf(c), attributes
	return row, claim, true
}

// rowBefore is the key of the row of the old image, also as an op has it, and what is in it.
func (s *Sink) rowBefore(c *record.Change) (pk, sk item.Value, row string, attributes []state.Column, ok bool) {
	var room keyRoom
	was, err := s.place(c, c.Old, &room)
	if err != nil || was.reason != "" || !c.Old.Exists() {
		return pk, sk, "", nil, false
	}
	pk, sk, row = was.key.values(&pipeline.Delivery{})
	attributes, err = s.columns(nil, &template.Scope{Change: c, Item: c.Old})
	return pk, sk, row, attributes, err == nil
}
