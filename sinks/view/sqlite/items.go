package sqlite

import (
	"cmp"
	"context"
	"database/sql"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
	"github.com/tablewake/tablewake/sinks/view"
)

const (
	readSeats = `SELECT j.key, s.revision, s.holder, c.item, c.version, c.time, c.attributes
FROM json_each(?) j CROSS JOIN "_tws_seats" s CROSS JOIN "_tws_claims" c
WHERE s.target = ? AND s.row = j.value AND c.target = s.target AND c.row = s.row`

	readRevision = `SELECT revision FROM "_tws_seats" WHERE target = ? AND row = ?`

	writeSeat = `INSERT OR REPLACE INTO "_tws_seats" (target, row, revision, holder) VALUES (?, ?, ?, ?)`

	deleteSeat = `DELETE FROM "_tws_seats" WHERE target = ? AND row = ?`

	writeClaim = `INSERT OR REPLACE INTO "_tws_claims" (target, row, item, version, time, attributes) VALUES (?, ?, ?, ?, ?, ?)`

	deleteClaim = `DELETE FROM "_tws_claims" WHERE target = ? AND row = ? AND item = ?`
)

// Guards reads what is remembered of items.
func (s *Store) Guards(ctx context.Context, t view.Target, items []pipeline.Key) (gs []state.Guard, err error) {
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
		err := x.Rows(x.ctx, readSeats, []any{sqlite.List(rows), x.id}, func(r *sql.Rows) error {
			var i int
			var revision, owner string
			var found claimRow
			if err := r.Scan(&i, &revision, &owner, &found.source, &found.version, &found.time, &found.attributes); err != nil {
				return s.Failed("read", err)
			}
			c, err := found.claim()
			if err != nil {
				return s.Damaged("a claim on the row "+string(rows[i]), err)
			}
			rcs[i].Revision = revision
			if found.source == owner {
				rcs[i].Owner = c
			} else {
				rcs[i].Waiting = append(rcs[i].Waiting, c)
			}
			return nil
		})
		for i := 0; i < len(rows) && err == nil; i++ {
			rcs[i].Row = rows[i]
			if rcs[i].Revision == "" {
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
func (s *Store) Settle(ctx context.Context, t view.Target, ws []state.ItemWrite) ([]view.ItemResult, error) {
	return s.each(ctx, t, len(ws), func(x *tx, i int) error { return x.settle(&ws[i]) })
}

func (x *tx) settle(w *state.ItemWrite) error {
	ok, err := x.SetGuard(x.ctx, x.id, w.Source, w.Was, w.WasVoid, w.Guard)
	if err != nil {
		return err
	}
	if !ok {
		return errLost
	}
	for i := range w.Rows {
		if err := x.writeClaim(w.Source, &w.Rows[i]); err != nil {
			return err
		}
	}
	return nil
}

// writeClaim changes one claim on a row, and the row, if the claims are as they were read.
func (x *tx) writeClaim(source pipeline.Key, w *state.RowClaimsWrite) error {
	row := string(w.Row)
	var revision string
	if _, err := x.Row(x.ctx, readRevision, []any{x.id, row}, &revision); err != nil {
		return err
	}
	if revision != w.Was {
		return errLost
	}
	if w.Was == "" {
		// Nobody claimed it, and meanwhile another sink may have taken it.
		if foreign, err := x.foreign(w.Row); err != nil || foreign != nil {
			return cmp.Or(err, errLost)
		}
	}
	if err := x.claim(row, source, &w.Claim); err != nil {
		return err
	}
	if w.Revision == "" {
		if err := x.Exec(x.ctx, deleteSeat, x.id, row); err != nil {
			return err
		}
	} else if err := x.Exec(x.ctx, writeSeat, x.id, row, w.Revision, string(w.Owner.Source)); err != nil {
		return err
	}
	if w.Owner.Source == "" {
		return x.remove(w.Row)
	}
	return x.put(w.Row, w.Owner.Version, w.Owner.Source, w.Owner.Attributes)
}

// claim replaces what an item claims in a row.
func (x *tx) claim(row string, source pipeline.Key, c *state.Claim) error {
	if c.Source == "" {
		return x.Exec(x.ctx, deleteClaim, x.id, row, string(source))
	}
	r := rowOfClaim(c)
	return x.Exec(x.ctx, writeClaim, x.id, row, r.source, r.version, r.time, r.attributes)
}
