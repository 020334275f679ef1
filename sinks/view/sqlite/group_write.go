package sqlite

import (
	"context"

	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// MaxActions returns 0, because a transaction may have any size.
func (s *Store) MaxActions() int { return 0 }

// Contribute applies ws in one transaction: the contributions of the items, and the rows of their groups. A
// contribution records what an item counts for.
func (s *Store) Contribute(ctx context.Context, t view.Target, ws []state.GroupWrite) ([]view.Result, error) {
	return s.writeEach(ctx, t, len(ws), func(x *tx, i int) error { return x.contributeOne(&ws[i]) })
}

// contributeOne writes the contributions and groups of one write. It returns errLost if a contribution has changed.
func (x *tx) contributeOne(w *state.GroupWrite) error {
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
		if err := x.changeGroup(&w.Groups[i]); err != nil {
			return err
		}
	}
	return nil
}

// changeGroup changes the state and the row of one group. The error is permanent if the row belongs to another sink.
func (x *tx) changeGroup(c *state.GroupChange) error {
	g, err := x.Group(x.ctx, x.id, c.Row)
	if err == nil && !g.Exists() {
		err = x.checkOwned(c.Row)
	}
	if err != nil {
		return err
	}
	version, columns, exists, err := g.Change(x.ctx, c)
	switch {
	case err != nil:
		return err
	case !exists:
		return x.deleteRow(c.Row)
	}
	return x.replaceRow(c.Row, version, "", columns)
}
