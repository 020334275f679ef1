package dynamo

import (
	"fmt"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/view"
)

// costOfItemRows returns the cost of writing an item's contribution, and those of its rows that differ from the stored
// rows.
func costOfItemRows(c *record.Change, op *view.ItemRowsOp) Cost {
	if op.Idle() {
		return Cost{ReadUnits: 1, Why: "the contribution is read; nothing is written unless the item had rows"}
	}
	t := withBirth(*op.Target)
	planned := *op
	planned.Target = &t
	storedSizes := make(sizes)
	cost := Cost{ReadUnits: 1}
	oldOp := view.ItemRowsOp{Target: &t, Source: c.Key, Version: c.Version, Rows: op.Before()}
	contribution := state.Contribution{}
	if len(oldOp.Rows) > 0 {
		oldWrite := oldOp.WholeWrite(contribution)
		if actions, err := itemRowsActions(t, &oldWrite); err == nil { // otherwise the rows were never stored
			storedSizes.addPuts(t.Table, actions)
			cost.ReadUnits, contribution = readUnits(dynamo.SizeOfItem(actions[0].Put.Item)), oldWrite.Next
		}
	}
	write := planned.WholeWrite(contribution)
	actions, err := itemRowsActions(t, &write)
	switch {
	case err != nil:
		return refusedCost(err)
	case len(actions) == 1:
		cost.WriteUnits, cost.Why = storedSizes.transactionUnits(t.Table, actions)/2,
			"1 conditional put of the contribution, read before: no row differs"
	default:
		cost.WriteUnits = storedSizes.transactionUnits(t.Table, actions)
		cost.Why = "a transaction of the contribution, read before, and " + plural(len(actions)-1, "row")
	}
	if parts := (len(actions) + dynamo.MaxActions - 3) / (dynamo.MaxActions - 1); parts > 1 {
		cost.WriteUnits += float64(parts-1) * 2 * writeUnits(dynamo.SizeOfItem(actions[0].Put.Item))
		cost.Why = fmt.Sprintf("%d transactions of the contribution, read before each, and %s in all", parts,
			plural(len(actions)-1, "row"))
		cost.ReadUnits *= float64(parts)
	}
	return cost
}

// itemRowsActions returns the actions of one item's write, as if they fitted into one transaction.
func itemRowsActions(t view.Target, w *state.ItemRowsWrite) ([]dynamo.Action, error) {
	writer := itemRowsWriter{DB: offlineDB(), target: t, write: w}
	return writer.actions()
}
