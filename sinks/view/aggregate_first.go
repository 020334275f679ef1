package view

import (
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// PlannedWrite is what a planned change of an aggregate writes of an item that counted for what
// the change's old image says, and for nothing where that says nothing: what it costs, for
// one, can be told from it. before is what the item counted for. False where it writes nothing
// then, or where ops are no aggregate's.
func PlannedWrite(c *record.Change, ops []pipeline.Op) (w state.GroupWrite, before state.Contribution, ok bool) {
	if len(ops) == 0 {
		return w, before, false
	}
	op, ok := ops[0].(*GroupOp)
	if !ok {
		return w, before, false
	}
	if c.Old.Exists() {
		shares, _, err := op.aggregate.shares(c, c.Old)
		for i := range shares {
			before.Shares = append(before.Shares, shares[i].Share)
		}
		if err != nil {
			before.Shares = nil // it could not be counted
		}
	}
	changes := itemChanges{key: c.Key, ds: []int{0}}
	changes.advance([]pipeline.Delivery{{Change: c, Ops: ops}}, before)
	p := poster{tally: op.aggregate.tally()}
	if !changes.writes() || p.post(&changes) != nil { // Plan made the shares
		return w, before, false
	}
	return state.GroupWrite{Items: []state.ContributionWrite{changes.write()}, Groups: p.changes()}, before, true
}
