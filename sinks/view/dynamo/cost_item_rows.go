package dynamo

import (
	"fmt"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/view"
)

// costOfItemRows returns the cost of writing an item's contribution, and the rows that differ from the stored rows.
func costOfItemRows(c *record.Change, op *view.ItemRowsOp) Cost {
	if op.Idle() {
		return Cost{ReadUnits: 1, Why: "the contribution is read; nothing is written unless the item had rows"}
	}
	e := newEstimate(*op.Target)
	stored, contributionUnits := e.addOldRows(c, op)
	cost := Cost{ReadUnits: contributionUnits}
	planned := *op
	planned.Target = &e.target
	write := planned.WholeWrite(stored)
	actions, err := e.itemRowsActions(&write)
	if err != nil {
		return refusedCost(err)
	}
	const rowsInPart = dynamo.MaxActions - 1 // one action of each transaction writes the contribution
	rows := len(actions) - 1
	parts := (rows + rowsInPart - 1) / rowsInPart
	cost.WriteUnits = e.transactionUnits(actions)
	switch {
	case rows == 0:
		cost.WriteUnits /= 2 // without a transaction
		cost.Why = "1 conditional put of the contribution, read before: no row differs"
	case parts == 1:
		cost.Why = "a transaction of the contribution, read before, and " + plural(rows, "row")
	default:
		cost.WriteUnits += float64(parts-1) * 2 * writeUnits(dynamo.SizeOfItem(actions[0].Put.Item))
		cost.ReadUnits *= float64(parts)
		cost.Why = fmt.Sprintf("%d transactions of the contribution, read before each, and %s in all", parts,
			plural(rows, "row"))
	}
	return cost
}

// addOldRows notes that the item's rows before the change are stored, with their contribution. It returns the
// contribution, and the read units of the contribution.
func (e *estimate) addOldRows(c *record.Change, op *view.ItemRowsOp) (state.Contribution, float64) {
	oldOp := view.ItemRowsOp{Target: &e.target, Source: c.Key, Version: c.Version, Rows: op.Before()}
	oldWrite := oldOp.WholeWrite(state.Contribution{})
	actions, err := e.itemRowsActions(&oldWrite)
	wasStored := err == nil && len(oldOp.Rows) > 0
	if !wasStored {
		return state.Contribution{}, 1
	}
	e.addStored(actions...)
	return oldWrite.Next, readUnits(dynamo.SizeOfItem(actions[0].Put.Item))
}

// itemRowsActions returns the actions of w, as if they fitted into one transaction.
func (e *estimate) itemRowsActions(w *state.ItemRowsWrite) ([]dynamo.Action, error) {
	writer := itemRowsWriter{DB: e.db, target: e.target, write: w}
	return writer.actions()
}
