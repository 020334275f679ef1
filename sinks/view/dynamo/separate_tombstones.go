package dynamo

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/view"
)

// Tombstones apart are in the state table, away from their rows. These rules keep both consistent:
//
//   - A stored row is newer than its tombstone. The transaction that creates a row checks the tombstone, and the
//     transaction that puts a tombstone deletes the row.
//   - So an update of a stored row needs no check of the tombstone: it is one put that replaces a lower version. The
//     put requires a stored row. Otherwise it would restore a row that another writer removed.
//   - A table that was restored to an earlier time has rows that are older than their tombstones. So a repeated
//     change that removes a row deletes the row even if the tombstone has the same or a newer version.
//   - Two transactions on one row and its tombstone conflict, whether they write or check them. DynamoDB refuses one of
//     the two. The refused transaction is tried again, and sees the writes of the other one.

// storedOlder is the condition that a row is stored, belongs to the target, and is older than the mutation.
const storedOlder = ownerMatches + " AND #tw.#v < :v"

// rowWrite is a mutation with its result and its transaction.
type rowWrite struct {
	mutation *view.Mutation
	result   *view.Result
	actions  [actionsPerRow]dynamo.Action // the action on the row, and the action on the tombstone

	rowRefused       bool // the condition on the row was not met
	tombstoneRefused bool // the condition on the tombstone was not met
}

const actionsPerRow = 2

// addRefusal adds the result of an unmet condition to r.result. If both conditions, on the row and on the tombstone,
// are not met, the first error is kept.
func (r *rowWrite) addRefusal(refusal view.Result) {
	if r.result.Err != nil {
		return
	}
	r.result.Err = refusal.Err
	r.result.Superseded = r.result.Superseded || refusal.Superseded
}

// writeApart writes one mutation, or the two mutations of a move.
func (w *rowWriter) writeApart(ctx context.Context, ms []view.Mutation, rs []view.Result) {
	var rows []rowWrite
	for i := range ms {
		row := rowWrite{mutation: &ms[i], result: &rs[i]}
		if err := w.setActions(&row); err != nil {
			rs[i].Err = err
			continue
		}
		rows = append(rows, row)
	}

	// The update of a stored row needs no transaction.
	isUpdate := len(rows) == 1 && !rows[0].mutation.LikelyNew && !rows[0].mutation.Tombstone
	if isUpdate {
		if isStored := w.update(ctx, &rows[0]); isStored {
			return
		}
	}
	w.writeTransaction(ctx, rows)
}

// writeTransaction writes rows and tombstones in one transaction. If the conditions of one row are not met, the other
// row is written alone.
func (w *rowWriter) writeTransaction(ctx context.Context, rows []rowWrite) {
	if len(rows) == 0 {
		return
	}
	actions := make([]dynamo.Action, 0, 2*actionsPerRow)
	for i := range rows {
		actions = append(actions, rows[i].actions[:]...)
	}
	err := w.Transact(ctx, actions)
	unmet, isRefused := errors.AsType[*dynamo.ConditionError](err)
	switch {
	case isRefused:
		w.writeTransaction(ctx, w.handleUnmet(ctx, rows, unmet))
	case state.IsPermanent(err) && len(rows) > 1:
		for i := range rows { // find the row that causes the error
			w.writeTransaction(ctx, rows[i:i+1])
		}
	default:
		for i := range rows {
			*rows[i].result = view.Result{Err: err}
		}
	}
}

// handleUnmet handles a transaction whose conditions were not met. It sets the results of the rows whose conditions
// were not met, and returns the other rows, which must be written again. If only the stored tombstone refused a
// removal, the stored row may still be older than the change. Then handleUnmet deletes the row.
func (w *rowWriter) handleUnmet(ctx context.Context, rows []rowWrite, unmet *dynamo.ConditionError) []rowWrite {
	w.addRefusals(rows, unmet)
	var notRefused []rowWrite
	for i := range rows {
		row := &rows[i]
		if !row.rowRefused && !row.tombstoneRefused {
			notRefused = append(notRefused, *row)
			continue
		}
		isRefusedRemoval := row.mutation.Tombstone && row.result.Err == nil
		if isRefusedRemoval && !row.rowRefused {
			w.deleteOlder(ctx, row)
		}
	}
	return notRefused
}

// addRefusals adds each unmet condition to the row that it belongs to.
func (w *rowWriter) addRefusals(rows []rowWrite, unmet *dynamo.ConditionError) {
	for _, u := range unmet.Unmet {
		row := &rows[u.ActionIndex/actionsPerRow]
		isRowAction := u.ActionIndex%actionsPerRow == 0
		if isRowAction {
			row.rowRefused = true
			row.addRefusal(w.refusedResult(u.Item, row.mutation))
		} else {
			row.tombstoneRefused = true
			row.addRefusal(w.refusal(view.StoredEntry{Tombstone: *dynamo.ParseTombstone(u.Item)}, row.mutation))
		}
	}
}

// deleteOlder deletes the stored row if it is older than the change that removes it. It changes nothing if there is no
// row, or a newer one.
func (w *rowWriter) deleteOlder(ctx context.Context, row *rowWrite) {
	err := w.Write(ctx, row.actions[0])
	if _, refused := errors.AsType[*dynamo.ConditionError](err); !refused { // if it is refused, there is no older row
		row.result.Err = err
	}
}

// update puts a row on condition that a lower version of the row is stored. It returns false if no row is stored.
func (w *rowWriter) update(ctx context.Context, row *rowWrite) (isStored bool) {
	put := *row.actions[0].Put
	put.ConditionExpression, put.ExpressionAttributeNames = aws.String(w.storedOlder.Text), w.storedOlder.Names
	err := w.Write(ctx, dynamo.Action{Put: &put})
	unmet, refused := errors.AsType[*dynamo.ConditionError](err)
	if !refused {
		row.result.Err = err
		return true
	}
	stored := unmet.Unmet[0].Item
	if stored == nil {
		return false
	}
	*row.result = w.refusedResult(stored, row.mutation)
	return true
}

// setActions sets the actions of a row: put the row and check its tombstone, or delete the row and put its tombstone.
// It returns an error if no item of DynamoDB can hold the row.
func (w *rowWriter) setActions(row *rowWrite) error {
	m := row.mutation
	put, err := w.putAction(m) // a removal also needs it, for the check of the key
	if err != nil {
		return err
	}
	stateRow, err := state.MakeRow(m.PK, m.SK)
	if err != nil {
		return err
	}

	tombstone := m.TombstoneAt(m.Version)
	if m.Tombstone {
		ref := dynamo.Ref{Table: w.target.Name, Key: keyItem(w.target.Table, m.PK, m.SK)}
		row.actions[0] = dynamo.Delete(ref, w.condition(m))
		row.actions[1] = w.SetTombstone(w.target.State(), stateRow, tombstone)
	} else {
		row.actions[0], row.actions[1] = put, w.CheckTombstone(w.target.State(), stateRow, tombstone)
	}
	return nil
}
