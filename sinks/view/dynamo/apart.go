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
//   - So an update of a stored row needs no tombstone: it is one put over a lower version. The put requires the
//     stored row. Otherwise it would restore a row that another writer removed.
//   - A table that was restored to an earlier time has rows that are older than their tombstones. So a repeated
//     change that removes a row deletes the row even if the tombstone has the same or a newer version.
//   - Two transactions on one row and its tombstone conflict, whichever of the two they write or check. DynamoDB
//     refuses one, which is tried again and sees what the other wrote.

// storedOlder is the condition on a row that it is stored, belongs to the target, and is older.
const storedOlder = owned + " AND #tw.#v < :v"

// rowWrite is a mutation, its result, and the two actions of its transaction: the first on the row, the second on
// its tombstone.
type rowWrite struct {
	m       *view.Mutation
	r       *view.Result
	actions [2]dynamo.Action
}

// writeApart writes one mutation, or the two of a change that moves its row to another key.
func (w *writer) writeApart(ctx context.Context, ms []view.Mutation, rs []view.Result) {
	var rows []rowWrite
	for i := range ms {
		row := rowWrite{m: &ms[i], r: &rs[i]}
		if err := w.plan(&row); err != nil {
			rs[i].Err = err
			continue
		}
		rows = append(rows, row)
	}
	if len(rows) == 1 && !rows[0].m.Fresh && !rows[0].m.Tombstone && w.putOver(ctx, &rows[0]) {
		return
	}
	w.writeTogether(ctx, rows)
}

// writeTogether writes rows and tombstones in one transaction. If a newer version refuses one row,
// the other one is written by itself.
func (w *writer) writeTogether(ctx context.Context, rows []rowWrite) {
	for len(rows) > 0 {
		actions := make([]dynamo.Action, 0, 4)
		for i := range rows {
			actions = append(actions, rows[i].actions[:]...)
		}
		err := w.Transact(ctx, actions)
		if unmet, refused := errors.AsType[*dynamo.ConditionError](err); refused {
			rows = w.setRefused(ctx, rows, unmet)
			continue
		}
		if state.IsPermanent(err) && len(rows) > 1 {
			for i := range rows { // one of them is at fault
				w.writeTogether(ctx, rows[i:i+1])
			}
			return
		}
		for i := range rows {
			*rows[i].r = view.Result{Err: err}
		}
		return
	}
}

// setRefused sets the results of the rows whose conditions are not met, and returns the other rows. It also deletes
// an older row whose removal was refused for its tombstone alone.
func (w *writer) setRefused(ctx context.Context, rows []rowWrite, unmet *dynamo.ConditionError) []rowWrite {
	refused, rowRefused := make([]bool, len(rows)), make([]bool, len(rows))
	for _, u := range unmet.Unmet {
		i := u.Action / len(rows[0].actions)
		row := &rows[i]
		var r view.Result
		if u.Action%len(row.actions) == 0 {
			r = w.refused(u.Item, row.m)
			rowRefused[i] = true
		} else {
			var changed bool
			if changed, r.Superseded = tombstoneOf(row.m).CompareStored(u.Item); changed {
				r.Err = errChanged
			}
		}
		// Either of row and tombstone may be newer than the mutation.
		if row.r.Err == nil {
			row.r.Err, row.r.Superseded = r.Err, row.r.Superseded || r.Superseded
		}
		refused[i] = true
	}
	var rest []rowWrite
	for i := range rows {
		switch row := &rows[i]; {
		case !refused[i]:
			rest = append(rest, *row)
		case row.m.Tombstone && !rowRefused[i] && row.r.Err == nil:
			w.deleteOlder(ctx, row)
		}
	}
	return rest
}

// deleteOlder deletes a row that is older than the change that removes it. It changes nothing if there is no row,
// or a newer one.
func (w *writer) deleteOlder(ctx context.Context, row *rowWrite) {
	err := w.Write(ctx, row.actions[0])
	if _, refused := errors.AsType[*dynamo.ConditionError](err); !refused { // else the row is newer
		row.r.Err = err
	}
}

// putOver puts a row over a lower version of it. It returns false if there is no row.
func (w *writer) putOver(ctx context.Context, row *rowWrite) bool {
	put := *row.actions[0].Put
	put.ConditionExpression, put.ExpressionAttributeNames = aws.String(storedOlder), w.stored.Names
	err := w.Write(ctx, dynamo.Action{Put: &put})
	unmet, refused := errors.AsType[*dynamo.ConditionError](err)
	switch {
	case !refused:
		*row.r = view.Result{Err: err}
	case unmet.Unmet[0].Item == nil:
		return false
	default:
		*row.r = w.refused(unmet.Unmet[0].Item, row.m)
	}
	return true
}

// plan sets the actions: put the row and check its tombstone, or delete the row and put its tombstone. It returns
// an error if no item of DynamoDB can hold the row.
func (w *writer) plan(row *rowWrite) error {
	m := row.m
	put, err := w.put(m)
	if err != nil {
		return err
	}
	name, err := state.MakeRow(m.PK, m.SK)
	if err != nil {
		return err
	}
	row.actions[0] = put
	if !m.Tombstone {
		row.actions[1] = w.CheckTombstone(w.target.State(), name, tombstoneOf(m))
		return nil
	}
	row.actions[0] = dynamo.Delete(dynamo.Ref{Table: w.target.Name, Key: keyOf(w.target.Table, m.PK, m.SK)}, w.over(m))
	row.actions[1] = w.SetTombstone(w.target.State(), name, tombstoneOf(m))
	return nil
}

// tombstoneOf is the tombstone of a mutation, as it would be.
func tombstoneOf(m *view.Mutation) dynamo.Tombstone {
	return dynamo.Tombstone{Version: m.Version.String(), Source: m.Source, Void: m.Void}
}
