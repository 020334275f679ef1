package sqlite

import (
	"cmp"
	"context"
	"iter"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
	"github.com/tablewake/tablewake/sinks/view"
)

// Guards reads the guards of items.
func (s *Store) Guards(ctx context.Context, t view.Target, items []item.Key) (gs []state.Guard, err error) {
	err = s.withTarget(ctx, t, func(w *sqlite.Writer, id int64) error {
		gs, err = w.Guards(context.WithoutCancel(ctx), id, items)
		return err
	})
	return gs, err
}

// RowClaims reads rows with all their claims.
func (s *Store) RowClaims(ctx context.Context, t view.Target, rows []state.Row) ([]view.RowClaims, error) {
	rcs := make([]view.RowClaims, len(rows))
	err := s.withState(ctx, t, func(x *tx) error {
		found, err := x.RowClaims(x.ctx, x.id, rows)
		for i := 0; i < len(rows) && err == nil; i++ {
			rcs[i].RowClaims = found[i]
			if found[i].Revision == "" {
				rcs[i].Foreign, err = x.checkOwner(rows[i])
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return rcs, nil
}

// ContestedRows yields the rows of a view on which claims wait, as view.ClaimLister defines.
func (s *Store) ContestedRows(ctx context.Context, t view.Target) iter.Seq2[state.ContestedRow, error] {
	return s.DB.ContestedRows(ctx, t.State())
}

// Settle applies ws in one transaction: claims, guards and rows.
func (s *Store) Settle(ctx context.Context, t view.Target, ws []state.ItemWrite) ([]view.Result, error) {
	return s.writeEach(ctx, t, len(ws), func(x *tx, i int) error { return x.settleOne(&ws[i]) })
}

// settleOne writes the claims and rows of one item. It returns errLost if its guard or claims have changed.
func (x *tx) settleOne(w *state.ItemWrite) error {
	ok, err := x.SetClaims(x.ctx, x.id, w)
	if err != nil {
		return err
	}
	if !ok {
		return errLost
	}
	for i := range w.Rows {
		if err := x.putOwner(&w.Rows[i]); err != nil {
			return err
		}
	}
	return nil
}

// putOwner puts the row of its owner, or deletes the row if no claim is left.
func (x *tx) putOwner(w *state.RowClaimsWrite) error {
	if w.Was == "" {
		// The row had no claim, so another sink may have written it since.
		if foreign, err := x.checkOwner(w.Row); err != nil || foreign != nil {
			return cmp.Or(err, errLost)
		}
	}
	if w.Owner.Source == "" {
		return x.deleteRow(w.Row)
	}
	return x.replaceRow(w.Row, w.Owner.Version, w.Owner.Source, w.Owner.Attributes)
}
