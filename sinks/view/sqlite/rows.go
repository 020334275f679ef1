package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/view"
)

// Tables are the view tables in the file, by name.
func (s *Store) Tables(ctx context.Context) ([]view.Table, error) {
	rows, err := s.Reader().QueryContext(ctx, `SELECT name, pk, sk FROM "_tw_tables" ORDER BY name`)
	if err != nil {
		return nil, s.Failed("read", err)
	}
	defer rows.Close()
	var ts []view.Table
	for rows.Next() {
		var t view.Table
		if err := rows.Scan(&t.Name, &t.PK, &t.SK); err != nil {
			return nil, s.Failed("read", err)
		}
		ts = append(ts, t)
	}
	return ts, s.Failed("read", rows.Err())
}

// Rows reads one table as it was when the reading began. Of t only the name is needed.
func (s *Store) Rows(ctx context.Context, t view.Table, q view.Query) iter.Seq2[view.Row, error] {
	return func(yield func(view.Row, error) bool) {
		if err := s.rows(ctx, t.Name, q, yield); err != nil {
			yield(view.Row{}, err)
		}
	}
}

// rows returns an error that it has not yielded.
func (s *Store) rows(ctx context.Context, name string, q view.Query, yield func(view.Row, error) bool) error {
	t := view.Table{Name: name}
	err := s.Reader().QueryRowContext(ctx, `SELECT pk, sk FROM "_tw_tables" WHERE name = ?`, name).Scan(&t.PK, &t.SK)
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("sqlite: %s: %w: %q", s.Path(), view.ErrNoTable, name)
	}
	if err != nil {
		return s.Failed("read", err)
	}
	query, args := selection(name, q)
	rows, err := s.Reader().QueryContext(ctx, query, args...)
	if err != nil {
		return s.Failed("read", err)
	}
	defer rows.Close()
	for rows.Next() {
		var version, owner, source string
		var item []byte
		if err := rows.Scan(&version, &owner, &source, &item); err != nil {
			return s.Failed("read", err)
		}
		r := view.Row{Source: pipeline.Key(source), View: owner}
		if r.Item, err = pipeline.ParseImage(item); err != nil {
			return fmt.Errorf("sqlite: %s: a row of item %s: %w", s.Path(), source, err)
		}
		if r.Version, err = pipeline.ParseVersion(version); err != nil {
			return fmt.Errorf("sqlite: %s: a row of item %s: %w", s.Path(), source, err)
		}
		r.PK, _ = r.Item.Get(t.PK)
		if t.SK != "" {
			r.SK, _ = r.Item.Get(t.SK)
		}
		if !yield(r, nil) {
			return nil
		}
	}
	return s.Failed("read", rows.Err())
}

// selection is the statement of a query.
func selection(table string, q view.Query) (string, []any) {
	var b strings.Builder
	var args []any
	b.WriteString("SELECT version, view, source, item FROM " + quote(prefix+table) + " WHERE item IS NOT NULL")
	if q.PK.Exists() {
		b.WriteString(" AND pk = ?")
		args = append(args, keyColumn(q.PK))
	}
	for _, p := range []struct{ column, prefix string }{{"pk", q.PKPrefix}, {"sk", q.SKPrefix}} {
		if p.prefix != "" {
			// No text is between the two that does not begin so: 0xff is in no UTF-8.
			b.WriteString(" AND " + p.column + " >= ? AND " + p.column + " < ?")
			args = append(args, p.prefix, p.prefix+"\xff")
		}
	}
	b.WriteString(" ORDER BY pk, sk")
	if q.Limit > 0 {
		b.WriteString(" LIMIT ?")
		args = append(args, q.Limit)
	}
	return b.String(), args
}
