package view

import (
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/state"
)

// Before returns the row that the op replaces, by the old image of c, the op's change. It returns false if there was no
// row. Before is for estimates of the cost of the write.
func (o *Op) Before(c *record.Change) (Mutation, bool) {
	if o.sink == nil || o.Step == Enter || o.Step == MoveTo {
		return Mutation{}, false
	}
	before, ok := o.sink.rowBefore(c)
	if !ok || before.keyText != o.rowText {
		return Mutation{}, false
	}
	m := o.Mutation
	m.Tombstone, m.Void, m.LikelyNew, m.Attributes = false, false, false, before.attributes
	return m, true
}

// Before returns the row that the item requested before the change c, by the old image, and the item's claim on this
// row. It returns false if the item requested no row.
func (o *ClaimOp) Before(c *record.Change) (state.Row, state.Claim, bool) {
	if o.sink == nil {
		return "", state.Claim{}, false
	}
	before, ok := o.sink.rowBefore(c)
	if !ok {
		return "", state.Claim{}, false
	}
	row, err := state.MakeRow(before.pk, before.sk)
	if err != nil {
		return "", state.Claim{}, false
	}
	claim := o.Claim
	claim.Source, claim.Version, claim.Time, claim.Attributes = c.Key, c.Version, timeOf(c), before.attributes
	return row, claim, true
}

// imageRow is the row of an image: its key, the key's text, and the attributes without the key.
type imageRow struct {
	pk, sk     item.Value
	keyText    string
	attributes []state.Column
}

// rowBefore returns the row of the old image. It returns false if the old image has no row.
func (s *Sink) rowBefore(c *record.Change) (imageRow, bool) {
	if !c.Old.Exists() {
		return imageRow{}, false
	}
	var buf keyBuffer
	location, err := s.locateRow(c, c.Old, &buf)
	if err != nil || !location.hasRow() {
		return imageRow{}, false
	}
	var row imageRow
	row.pk, row.sk, row.keyText = location.key.attributeValues(&pipeline.Delivery{})
	row.attributes, err = s.columns(nil, &template.Scope{Change: c, Item: c.Old})
	return row, err == nil
}

// PlannedWrite returns the write that an aggregate makes for the change c. ops are the planned ops of c. before is the
// contribution of the item before the change, by the old image. ok is false if nothing is written, or if ops belong to
// another kind of sink. PlannedWrite is for estimates of the cost of the write.
func PlannedWrite(c *record.Change, ops []pipeline.Op) (w state.GroupWrite, before state.Contribution, ok bool) {
	if len(ops) == 0 {
		return w, before, false
	}
	op, ok := ops[0].(*GroupOp)
	if !ok {
		return w, before, false
	}
	if c.Old.Exists() {
		shares, _, _ := op.aggregate.sharesOf(c, c.Old) // none if the image could not be counted
		for i := range shares {
			before.Shares = append(before.Shares, shares[i].Share)
		}
	}

	changes := itemChanges{key: c.Key, deliveries: []int{0}}
	changes.advance([]pipeline.Delivery{{Change: c, Ops: ops}}, before)
	if !changes.needsWrite() {
		return w, before, false
	}
	builder := deltaBuilder{deltas: op.aggregate.newDeltas()}
	if builder.build(&changes) != nil { // cannot happen, because Plan made the shares
		return w, before, false
	}
	w.Items, w.Groups = []state.ContributionWrite{changes.contributionWrite()}, builder.groupChanges()
	return w, before, true
}
