package sqlite

import (
	"context"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
	"github.com/tablewake/tablewake/sinks/view"
)

const (
	readGroup = `SELECT id, shares, version, totals FROM "_tws_groups" WHERE target = ? AND row = ?`

	newGroup = `INSERT INTO "_tws_groups" (target, row, shares, version, totals) VALUES (?, ?, 0, '', '') RETURNING id`

	writeGroup = `UPDATE "_tws_groups" SET shares = ?, version = ?, totals = ? WHERE id = ?`

	deleteGroup = `DELETE FROM "_tws_groups" WHERE id = ?`
)

// MaxActions is 0: a transaction may be of any size.
func (s *Store) MaxActions() int { return 0 }

// Contributions reads what items count for.
func (s *Store) Contributions(ctx context.Context, t view.Target, items []pipeline.Key) (cs []state.Contribution, err error) {
	err = s.withTarget(ctx, t, func(w *sqlite.Writer, id int64) error {
		cs, err = w.Contributions(context.WithoutCancel(ctx), id, items)
		return err
	})
	return cs, err
}

// Contribute applies ws in one transaction: contributions, and the rows of their groups.
func (s *Store) Contribute(ctx context.Context, t view.Target, ws []state.GroupWrite) ([]view.ItemResult, error) {
	return s.each(ctx, t, len(ws), func(x *tx, i int) error { return x.contribute(&ws[i]) })
}

func (x *tx) contribute(w *state.GroupWrite) error {
	for i := range w.Items {
		c := &w.Items[i]
		ok, err := x.SetContribution(x.ctx, x.id, c.Source, c.Was, c.WasVoid, c.Now)
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

// group changes what is known of one group, and its row.
func (x *tx) group(c *state.GroupChange) error {
	g, err := x.readGroup(c.Row)
	if err != nil {
		return err
	}
	if err := x.change(g, c); err != nil {
		return err
	}
	switch {
	case g.shares < 0:
		return x.store.Damaged("the group "+string(c.Row), errs.New("more left it than came"))
	case g.shares == 0:
		return x.removeGroup(g.id, c.Row)
	}
	text, err := g.totals.marshal()
	if err != nil {
		return err
	}
	if err := x.Exec(x.ctx, writeGroup, g.shares, g.version, text, g.id); err != nil {
		return err
	}
	version, err := pipeline.ParseVersion(g.version)
	if err != nil {
		return err
	}
	columns, err := g.totals.columns()
	if err != nil {
		return x.store.Damaged("the group "+string(c.Row), err)
	}
	return x.put(c.Row, version, "", columns)
}

// group is a row of an aggregate as the tables of state know it.
type group struct {
	id      int64
	shares  int64
	version string
	totals  totals
}

// readGroup is the group of a row, made where it is missing. The error is
// permanent where the row belongs to another sink.
func (x *tx) readGroup(r state.Row) (*group, error) {
	g := new(group)
	var text string
	found, err := x.Row(x.ctx, readGroup, []any{x.id, string(r)}, &g.id, &g.shares, &g.version, &text)
	if err != nil {
		return nil, err
	}
	if found {
		if g.totals, err = parseTotals(text); err != nil {
			return nil, x.store.Damaged("the group "+string(r), err)
		}
		return g, nil
	}
	if err := x.refused(r); err != nil {
		return nil, err
	}
	_, err = x.Row(x.ctx, newGroup, []any{x.id, string(r)}, &g.id)
	return g, err
}

// change adds a change to what the group comes to.
func (x *tx) change(g *group, c *state.GroupChange) error {
	for _, adds := range [][]state.Add{c.Counts, c.Sums} {
		for _, a := range adds {
			if err := g.totals.of(a.Name, 0).add(a.Amount); err != nil {
				return x.store.Damaged("the group "+string(c.Row), err)
			}
		}
	}
	for i := range c.Members {
		if err := x.member(g.id, &g.totals, &c.Members[i]); err != nil {
			return err
		}
	}
	g.shares += c.Shares
	g.version = max(g.version, c.Version.String())
	return nil
}

func (x *tx) removeGroup(id int64, r state.Row) error {
	if err := x.Exec(x.ctx, removeMembers, id); err != nil {
		return err
	}
	if err := x.Exec(x.ctx, deleteGroup, id); err != nil {
		return err
	}
	return x.remove(r)
}
