package sqlite

import (
	"context"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/state"
)

const (
	readGroup = `SELECT id, shares, version, totals FROM "_tws_groups" WHERE target = ? AND row = ?`

	newGroup = `INSERT INTO "_tws_groups" (target, row, shares, revision, version, totals) VALUES (?, ?, 0, '', '', '') RETURNING id`

	writeGroup = `UPDATE "_tws_groups" SET shares = ?, revision = ?, version = ?, totals = ? WHERE id = ?`

	dropGroup = `DELETE FROM "_tws_groups" WHERE id = ?`
)

// Group is the stored group of one row of an aggregate. It has the totals of the row, and the number of shares: how
// many elements of items count in it. It may only be used within a transaction.
type Group struct {
	writer  *Writer
	target  int64
	row     state.Row
	id      int64 // 0 if the group is not stored
	shares  int64
	version string
	totals  totals
}

// Group reads the group of a row.
func (w *Writer) Group(ctx context.Context, target int64, row state.Row) (*Group, error) {
	g := &Group{writer: w, target: target, row: row}
	var text string
	found, err := w.QueryRow(ctx, readGroup, []any{target, string(row)}, &g.id, &g.shares, &g.version, &text)
	if err != nil || !found {
		return g, err
	}
	g.totals, err = parseTotals(text)
	return g, g.damagedError(err)
}

// Exists reports whether the group was stored before the change.
func (g *Group) Exists() bool { return g.id != 0 }

// damagedError returns the error of a group that cannot be parsed, or nil if err is nil.
func (g *Group) damagedError(err error) error {
	if err == nil {
		return nil
	}
	return g.writer.db.Damaged("the group "+string(g.row), err)
}

// Change applies a change, and returns the version and the attributes of the group's row. If the group has no share any
// more, Change deletes the group, and exists is false.
func (g *Group) Change(
	ctx context.Context, c *state.GroupChange,
) (version record.Version, columns []state.Column, exists bool, err error) {
	if err := g.add(ctx, c); err != nil {
		return version, nil, false, err
	}
	if g.shares < 0 {
		return version, nil, false, pipeline.Fatal(viewErrs.Errorf("sqlite: %s: the group %s: %w",
			redact.Safe(g.writer.db.path), string(g.row), state.ErrNegative))
	}
	if g.shares == 0 {
		return version, nil, false, g.writer.deleteGroup(ctx, g.id)
	}

	text, err := g.totals.marshal()
	if err != nil {
		return version, nil, true, err
	}
	if err := g.writer.Exec(ctx, writeGroup, g.shares, state.NewID(), g.version, text, g.id); err != nil {
		return version, nil, true, err
	}
	if version, err = record.ParseVersion(g.version); err != nil {
		return version, nil, true, err
	}
	columns, err = g.totals.columns()
	return version, columns, true, g.damagedError(err)
}

// deleteGroup deletes a stored group and its members.
func (w *Writer) deleteGroup(ctx context.Context, id int64) error {
	if err := w.Exec(ctx, removeMembers, id); err != nil {
		return err
	}
	return w.Exec(ctx, dropGroup, id)
}

// add adds a change to the totals. It inserts the group if it is not stored.
func (g *Group) add(ctx context.Context, c *state.GroupChange) error {
	if g.id == 0 {
		if _, err := g.writer.QueryRow(ctx, newGroup, []any{g.target, string(g.row)}, &g.id); err != nil {
			return err
		}
		// SQLite may reuse the id of a group that was deleted by hand, and its members may still be stored.
		if err := g.writer.Exec(ctx, removeMembers, g.id); err != nil {
			return err
		}
	}

	for _, increments := range [][]state.Increment{c.Counts, c.Sums} {
		for _, in := range increments {
			if err := g.totals.find(in.Name, 0).add(in.Amount); err != nil {
				return g.damagedError(err)
			}
		}
	}
	for i := range c.Members {
		if err := g.changeMember(ctx, &c.Members[i]); err != nil {
			return err
		}
	}
	g.shares += c.Shares
	g.version = max(g.version, c.Version.String())
	return nil
}
