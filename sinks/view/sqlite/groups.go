package sqlite

import (
	"context"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
	"github.com/tablewake/tablewake/sinks/view"
)

// MaxActions is 0: a transaction may be of any size.
func (s *Store) MaxActions() int { return 0 }

// Contributions reads what items count for.
func (s *Store) Contributions(ctx context.Context, t view.Target, items []item.Key) (cs []state.Contribution, err error) {
	err = s.withTarget(ctx, t, func(w *sqlite.Writer, id int64) error {
		cs, err = w.Contributions(context.WithoutCancel(ctx), id, items)
		return err
	})
	return cs, err
}

// Contribute applies ws in one transaction: contributions, and the rows of their groups.
func (s *Store) Contribute(ctx context.Context, t view.Target, ws []state.GroupWrite) ([]view.Result, error) {
	return s.each(ctx, t, len(ws), func(x *tx, i int) error { return x.contribute(&ws[i]) })
}

func (x *tx) contribute(w *state.GroupWrite) error {
	for i := range w.Items {
		ok, err := x.SetContribution(x.ctx, x.id, &w.Items[i])
		if err != nil {
			return err
		}
		if !ok {
			return errLost
		}
	}
	for i := range w.Groups {
		if err := x.group(&w.Groups[i]); err != nil {
			return err
		}
	}
	return nil
}

// group changes what is known of one group, and its row. The error is permanent where the row belongs to another sink.
func (x *tx) group(c *state.GroupChange) error {
	g, err := x.Group(x.ctx, x.id, c.Row)
	if err == nil && !g.Exists() {
		err = x.refused(c.Row)
	}
	if err != nil {
		return err
	}
	version, columns, exists, err := g.Change(x.ctx, c)
	switch {
	case err != nil:
		return err
	case !exists:
		return x.remove(c.Row)
	}
	return x.put(c.Row, version, "", columns)
}
