package sqlite

import (
	"context"

	"github.com/tablewake/tablewake/sinks/state"
)

const (
	addMember = `INSERT INTO "_tws_members" ("group", name, value, id) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`

	removeMember = `DELETE FROM "_tws_members" WHERE "group" = ? AND name = ? AND value = ? AND id = ?`

	removeMembers = `DELETE FROM "_tws_members" WHERE "group" = ?`

	// countMembers counts the members with one value. A distinct changes only with the first and the last of them, so
	// counting stops at two.
	countMembers = `SELECT count(*) FROM (SELECT 1 FROM "_tws_members" WHERE "group" = ? AND name = ? AND value = ? LIMIT 2)`

	leastMember    = `SELECT value FROM "_tws_members" WHERE "group" = ? AND name = ? ORDER BY value LIMIT 1`
	greatestMember = `SELECT value FROM "_tws_members" WHERE "group" = ? AND name = ? ORDER BY value DESC LIMIT 1`
)

// changeMember adds or removes a member, and updates the total of the min, max or distinct. It costs one or two index
// reads, however many members there are.
func (g *Group) changeMember(ctx context.Context, m *state.Member) error {
	query := addMember
	if m.Remove {
		query = removeMember
	}
	value := []byte(m.Value)
	n, err := g.writer.ExecCount(ctx, query, g.id, m.Name, value, m.ID)
	if err != nil || n == 0 {
		return err // n is 0 if the member to add exists already, or if the member to remove does not exist
	}

	t := g.totals.find(m.Name, m.Kind)
	if m.Kind == state.Distinct {
		return g.updateDistinct(ctx, t, m, value)
	}
	if m.Remove {
		if m.Value != t.Text {
			return nil // the min or max is another member
		}
		return g.readExtreme(ctx, t)
	}
	if m.Kind.IsBeyond(m.Value, t.Text) {
		t.Text = m.Value
	}
	return nil
}

// updateDistinct adds one to the total when the first member of a value was added. It subtracts one when the last
// member of a value was removed.
func (g *Group) updateDistinct(ctx context.Context, t *total, m *state.Member, value []byte) error {
	var members int
	if _, err := g.writer.QueryRow(ctx, countMembers, []any{g.id, m.Name, value}, &members); err != nil {
		return err
	}
	switch {
	case m.Remove && members == 0:
		return t.count(-1)
	case !m.Remove && members == 1:
		return t.count(+1)
	}
	return nil
}

// readExtreme sets a min or a max to the least or greatest remaining member.
func (g *Group) readExtreme(ctx context.Context, t *total) error {
	query := leastMember
	if t.Kind == state.Max {
		query = greatestMember
	}
	var value []byte
	_, err := g.writer.QueryRow(ctx, query, []any{g.id, t.Name}, &value)
	t.Text = string(value)
	return err
}
