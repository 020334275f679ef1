package sqlite

import (
	"encoding/json"

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
func (w *Writer) Group(target int64, row state.Row) (*Group, error) {
	g := &Group{writer: w, target: target, row: row}
	var text string
	found, err := w.QueryRow(readGroup, []any{target, string(row)}, &g.id, &g.shares, &g.version, &text)
	if err != nil || !found {
		return g, err
	}
	g.totals, err = parseTotals(text)
	return g, g.damagedError(err)
}

// Exists reports whether the group is stored. It must be called before Change, which inserts a missing group.
func (g *Group) Exists() bool { return g.id != 0 }

// damagedError returns the error of a group that cannot be parsed, or nil if err is nil.
func (g *Group) damagedError(err error) error {
	if err == nil {
		return nil
	}
	return g.writer.db.Damaged("the group "+string(g.row), err)
}

// GroupRow is the content of a group's row.
type GroupRow struct {
	Version    record.Version
	Attributes []state.Column
}

// Change applies a change, and returns the group's row. If the group has no share any more, Change deletes the group,
// and returns nil.
func (g *Group) Change(c *state.GroupChange) (*GroupRow, error) {
	if err := g.add(c); err != nil {
		return nil, err
	}
	if g.shares < 0 {
		return nil, pipeline.Fatal(viewErrs.Errorf("sqlite: %s: the group %s: %w",
			redact.Safe(g.writer.db.path), string(g.row), state.ErrNegative))
	}
	if g.shares == 0 {
		return nil, g.writer.deleteGroup(g.id)
	}

	text, err := json.Marshal(g.totals)
	if err != nil {
		return nil, err
	}
	if err := g.writer.Exec(writeGroup, g.shares, state.NewID(), g.version, string(text), g.id); err != nil {
		return nil, err
	}
	row := &GroupRow{}
	if row.Version, err = record.ParseVersion(g.version); err != nil {
		return nil, err
	}
	row.Attributes, err = g.totals.columns()
	return row, g.damagedError(err)
}

// deleteGroup deletes a stored group and its members.
func (w *Writer) deleteGroup(id int64) error {
	if err := w.Exec(removeMembers, id); err != nil {
		return err
	}
	return w.Exec(dropGroup, id)
}

// insert inserts the group.
func (g *Group) insert() error {
	if _, err := g.writer.QueryRow(newGroup, []any{g.target, string(g.row)}, &g.id); err != nil {
		return err
	}
	// SQLite may reuse the id of a group that was deleted by hand, and its members may still be stored.
	return g.writer.Exec(removeMembers, g.id)
}

// add adds a change to the totals. It inserts the group if it is not stored.
func (g *Group) add(c *state.GroupChange) error {
	if !g.Exists() {
		if err := g.insert(); err != nil {
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
		if err := g.changeMember(&c.Members[i]); err != nil {
			return err
		}
	}
	g.shares += c.Shares
	g.version = max(g.version, c.Version.String())
	return nil
}

const readGroupRevision = `SELECT id, revision FROM "_tws_groups" WHERE target = ? AND row = ?`

// ReplaceGroup deletes the stored group of a row and creates a new one by the change c, within a transaction. It does
// not read the stored group, which may be damaged. was is the expected revision of the stored group, or "" if no group
// is stored. If the revision differs, ReplaceGroup returns false and changes nothing. row is the result of
// [Group.Change].
func (w *Writer) ReplaceGroup(
	target int64, was string, c *state.GroupChange,
) (row *GroupRow, replaced bool, err error) {
	var id int64
	var revision string
	_, err = w.QueryRow(readGroupRevision, []any{target, string(c.Row)}, &id, &revision)
	if err != nil || revision != was {
		return nil, false, err
	}
	if err := w.deleteGroup(id); err != nil {
		return nil, false, err
	}

	g := &Group{writer: w, target: target, row: c.Row}
	row, err = g.Change(c)
	return row, true, err
}

const (
	addMember = `INSERT INTO "_tws_members" ("group", name, value, id) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`

	removeMember = `DELETE FROM "_tws_members" WHERE "group" = ? AND name = ? AND value = ? AND id = ?`

	removeMembers = `DELETE FROM "_tws_members" WHERE "group" = ?`

	// countMembers counts the members with one value. A distinct changes only if the first member of a value is added
	// or the last one is removed, so counting stops at two.
	countMembers = `SELECT count(*) FROM (SELECT 1 FROM "_tws_members" WHERE "group" = ? AND name = ? AND value = ? LIMIT 2)`

	leastMember    = `SELECT value FROM "_tws_members" WHERE "group" = ? AND name = ? ORDER BY value LIMIT 1`
	greatestMember = `SELECT value FROM "_tws_members" WHERE "group" = ? AND name = ? ORDER BY value DESC LIMIT 1`
)

// changeMember adds or removes a member, and updates the total of the min, max or distinct. It costs one or two index
// reads, however many members there are.
func (g *Group) changeMember(m *state.Member) error {
	query := addMember
	if m.Remove {
		query = removeMember
	}
	value := []byte(m.Value)
	n, err := g.writer.ExecCount(query, g.id, m.Name, value, m.ID)
	if err != nil || n == 0 {
		return err // n is 0 if the member to add exists already, or if the member to remove does not exist
	}

	switch t := g.totals.find(m.Name, m.Kind); {
	case m.Kind == state.Distinct:
		return g.updateDistinct(t, m, value)
	case m.Remove && m.Value == t.Text: // the member was the min or max
		return g.readExtreme(t)
	case !m.Remove && m.Kind.IsBeyond(m.Value, t.Text):
		t.Text = m.Value
	}
	return nil
}

// updateDistinct adds one to the total when the first member of a value was added. It subtracts one when the last
// member of a value was removed.
func (g *Group) updateDistinct(t *total, m *state.Member, value []byte) error {
	var members int
	if _, err := g.writer.QueryRow(countMembers, []any{g.id, m.Name, value}, &members); err != nil {
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
func (g *Group) readExtreme(t *total) error {
	query := leastMember
	if t.Kind == state.Max {
		query = greatestMember
	}
	var value []byte
	_, err := g.writer.QueryRow(query, []any{g.id, t.Name}, &value)
	t.Text = string(value)
	return err
}
