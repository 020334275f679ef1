package dynamo

import (
	"context"
	"errors"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/view"
)

var _ view.ItemRowsStore = (*Store)(nil)

// ReplaceItemRows applies each write in one transaction: the contribution of the item, which records the item's rows,
// and the rows. A write that changes no row is only a put of the contribution.
func (s *Store) ReplaceItemRows(ctx context.Context, t view.Target, ws []state.ItemRowsWrite) ([]view.Result, error) {
	if len(ws) == 0 {
		return nil, nil
	}
	withRows := witnessesOf(ws, func(w *state.ItemRowsWrite) (item.Key, bool) {
		return w.Source, len(w.Next.Shares) > 0
	})
	if err := s.beforeWrite(ctx, t, withRows); err != nil {
		return nil, err
	}
	return runEach(s.DB, len(ws), func(i int) (lost bool, err error) {
		w := itemRowsWriter{DB: s.DB, target: t, write: &ws[i]}
		return w.run(ctx)
	})
}

// itemRowsWriter writes one ItemRowsWrite.
type itemRowsWriter struct {
	*dynamo.DB
	target view.Target
	write  *state.ItemRowsWrite
}

// run sends the transaction until it succeeds or fails. The next try leaves out the delete of a row that belongs to
// another sink or another item. lost is true if the contribution has changed since it was read.
func (w *itemRowsWriter) run(ctx context.Context) (lost bool, err error) {
	actions, err := w.actions()
	if err != nil {
		return false, err
	}
	for {
		if len(actions) == 1 {
			err = w.Write(ctx, actions[0])
		} else {
			err = w.Transact(ctx, actions)
		}
		unmet, refused := errors.AsType[*dynamo.ConditionError](err)
		if !refused {
			return false, err
		}
		contributionChanged := unmet.Unmet[0].ActionIndex == 0
		if contributionChanged {
			return true, nil
		}
		if actions, err = w.dropForeignDeletes(actions, unmet); err != nil {
			return false, err
		}
	}
}

// actions returns the put of the contribution, then the puts of rows, then the deletes of rows.
func (w *itemRowsWriter) actions() ([]dynamo.Action, error) {
	contribution, err := w.SetContribution(w.target.State(),
		&state.ContributionWrite{Source: w.write.Source, Expected: w.write.Expected, CompareShares: true, Next: w.write.Next})
	if err != nil {
		return nil, err
	}
	own := withOwner(w.target, "attribute_not_exists(#pk) OR ("+ownerMatches+" AND #tw.#src = :src)", "#pk", w.target.PK,
		"#src", metaSource)
	own.Values[":src"] = dynamo.S(string(w.write.Source))

	actions := make([]dynamo.Action, 0, 1+len(w.write.Puts)+len(w.write.Deletes))
	actions = append(actions, contribution)
	for i := range w.write.Puts {
		put, err := w.putAction(&w.write.Puts[i], own)
		if err != nil {
			return nil, err
		}
		actions = append(actions, put)
	}
	for _, row := range w.write.Deletes {
		ref, err := refOf(w.target.Table, row)
		if err != nil {
			return nil, err
		}
		actions = append(actions, dynamo.Delete(ref, own))
	}
	return actions, nil
}

func (w *itemRowsWriter) putAction(r *state.RowPut, own dynamo.Condition) (dynamo.Action, error) {
	pk, sk, err := decodeRow(w.target.Table, r.Row)
	if err != nil {
		return dynamo.Action{}, err
	}
	m := view.Mutation{PK: pk, SK: sk, Source: w.write.Source, Attributes: r.Attributes}
	return rowPut(w.target, tableItem(w.target, &m, w.write.Next.Version.String(), 0), own)
}

// dropForeignDeletes handles the unmet conditions of rows. It returns the actions without the deletes of rows that
// belong to another sink or another item. It returns the error of [itemRowsWriter.unmetError], if there is one.
func (w *itemRowsWriter) dropForeignDeletes(
	actions []dynamo.Action, unmet *dynamo.ConditionError,
) ([]dynamo.Action, error) {
	foreign := make(map[int]bool, len(unmet.Unmet)) // whether an action is on a foreign row, by index
	for _, u := range unmet.Unmet {
		if err := w.unmetError(&actions[u.ActionIndex], u); err != nil {
			return nil, err
		}
		foreign[u.ActionIndex] = true
	}

	var rest []dynamo.Action
	for i := range actions {
		if !foreign[i] {
			rest = append(rest, actions[i])
		}
	}
	return rest, nil
}

// unmetError returns the error of the action a on a row that belongs to another sink or another item; nil for a delete,
// which is not needed. If the row belongs to the sink but has another birth, it belongs to another output of the sink,
// and a delete has an error too.
func (w *itemRowsWriter) unmetError(a *dynamo.Action, u dynamo.Unmet) error {
	stored, ok := metaOf(u.Item)
	isOtherBirth := ok && stored.sameSink(w.target) && !stored.belongsTo(w.target)
	isDelete := a.Put == nil
	switch {
	case isDelete && isOtherBirth:
		return notOwned(w.target, "", stored)
	case isDelete:
		return nil
	}
	row := w.write.Puts[u.ActionIndex-1].Row // the puts follow the action on the contribution
	if stored.belongsTo(w.target) {
		return &view.CollisionError{View: w.target.View, Owner: item.Key(stored.source), Source: w.write.Source,
			NotIdentified: true, RowKey: row}
	}
	return notOwned(w.target, row, stored)
}
