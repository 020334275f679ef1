package view

import (
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
)

// FirstWrite is what a planned change of an aggregate writes of an item that nothing is
// known of yet: what it costs, for one, can be told from it. False where it writes
// nothing then, or where ops are no aggregate's. A change that replaces what the item
// counted for writes the rows that this was in besides, unless they are the same.
func FirstWrite(c *pipeline.Change, ops []pipeline.Op) (GroupWrite, bool) {
	if len(ops) == 0 {
		return GroupWrite{}, false
	}
	op, ok := ops[0].(*GroupOp)
	if !ok {
		return GroupWrite{}, false
	}
	l := lane{key: c.Key, ds: []int{0}}
	l.advance([]pipeline.Delivery{{Change: c, Ops: ops}}, state.Contribution{})
	p := poster{tally: op.aggregate.tally()}
	if !l.writes() || p.post(&l) != nil { // Plan made the shares
		return GroupWrite{}, false
	}
	return GroupWrite{Items: []ContributionWrite{l.write()}, Groups: p.changes()}, true
}
