package sqlite

import (
	"context"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

var _ view.ItemRowsStore = (*Store)(nil)

// ReplaceItemRows applies ws in one transaction: the contributions of the items, and the rows. A contribution records
// the rows of an item.
func (s *Store) ReplaceItemRows(ctx context.Context, t view.Target, ws []state.ItemRowsWrite) ([]view.Result, error) {
	return s.writeEach(ctx, t, len(ws), func(x *tx, i int) error { return x.replaceItemRows(&ws[i]) })
}

// replaceItemRows writes the contribution and the rows of one item. If the stored contribution is not the expected one,
// it returns errLost.
func (x *tx) replaceItemRows(w *state.ItemRowsWrite) error {
	c := state.ContributionWrite{Source: w.Source, Expected: w.Expected, CompareShares: true, Next: w.Next}
	if err := lostUnless(x.SetContribution(x.id, &c)); err != nil {
		return err
	}
	for i := range w.Puts {
		r := &w.Puts[i]
		if err := x.checkItem(r.Row, w.Source); err != nil {
			return err
		}
		if err := x.replaceRow(r.Row, w.Next.Version, w.Source, r.Attributes); err != nil {
			return err
		}
	}
	for _, row := range w.Deletes {
		if err := x.deleteItemRow(row, w.Source); err != nil {
			return err
		}
	}
	return nil
}

// checkItem returns an error if a row to put belongs to another sink or to another item.
func (x *tx) checkItem(r state.Row, source item.Key) error {
	owner, err := x.ownerOf(r)
	switch {
	case err != nil:
		return err
	case owner.foreign != nil:
		return owner.foreign
	case owner.Source != "" && owner.Source != source:
		return &view.CollisionError{View: x.target.View, Owner: owner.Source, Source: source, NotIdentified: true, RowKey: r}
	default:
		return nil
	}
}

// deleteItemRow deletes a row of an item. If the row belongs to another sink or another item, it stays.
func (x *tx) deleteItemRow(r state.Row, source item.Key) error {
	owner, err := x.ownerOf(r)
	if err != nil || owner.foreign != nil || owner.Source != source {
		return err
	}
	return x.deleteRow(r)
}
