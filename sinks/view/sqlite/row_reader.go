package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"strings"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/internal/seq"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
	"github.com/tablewake/tablewake/sinks/view"
)

// Tables returns the view tables in the file, sorted by name.
func (s *Store) Tables(ctx context.Context) ([]view.Table, error) {
	if found, err := hasCatalog(ctx, s.DB); err != nil || !found {
		return nil, err
	}
	return sqlite.ReadAll(ctx, s.DB, `SELECT name, pk, sk FROM "_tw_tables" ORDER BY name`, nil, scanTable)
}

func scanTable(rows *sql.Rows) (t view.Table, err error) {
	err = rows.Scan(&t.Name, &t.PK, &t.SK)
	return t, err
}

// findTable returns the view table with the given name; false if there is none.
func findTable(ctx context.Context, db *sqlite.DB, name string) (view.Table, bool, error) {
	if found, err := hasCatalog(ctx, db); err != nil || !found {
		return view.Table{}, false, err
	}
	return sqlite.ReadFirst(ctx, db, `SELECT name, pk, sk FROM "_tw_tables" WHERE name = ?`, []any{name}, scanTable)
}

// hasCatalog reports whether the file has the list of view tables. If only stores of the state or of search indexes
// have opened the file, it has no such list.
func hasCatalog(ctx context.Context, db *sqlite.DB) (bool, error) {
	return sqlite.HasTable(ctx, db, tablePrefix+catalog)
}

// existingTable returns the view table with the given name. The error is ErrNoTable if there is none.
func (s *Store) existingTable(ctx context.Context, name string) (view.Table, error) {
	t, found, err := findTable(ctx, s.DB, name)
	if err == nil && !found {
		err = fmt.Errorf("sqlite: %s: %w: %q", s.Path(), view.ErrNoTable, name)
	}
	return t, err
}

// storedRow is the record of a row in the file.
type storedRow struct {
	version, pipeline, view, birth, source string
	item                                   []byte         // nil for a tombstone
	attributes                             sql.NullString // NULL for a tombstone
	pk, sk                                 any            // key columns; only set by a listing
}

// rowColumns are the columns that scanRow reads.
const rowColumns = "version, pipeline, view, birth, source, item"

func scanRow(rows *sql.Rows) (r storedRow, err error) {
	err = rows.Scan(&r.version, &r.pipeline, &r.view, &r.birth, &r.source, &r.item)
	return r, err
}

// allColumns are the columns that scanAll reads.
const allColumns = rowColumns + ", attributes"

func scanAll(rows *sql.Rows) (r storedRow, err error) {
	err = rows.Scan(&r.version, &r.pipeline, &r.view, &r.birth, &r.source, &r.item, &r.attributes)
	return r, err
}

func (s *Store) parseRow(r *storedRow) (v record.Version, image item.Image, err error) {
	if r.item != nil {
		image, err = item.Parse(r.item)
	}
	if err == nil {
		v, err = record.ParseVersion(r.version)
	}
	if err != nil {
		err = fmt.Errorf("sqlite: %s: a row of item %s: %w", s.Path(), r.source, err)
	}
	return v, image, err
}

// setItem sets the attributes and the key of a row.
func setItem(r *view.Row, t view.Table, image item.Image) {
	r.Item = image
	r.PK, _ = image.Get(t.PK)
	if t.SK != "" {
		r.SK, _ = image.Get(t.SK)
	}
}

// Rows reads a table as it was when the read began. It uses only the name of t.
func (s *Store) Rows(ctx context.Context, t view.Table, q view.Query) iter.Seq2[view.Row, error] {
	return seq.Lazy(func() (iter.Seq2[view.Row, error], error) {
		t, err := s.existingTable(ctx, t.Name)
		if err == nil {
			err = q.Check()
		}
		if err != nil {
			return nil, err
		}
		query, args := selection(t.Name, q)
		rows := seq.Map(sqlite.Read(ctx, s.DB, query, args, scanRow), func(stored storedRow) (view.Row, bool, error) {
			version, image, err := s.parseRow(&stored)
			if err != nil {
				return view.Row{}, false, err
			}
			r := view.Row{Version: version, Source: item.Key(stored.source), View: stored.view, Birth: stored.birth}
			setItem(&r, t, image)
			return r, true, nil
		})
		return rows, nil
	})
}

// selection returns the SQL statement of a query, and its arguments.
func selection(table string, q view.Query) (string, []any) {
	direction, fromOperator, toOperator := "", ">=", "<="
	if q.Reverse {
		direction, fromOperator, toOperator = " DESC", "<=", ">="
	}
	if q.After {
		fromOperator = strings.TrimSuffix(fromOperator, "=")
	}

	var args []any
	statement := "SELECT " + rowColumns + " FROM " + quote(tablePrefix+table) + " WHERE item IS NOT NULL"
	if q.PK.Exists() {
		statement += " AND pk = ?"
		args = append(args, keyColumn(q.PK))
	}
	for _, p := range []struct{ column, prefix string }{{"pk", q.PKPrefix}, {"sk", q.SKPrefix}} {
		if p.prefix != "" {
			// Every text with the prefix is between the two bounds, because UTF-8 has no byte 0xff.
			statement += " AND " + p.column + " >= ? AND " + p.column + " < ?"
			args = append(args, p.prefix, p.prefix+"\xff")
		}
	}
	if q.From.Exists() {
		statement += " AND sk " + fromOperator + " ?"
		args = append(args, keyColumn(q.From))
	}
	if q.To.Exists() {
		statement += " AND sk " + toOperator + " ?"
		args = append(args, keyColumn(q.To))
	}
	statement += " ORDER BY pk" + direction + ", sk" + direction
	if q.Limit > 0 {
		statement += " LIMIT ?"
		args = append(args, q.Limit)
	}
	return statement, args
}
