package sqlite

import (
	"context"

	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
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
		if err := lostUnless(x.SetContribution(x.id, &w.Items[i])); err != nil {
			return err
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
	g, err := x.Group(x.id, c.Row)
	if err == nil && !g.Exists() {
		err = x.checkOwned(c.Row)
	}
	if err != nil {
		return err
	}
	row, err := g.Change(c)
	if err != nil {
		return err
	}
	return x.writeGroupRow(c.Row, row)
}

// writeGroupRow writes the row of a group at a key. It deletes the row if the group is gone.
func (x *tx) writeGroupRow(key state.Row, row *sqlite.GroupRow) error {
	if row == nil {
		return x.deleteRow(key)
	}
	return x.replaceRow(key, row.Version, "", row.Attributes)
}
