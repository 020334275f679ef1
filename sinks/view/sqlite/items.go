package sqlite

import (
	"cmp"
	"context"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
	"github.com/tablewake/tablewake/sinks/view"
)

// Guards reads what is remembered of items.
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
				rcs[i].Foreign, err = x.foreign(rows[i])
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return rcs, nil
}

// Settle applies ws in one transaction: claims, guards and rows.
func (s *Store) Settle(ctx context.Context, t view.Target, ws []state.ItemWrite) ([]view.Result, error) {
	return s.each(ctx, t, len(ws), func(x *tx, i int) error { return x.settle(&ws[i]) })
}

func (x *tx) settle(w *state.ItemWrite) error {
	ok, err := x.SetClaims(x.ctx, x.id, w)
	if err != nil {
		return err
	}
	if !ok {
		return errLost
	}
	for i := range w.Rows {
		if err := x.setRow(&w.Rows[i]); err != nil {
			return err
		}
	}
	return nil
}

// setRow puts the row of its owner, or takes it away.
func (x *tx) setRow(w *state.RowClaimsWrite) error {
	if w.Was == "" {
		// Nobody claimed it, and meanwhile another sink may have taken it.
		if foreign, err := x.foreign(w.Row); err != nil || foreign != nil {
			return cmp.Or(err, errLost)
		}
	}
	if w.Owner.Source == "" {
		return x.remove(w.Row)
	}
	return x.put(w.Row, w.Owner.Version, w.Owner.Source, w.Owner.Attributes)
}
