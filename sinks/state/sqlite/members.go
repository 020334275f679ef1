package sqlite

import (
	"context"

	"github.com/tablewake/tablewake/sinks/state"
)

const (
	addMember = `INSERT INTO "_tws_members" ("group", name, value, id) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`

	removeMember = `DELETE FROM "_tws_members" WHERE "group" = ? AND name = ? AND value = ? AND id = ?`

	removeMembers = `DELETE FROM "_tws_members" WHERE "group" = ?`

	// One is enough to know that the value is not alone, two that it was there before.
	countOwners = `SELECT count(*) FROM (SELECT 1 FROM "_tws_members" WHERE "group" = ? AND name = ? AND value = ? LIMIT 2)`

	leastMember    = `SELECT value FROM "_tws_members" WHERE "group" = ? AND name = ? ORDER BY value LIMIT 1`
	greatestMember = `SELECT value FROM "_tws_members" WHERE "group" = ? AND name = ? ORDER BY value DESC LIMIT 1`
)

// member puts a member in or takes it out, and keeps the total of its value: each
// costs a step or two down an index, however many members there are.
func (g *Group) member(ctx context.Context, m *state.Member) error {
	q := addMember
	if m.Remove {
		q = removeMember
	}
	value := []byte(m.Value)
	n, err := g.writer.ExecCount(ctx, q, g.id, m.Name, value, m.ID)
	if err != nil || n == 0 {
		return err // 0: it was so before
	}
	t := g.totals.of(m.Name, m.Kind)
	switch {
	case m.Kind == state.Distinct:
		return g.different(ctx, t, m, value)
	case !m.Remove:
		if t.Text == "" || (m.Kind == state.Min) == (m.Value < t.Text) {
			t.Text = m.Value
		}
	case m.Value == t.Text:
		return g.first(ctx, t)
	}
	return nil
}

// different counts a value when its first member comes, and when its last one goes.
func (g *Group) different(ctx context.Context, t *total, m *state.Member, value []byte) error {
	var owners int
	if _, err := g.writer.QueryRow(ctx, countOwners, []any{g.id, m.Name, value}, &owners); err != nil {
		return err
	}
	switch {
	case m.Remove && owners == 0:
		return t.count(-1)
	case !m.Remove && owners == 1:
		return t.count(+1)
	}
	return nil
}

// first reads a min or a max anew.
func (g *Group) first(ctx context.Context, t *total) error {
	q := leastMember
	if t.Kind == state.Max {
		q = greatestMember
	}
	var value []byte
	_, err := g.writer.QueryRow(ctx, q, []any{g.id, t.Name}, &value)
	t.Text = string(value)
	return err
}
