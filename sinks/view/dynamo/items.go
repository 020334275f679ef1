package dynamo

import (
	"context"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/view"
)

var _ view.ItemStore = (*Store)(nil)

// Guards reads what is remembered of items.
func (s *Store) Guards(ctx context.Context, t view.Target, items []item.Key) ([]state.Guard, error) {
	return s.DB.Guards(ctx, t.State(), items)
}

// RowClaims reads the claims on rows, and of those that nobody claims the rows themselves, which may be another
// sink's.
func (s *Store) RowClaims(ctx context.Context, t view.Target, rows []state.Row) ([]view.RowClaims, error) {
	found, err := s.DB.RowClaims(ctx, t.State(), rows)
	if err != nil {
		return nil, err
	}
	all := make([]view.RowClaims, len(rows))
	var free []int // indexes of rows
	var refs []dynamo.Ref
	for i := range found {
		all[i].RowClaims = found[i]
		if found[i].Revision != "" {
			continue
		}
		ref, err := refOf(t.Table, rows[i])
		if err != nil {
			return nil, err
		}
		free, refs = append(free, i), append(refs, ref)
	}
	stored, err := s.Get(ctx, refs)
	if err != nil {
		return nil, err
	}
	for n, i := range free {
		if stored[n] != nil {
			if all[i].Foreign, err = foreignTo(t, rows[i], stored[n]); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// foreignTo says that a row belongs to another sink; nil where it does not. The error is that of a
// row of another birth.
func foreignTo(t view.Target, row state.Row, item dynamo.Item) (*view.ForeignRowError, error) {
	m, _ := markOf(item)
	switch {
	case m.of(t):
		return nil, nil
	case m.ofSink(t):
		return nil, refused(t, row, m)
	}
	return foreign(t, row, m), nil
}

// transactionOf is the transaction of what was merged: the actions on what is remembered of items, what each of them
// is on, and behind them the actions on the rows.
func transactionOf(t view.Target, m *dynamo.MergedWrite) (all []dynamo.Action, on []string, err error) {
	all, on = m.Actions()
	for i := range m.Rows() {
		row, err := rowAction(t, &m.Rows()[i])
		if err != nil {
			return nil, nil, err
		}
		all, on = append(all, row), append(on, "a row")
	}
	return all, on, nil
}

// rowAction puts the row of its owner, or takes it away, where nothing is or where it is the view's. What keeps it
// from being undone is the seat and the guard, beside which it is written.
func rowAction(t view.Target, r *dynamo.RowChange) (dynamo.Action, error) {
	ref, err := refOf(t.Table, r.Row)
	if err != nil {
		return dynamo.Action{}, err
	}
	ours := ownedBy(t, "attribute_not_exists(#pk) OR ("+owned+")", "#pk", t.PK)
	if r.Owner.Source == "" {
		return dynamo.Delete(ref, ours), nil
	}
	pk, sk, _ := r.Row.Decode() // refOf has read it
	m := view.Mutation{PK: pk, SK: sk, Source: r.Owner.Source, Attributes: r.Owner.Attributes}
	return dynamo.Put(t.Name, tableItem(t, &m, r.Owner.Version.String(), 0), ours), nil
}
