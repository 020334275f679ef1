package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"iter"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

const (
	readGroups = `SELECT j.key, g.id, g.shares, g.revision, g.version, g.totals
FROM "_tws_targets" t CROSS JOIN json_each(?) j CROSS JOIN "_tws_groups" g
WHERE ` + isTarget + ` AND g.target = t.id AND g.row = j.value`

	readMembers = `SELECT j.value, m.name, m.value, m.id FROM json_each(?) j CROSS JOIN "_tws_members" m WHERE m."group" = j.value
ORDER BY j.key, m.name, m.value, m.id`
)

// StoredGroup is the stored group of one row of an aggregate. Shares is the number of elements of items that count in
// the group. Version is zero if it cannot be read. Totals lacks the totals that cannot be read.
type StoredGroup struct {
	Shares   int64
	Revision string
	Version  record.Version
	Totals   map[string]state.Number   // counts and sums by name
	Members  map[string][]state.Member // members of each min, max and distinct by its name, in order
}

// ReadGroups reads the groups of rows, in a transaction of [DB.Snapshot]. The result is in the order of rows, with nil
// for a row without a group.
func (db *DB) ReadGroups(ctx context.Context, tx *sql.Tx, t state.Target, rows []state.Row) ([]*StoredGroup, error) {
	found, err := tx.QueryContext(ctx, readGroups, append([]any{JSONArray(rows)}, targetArgs(t)...)...)
	if err != nil {
		return nil, db.WrapError("read", err)
	}
	defer found.Close()

	groups := make([]*StoredGroup, len(rows))
	byID := make(map[int64]*groupRow)
	ids := []int64{}
	for found.Next() {
		g, err := db.scanGroup(found)
		if err != nil {
			return nil, err
		}
		groups[g.position] = &g.StoredGroup
		byID[g.id] = g
		ids = append(ids, g.id)
	}
	if err := found.Err(); err != nil {
		return nil, db.WrapError("read", err)
	}
	if err := found.Close(); err != nil {
		return nil, db.WrapError("read", err)
	}

	return groups, db.readMembers(ctx, tx, ids, func(id int64, m state.Member) {
		g := byID[id]
		m.Kind = g.kinds[m.Name]
		g.Members[m.Name] = append(g.Members[m.Name], m)
	})
}

// groupRow is a row of the query readGroups.
type groupRow struct {
	StoredGroup
	position int // position of the row in the list of requested rows
	id       int64
	kinds    map[string]state.MemberKind // kinds of min, max and distinct by name
}

// scanGroup returns a group without its members.
func (db *DB) scanGroup(rows *sql.Rows) (*groupRow, error) {
	g := &groupRow{kinds: make(map[string]state.MemberKind)}
	g.Totals, g.Members = make(map[string]state.Number), make(map[string][]state.Member)
	var version, text string
	if err := rows.Scan(&g.position, &g.id, &g.Shares, &g.Revision, &version, &text); err != nil {
		return nil, db.WrapError("read", err)
	}

	g.Version, _ = record.ParseVersion(version)
	totals, _ := parseTotals(text)
	for i := range totals {
		t := &totals[i]
		if t.Kind != 0 {
			g.kinds[t.Name] = t.Kind
			continue
		}
		if number, err := t.number(); err == nil {
			g.Totals[t.Name] = number
		}
	}
	return g, nil
}

// readMembers calls do with each member of the groups with these ids. The members are in the order of groups, and in a
// group by name, value and ID.
func (db *DB) readMembers(ctx context.Context, tx *sql.Tx, groups []int64, do func(group int64, m state.Member)) error {
	list, err := json.Marshal(groups)
	if err != nil {
		return err
	}
	found, err := tx.QueryContext(ctx, readMembers, string(list))
	if err != nil {
		return db.WrapError("read", err)
	}
	defer found.Close()
	for found.Next() {
		var group int64
		var m state.Member
		if err := found.Scan(&group, &m.Name, &m.Value, &m.ID); err != nil {
			return db.WrapError("read", err)
		}
		do(group, m)
	}
	return db.WrapError("read", found.Err())
}

// ListGroups yields the row of each group of a target in the state. The table of rows may lack some of these rows.
func (db *DB) ListGroups(ctx context.Context, t state.Target, l state.Listing) iter.Seq2[state.Row, error] {
	return listTarget(ctx, db, t, "m.row", `"_tws_groups"`, []string{"m.row"}, l,
		func(rows *sql.Rows) (r ListedRow[state.Row], err error) {
			err = rows.Scan(&r.Value)
			r.Key, r.Size = []any{string(r.Value)}, len(r.Value)
			return r, err
		})
}
