package view

import (
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/state"
)

// Before returns the row that the op replaces, by the old image of its change. It returns false if there was no row.
// Before is for estimates of the cost of the write.
func (o *Op) Before(c *record.Change) (Mutation, bool) {
	if o.sink == nil || o.Step == Enter || o.Step == MoveTo {
		return Mutation{}, false
	}
	_, _, row, attributes, ok := o.sink.rowBefore(c)
	if !ok || row != o.rowText {
		return Mutation{}, false
	}
	m := o.Mutation
	m.Tombstone, m.Void, m.LikelyNew, m.Attributes = false, false, false, attributes
	return m, true
}

// Before returns the row that the item requested before the change, by the old image. It also returns the item's claim
// on this row. It returns false if the item requested no row.
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

// rowBefore returns the row of the old image: its key, the key's text, and its attributes. ok is false if the old image
// has no row.
func (s *Sink) rowBefore(c *record.Change) (pk, sk item.Value, row string, attributes []state.Column, ok bool) {
	var buf keyBuffer
	before, err := s.locateRow(c, c.Old, &buf)
	if err != nil || before.reason != "" || !c.Old.Exists() {
		return pk, sk, "", nil, false
	}
	pk, sk, row = before.key.attributeValues(&pipeline.Delivery{})
	attributes, err = s.columns(nil, &template.Scope{Change: c, Item: c.Old})
	return pk, sk, row, attributes, err == nil
}

// PlannedWrite returns the write of a planned change of an aggregate. It also returns the contribution of the item
// before the change, by the old image. ok is false if nothing is written, or if ops belong to another kind of sink.
// PlannedWrite is for estimates of the cost of the write.
func PlannedWrite(c *record.Change, ops []pipeline.Op) (w state.GroupWrite, before state.Contribution, ok bool) {
	if len(ops) == 0 {
		return w, before, false
	}
	op, ok := ops[0].(*GroupOp)
	if !ok {
		return w, before, false
	}
	if c.Old.Exists() {
		shares, _, err := op.aggregate.sharesOf(c, c.Old)
		for i := range shares {
			before.Shares = append(before.Shares, shares[i].Share)
		}
		if err != nil {
			before.Shares = nil // the old image could not be counted
		}
	}
	changes := itemChanges{key: c.Key, deliveries: []int{0}}
	changes.advance([]pipeline.Delivery{{Change: c, Ops: ops}}, before)
	builder := deltaBuilder{deltas: op.aggregate.newDeltas()}
	if !changes.needsWrite() || builder.build(&changes) != nil { // Plan made the shares, so there is no error
		return w, before, false
	}
	return state.GroupWrite{Items: []state.ContributionWrite{changes.contributionWrite()}, Groups: builder.groupChanges()},
		before, true
}
