package sqlite

import (
	"context"
	"database/sql"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
)

// Contributions reads what items count for, in their order.
func (w *Writer) Contributions(ctx context.Context, target int64, items []pipeline.Key) ([]state.Contribution, error) {
	const q = `SELECT j.key, c.version, c.void, c.shares FROM json_each(?) j CROSS JOIN "_tws_contributions" c WHERE c.target = ? AND c.item = j.value`
	cs := make([]state.Contribution, len(items))
	err := w.Rows(ctx, q, []any{List(items), target}, func(rows *sql.Rows) error {
		var i int
		var version string
		var shares sql.RawBytes
		var void bool
		if err := rows.Scan(&i, &version, &void, &shares); err != nil {
			return w.db.Failed("read", err)
		}
		v, err := pipeline.ParseVersion(version)
		if err == nil {
			cs[i], err = state.ParseContribution(v, shares)
			cs[i].Void = void
		}
		if err != nil {
			return w.db.Damaged("the contribution of item "+string(items[i]), err)
		}
		return nil
	})
	return cs, err
}

// SetContribution replaces what an item counts for, within a transaction; false where
// it is not as it was read, and nothing is changed.
func (w *Writer) SetContribution(ctx context.Context, target int64, c *state.ContributionWrite) (bool, error) {
	w.buf = c.Now.AppendShares(w.buf[:0])
	var n int64
	var err error
	if c.Was.IsZero() {
		n, err = w.Changes(ctx, `INSERT INTO "_tws_contributions" (target, item, version, void, shares, written) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			target, string(c.Source), c.Now.Version.String(), c.Now.Void, w.buf, written(len(c.Now.Shares) == 0))
	} else {
		n, err = w.Changes(ctx, `UPDATE "_tws_contributions" SET version = ?, void = ?, shares = ?, written = ? WHERE target = ? AND item = ? AND version = ? AND void = ?`,
			c.Now.Version.String(), c.Now.Void, w.buf, written(len(c.Now.Shares) == 0), target, string(c.Source), c.Was.String(), c.WasVoid)
	}
	return n > 0, err
}
