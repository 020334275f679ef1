package sqlite

import (
	"context"

	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// RowClaims reads the claims on each row. A claim is an item's request for the row. If a row has no claims, RowClaims
// also reads the owner of the row itself, because the row may belong to another sink.
func (s *Store) RowClaims(ctx context.Context, t view.Target, rows []state.Row) ([]view.RowClaims, error) {
	claims := make([]view.RowClaims, len(rows))
	err := s.withState(ctx, t, func(x *tx) error {
		found, err := x.RowClaims(x.id, rows)
		if err != nil {
			return err
		}
		for i, row := range rows {
			claims[i].RowClaims = found[i]
			if found[i].Revision != "" {
				continue
			}
			owner, err := x.ownerOf(row)
			if err != nil {
				return err
			}
			claims[i].Foreign = owner.foreign
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return claims, nil
}

// WriteItems applies ws in one transaction: the guards, the claims and the rows.
func (s *Store) WriteItems(ctx context.Context, t view.Target, ws []state.ItemWrite) ([]view.Result, error) {
	return s.writeEach(ctx, t, len(ws), func(x *tx, i int) error { return x.writeClaims(&ws[i]) })
}

// writeClaims writes the claims and rows of one item. It returns errLost if the guard or the claims have changed.
func (x *tx) writeClaims(w *state.ItemWrite) error {
	if err := lostUnless(x.SetClaims(x.id, w)); err != nil {
		return err
	}
	for i := range w.Rows {
		if err := x.putOwner(&w.Rows[i]); err != nil {
			return err
		}
	}
	return nil
}

// putOwner puts the row with the attributes of its owner's claim. It deletes the row if it has no owner. If the row had
// no claim when it was read, and another sink has written the row since then, putOwner returns errLost.
func (x *tx) putOwner(w *state.RowClaimsWrite) error {
	if w.Expected == "" {
		owner, err := x.ownerOf(w.Row)
		if err != nil {
			return err
		}
		if owner.foreign != nil {
			return errLost
		}
	}
	if w.Owner.Source == "" {
		return x.deleteRow(w.Row)
	}
	return x.replaceRow(w.Row, w.Owner.Version, w.Owner.Source, w.Owner.Attributes)
}
