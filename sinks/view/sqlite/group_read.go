package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"iter"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/internal/seq"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
	"github.com/tablewake/tablewake/sinks/view"
)

var (
	_ view.GroupLister = (*Store)(nil)
	_ view.GroupReader = (*Store)(nil)
)

// groupChunk is the number of groups that one transaction reads with their members.
const groupChunk = 100

// ListGroups yields the groups of the rows in the table, and then the groups of the state whose rows are missing there.
func (s *Store) ListGroups(
	ctx context.Context, t view.Target, values []view.Value, l state.Listing,
) iter.Seq2[view.Group, error] {
	rows := seq.Map(s.ListRows(ctx, t, l), func(r view.Row) (state.Row, bool, error) {
		row, err := state.MakeRow(r.PK, r.SK)
		return row, true, err
	})
	ofState := s.groupsOf(ctx, t, values, s.DB.ListGroups(ctx, t.State(), l))
	withoutRow := seq.Map(ofState, func(g view.Group) (view.Group, bool, error) { return g, !g.Item.Exists(), nil })
	return seq.Concat(s.groupsOf(ctx, t, values, rows), withoutRow)
}

// groupsOf yields the groups of rows.
func (s *Store) groupsOf(
	ctx context.Context, t view.Target, values []view.Value, rows iter.Seq2[state.Row, error],
) iter.Seq2[view.Group, error] {
	groups := seq.FlatMap(seq.Chunk(rows, groupChunk), func(chunk []state.Row) ([]view.Group, error) {
		return s.ReadGroups(ctx, t, values, chunk)
	})
	return seq.Map(groups, func(g view.Group) (view.Group, bool, error) { return g, g.Row != "", nil })
}

// ReadGroups reads the groups in one transaction. If the row of a group is missing in the table, the Group has no Item.
// If a row has no group in the state, the Group has only Row, Birth and Item.
func (s *Store) ReadGroups(
	ctx context.Context, t view.Target, values []view.Value, rows []state.Row,
) ([]view.Group, error) {
	r := groupReader{Store: s, target: t, rows: rows, groups: make([]view.Group, len(rows))}
	err := s.Snapshot(ctx, func(tx *sql.Tx) error {
		byBirth, err := r.readRows(ctx, tx)
		if err != nil {
			return err
		}
		for birth, indexes := range byBirth {
			if err := r.readStates(ctx, tx, values, birth, indexes); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r.groups, nil
}

// groupReader reads groups in one transaction.
type groupReader struct {
	*Store
	target view.Target
	rows   []state.Row
	groups []view.Group // the result: the group of each row, in the order of rows
}

// readStates sets the fields that come from the state, in the groups at indexes. The rows of these have this birth.
func (r *groupReader) readStates(
	ctx context.Context, tx *sql.Tx, values []view.Value, birth string, indexes []int,
) error {
	rows := make([]state.Row, len(indexes))
	for n, i := range indexes {
		rows[n] = r.rows[i]
	}
	target := r.target.State()
	target.Birth = birth
	stored, err := r.DB.ReadGroups(ctx, tx, target, rows)
	if err != nil {
		return err
	}
	for n, i := range indexes {
		if stored[n] != nil {
			r.groups[i].Row, r.groups[i].Birth = rows[n], birth
			setGroup(&r.groups[i], values, stored[n])
		}
	}
	return nil
}

// readRows sets Row, Birth and Item of each group that has a row. byBirth maps a birth to the indexes of the groups
// whose state is stored under this birth: the birth of the row, or the birth of the target if the row is missing. The
// groups of other sinks' rows are left out.
func (r *groupReader) readRows(ctx context.Context, tx *sql.Tx) (byBirth map[string][]int, err error) {
	t := r.target
	query, err := tx.PrepareContext(ctx, "SELECT pipeline, view, birth, item, attributes FROM "+quote(tablePrefix+t.Name)+
		" WHERE pk = ? AND sk = ?")
	if err != nil {
		if _, tableErr := r.existingTable(ctx, t.Name); errors.Is(tableErr, view.ErrNoTable) {
			return nil, tableErr
		}
		return nil, r.WrapError("read", err)
	}
	defer query.Close()

	byBirth = make(map[string][]int)
	derived := derivedChecker{table: t.Table}
	for i, row := range r.rows {
		stored, err := r.queryRow(ctx, query, row)
		if err != nil {
			return nil, err
		}
		isOwn := stored.pipeline == t.Pipeline && stored.view == t.View
		if !isOwn {
			continue
		}
		byBirth[stored.birth] = append(byBirth[stored.birth], i)

		isMissing := stored.item == nil // also for a tombstone
		if isMissing {
			continue
		}
		g := &r.groups[i]
		g.Row, g.Birth = row, stored.birth
		if g.Item, err = item.Parse(stored.item); err != nil {
			return nil, r.Damaged("a row of the table "+t.Name, err)
		}
		g.DifferingCopy = derived.check(g.Item, stored.attributes)
	}
	return byBirth, nil
}

// queryRow runs the query of readRows for one row. If the row is missing, only the owner is set: the target.
func (r *groupReader) queryRow(ctx context.Context, query *sql.Stmt, row state.Row) (stored storedRow, err error) {
	pk, sk, err := row.Decode()
	if err != nil {
		return stored, err
	}
	err = query.QueryRowContext(ctx, keyColumn(pk), keyColumn(sk)).Scan(&stored.pipeline, &stored.view, &stored.birth,
		&stored.item, &stored.attributes)
	if errors.Is(err, sql.ErrNoRows) {
		return storedRow{pipeline: r.target.Pipeline, view: r.target.View, birth: r.target.Birth}, nil
	}
	return stored, r.WrapError("read", err)
}

// setGroup sets the fields of a group that come from the state.
func setGroup(g *view.Group, values []view.Value, stored *sqlite.StoredGroup) {
	g.Shares, g.Revision, g.Version = stored.Shares, stored.Revision, stored.Version
	for _, v := range values {
		if _, ok := v.MemberKind(); ok {
			g.Members = append(g.Members, stored.Members[v.Name]...)
		} else if total, ok := stored.Totals[v.Name]; ok {
			g.AddTotal(v, total)
		}
	}
}
