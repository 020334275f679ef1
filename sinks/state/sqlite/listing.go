package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// The bounds of a page of a listing. No statement is open while a page is yielded, so that a slow reader does not
// keep the log of the file from being cut.
const (
	pageRows  = 1000
	pageBytes = 1 << 20
)

// ListQuery is a query whose rows [List] reads in the order of a key.
type ListQuery struct {
	Select string   // SELECT and WHERE without an order
	Args   []any    // of Select
	Key    []string // the columns of a unique key
}

// ListedRow is a row of a [ListQuery].
type ListedRow[T any] struct {
	Value T
	Key   []any // values of the key's columns: string, []byte or int64
	Size  int   // of the value, in bytes
}

// List yields the rows of a segment, page by page. Each page is one state of the file. A segment reads the rows of all
// segments, since it is a part of the keys' hashes. A pulled error ends the sequence.
func List[T any](ctx context.Context, db *DB, q ListQuery, l state.Listing, scan func(*sql.Rows) (ListedRow[T], error)) iter.Seq2[T, error] {
	order := fmt.Sprintf(" ORDER BY %s LIMIT %d", strings.Join(q.Key, ", "), pageRows)
	after := fmt.Sprintf(" AND (%s) > (?%s)", strings.Join(q.Key, ", "), strings.Repeat(", ?", len(q.Key)-1))
	return func(yield func(T, error) bool) {
		var none T
		if err := l.Check(); err != nil {
			yield(none, err)
			return
		}
		query, args := q.Select+order, q.Args
		for more := true; more; {
			var page []T
			var last []any
			read, size := 0, 0
			for r, err := range Read(ctx, db, query, args, scan) {
				if err != nil {
					yield(none, err)
					return
				}
				read, last = read+1, r.Key
				if l.Segments <= 1 || l.Has(keyText(r.Key)) {
					page, size = append(page, r.Value), size+r.Size
				}
				if size >= pageBytes {
					break
				}
			}
			for _, v := range page {
				if !yield(v, nil) {
					return
				}
			}
			more = read == pageRows || size >= pageBytes
			query, args = q.Select+after+order, slices.Concat(q.Args, last)
		}
	}
}

// keyText returns a text that identifies a key.
func keyText(key []any) string {
	var b []byte
	for _, k := range key {
		b = fmt.Appendf(b, "%T %v\x00", k, k)
	}
	return string(b)
}

// Listed is what the file remembers of an item.
type Listed[T any] struct {
	Item       item.Key
	Value      T
	unreadable bool
}

// ListGuards yields the guards of a target that have a row. A guard that cannot be read is the zero Guard.
func (db *DB) ListGuards(ctx context.Context, t state.Target, l state.Listing) iter.Seq2[Listed[state.Guard], error] {
	return listRemembered(ctx, db, t, `"_tws_guards"`, "row", l, func(v record.Version, void bool, row []byte) (state.Guard, error) {
		return state.Guard{Version: v, Void: void, Row: state.Row(row)}, nil
	}, func(g state.Guard) bool { return g.Row == "" })
}

// ListClaims yields the claims of a target on rows. A claim that cannot be read has no Source.
func (db *DB) ListClaims(ctx context.Context, t state.Target, l state.Listing) iter.Seq2[state.RowClaim, error] {
	q := ListQuery{
		Select: `SELECT c.row, c.item, c.version, c.time, c.attributes FROM "_tws_targets" t CROSS JOIN "_tws_claims" c
WHERE t.pipeline = ? AND t.name = ? AND t.view = ? AND t.birth = ? AND c.target = t.id`,
		Args: []any{t.Pipeline, t.Table, t.View, t.Birth}, Key: []string{"c.row", "c.item"},
	}
	scan := func(rows *sql.Rows) (r ListedRow[state.RowClaim], err error) {
		var row, source, version, attributes string
		var ns int64
		if err := rows.Scan(&row, &source, &version, &ns, &attributes); err != nil {
			return r, err
		}
		r.Key, r.Size = []any{row, source}, len(row)+len(source)+len(attributes)
		r.Value.Row, r.Value.Item = state.Row(row), item.Key(source)
		if c, err := parseClaim(source, version, ns, attributes); err == nil {
			r.Value.Claim = c
		}
		return r, nil
	}
	return List(ctx, db, q, l, scan)
}

// ListOwners yields the claimed rows of a target, with the items that have them.
func (db *DB) ListOwners(ctx context.Context, t state.Target, l state.Listing) iter.Seq2[state.RowClaim, error] {
	q := ListQuery{
		Select: `SELECT s.row, s.holder FROM "_tws_targets" t CROSS JOIN "_tws_seats" s
WHERE t.pipeline = ? AND t.name = ? AND t.view = ? AND t.birth = ? AND s.target = t.id`,
		Args: []any{t.Pipeline, t.Table, t.View, t.Birth}, Key: []string{"s.row"},
	}
	return List(ctx, db, q, l, func(rows *sql.Rows) (r ListedRow[state.RowClaim], err error) {
		var row, owner string
		err = rows.Scan(&row, &owner)
		r.Key, r.Size, r.Value = []any{row}, len(row)+len(owner), state.RowClaim{Row: state.Row(row), Item: item.Key(owner)}
		return r, err
	})
}

// ListContributions yields the contributions of a target that have shares. One that cannot be read is the zero
// Contribution.
func (db *DB) ListContributions(ctx context.Context, t state.Target, l state.Listing) iter.Seq2[Listed[state.Contribution], error] {
	return listRemembered(ctx, db, t, `"_tws_contributions"`, "shares", l, parseContribution, func(c state.Contribution) bool { return len(c.Shares) == 0 })
}

// listRemembered yields the guards or contributions of a target that are not empty.
func listRemembered[T any](
	ctx context.Context, db *DB, t state.Target, table, value string, l state.Listing, parse func(record.Version, bool, []byte) (T, error), empty func(T) bool,
) iter.Seq2[Listed[T], error] {
	q := ListQuery{
		Select: "SELECT m.item, m.version, m.void, m." + value + ` FROM "_tws_targets" t CROSS JOIN ` + table + ` m
WHERE t.pipeline = ? AND t.name = ? AND t.view = ? AND t.birth = ? AND m.target = t.id`,
		Args: []any{t.Pipeline, t.Table, t.View, t.Birth}, Key: []string{"m.item"},
	}
	scan := func(rows *sql.Rows) (r ListedRow[Listed[T]], err error) {
		var source, version string
		var void bool
		var value sql.RawBytes
		if err := rows.Scan(&source, &version, &void, &value); err != nil {
			return r, err
		}
		r.Key, r.Size, r.Value.Item = []any{source}, len(source)+len(value), item.Key(source)
		v, err := record.ParseVersion(version)
		if err == nil {
			r.Value.Value, err = parse(v, void, value)
		}
		r.Value.unreadable = err != nil
		return r, nil
	}
	return func(yield func(Listed[T], error) bool) {
		for v, err := range List(ctx, db, q, l, scan) {
			if err == nil && !v.unreadable && empty(v.Value) {
				continue
			}
			if !yield(v, err) {
				return
			}
		}
	}
}

// Snapshot runs do, whose reads are all of one state of the file.
func (db *DB) Snapshot(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := db.reader.BeginTx(ctx, nil)
	if err != nil {
		return db.WrapError("read", err)
	}
	err = do(tx)
	_ = tx.Rollback() // it has read only
	return err
}
