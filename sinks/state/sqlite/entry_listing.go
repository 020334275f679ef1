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
	"github.com/tablewake/tablewake/sinks/internal/seq"
	"github.com/tablewake/tablewake/sinks/state"
)

// The limits of a page of a listing. A page is read completely before its rows are yielded, so no statement is open
// while the caller uses the rows. An open statement would keep SQLite from truncating the write-ahead log.
const (
	pageRows  = 1000
	pageBytes = 1 << 20
)

// ListQuery is a query whose rows [List] reads in the order of a key.
type ListQuery struct {
	Select string   // SELECT and WHERE without an order
	Args   []any    // arguments of Select
	Key    []string // the columns of a unique key
}

// ListedRow is a row of a [ListQuery].
type ListedRow[T any] struct {
	Value T
	Key   []any // values of the key's columns: string, []byte or int64
	Size  int   // size of Value in bytes, approximately
}

// List yields the rows of a segment, page by page. Each page is from one state of the file. A hash of the key
// determines the segment of a row. SQLite cannot select by this hash, so List reads all rows and skips the rows of
// other segments. An error ends the sequence.
func List[T any](
	ctx context.Context, db *DB, q ListQuery, l state.Listing, scan func(*sql.Rows) (ListedRow[T], error),
) iter.Seq2[T, error] {
	if err := l.Check(); err != nil {
		return seq.Of[T](nil, err)
	}
	return seq.FlatMap(listPages(ctx, db, q, l, scan), func(p listPage[T]) ([]T, error) { return p.values, nil })
}

// listPages yields the pages of a listing.
func listPages[T any](
	ctx context.Context, db *DB, q ListQuery, l state.Listing, scan func(*sql.Rows) (ListedRow[T], error),
) iter.Seq2[listPage[T], error] {
	order := fmt.Sprintf(" ORDER BY %s LIMIT %d", strings.Join(q.Key, ", "), pageRows)
	after := fmt.Sprintf(" AND (%s) > (?%s)", strings.Join(q.Key, ", "), strings.Repeat(", ?", len(q.Key)-1))
	return func(yield func(listPage[T], error) bool) {
		query, args := q.Select+order, q.Args
		for {
			page, err := readPage(Read(ctx, db, query, args, scan), l)
			if !yield(page, err) || err != nil || page.isLast {
				return
			}
			query = q.Select + after + order
			args = slices.Concat(q.Args, page.lastKey)
		}
	}
}

// listPage is a page of a listing.
type listPage[T any] struct {
	values  []T   // those rows of the page that are in the segment
	lastKey []any // key of the last row that was read
	isLast  bool  // no page follows
}

// readPage reads rows until the page is full, or until no row is left.
func readPage[T any](rows iter.Seq2[ListedRow[T], error], l state.Listing) (page listPage[T], err error) {
	readRows, size := 0, 0
	for r, err := range rows {
		if err != nil {
			return listPage[T]{}, err
		}
		readRows++
		page.lastKey = r.Key
		if l.Segments <= 1 || l.Has(keyText(r.Key)) {
			page.values = append(page.values, r.Value)
			size += r.Size
		}
		if size >= pageBytes {
			return page, nil
		}
	}
	page.isLast = readRows < pageRows
	return page, nil
}

// keyText returns a text that identifies a key.
func keyText(key []any) string {
	var b []byte
	for _, k := range key {
		b = fmt.Appendf(b, "%T %v\x00", k, k)
	}
	return string(b)
}

// isTarget is an SQL condition: the row t of _tws_targets is the target whose values targetArgs returns.
const isTarget = `t.pipeline = ? AND t.name = ? AND t.view = ? AND t.birth = ?`

// targetArgs returns the arguments of isTarget, followed by more.
func targetArgs(t state.Target, more ...any) []any {
	return append([]any{t.Pipeline, t.Table, t.View, t.Birth}, more...)
}

// listTarget lists the rows of a table that belong to a target. In the query, m is the alias of the table. columns are
// the selected columns, and key has the columns of a unique key.
func listTarget[T any](
	ctx context.Context, db *DB, t state.Target, columns, table string, key []string, l state.Listing,
	scan func(*sql.Rows) (ListedRow[T], error),
) iter.Seq2[T, error] {
	q := ListQuery{
		Select: "SELECT " + columns + ` FROM "_tws_targets" t CROSS JOIN ` + table + " m WHERE " + isTarget +
			" AND m.target = t.id",
		Args: targetArgs(t), Key: key,
	}
	return List(ctx, db, q, l, scan)
}

// ListGuards yields three kinds of entries of a target, in this order: the guards that request a row, the claims of
// items, and the owners of the claimed rows. A guard that cannot be read is the zero Guard. A claim that cannot be read
// has no Source.
func (db *DB) ListGuards(ctx context.Context, t state.Target, l state.Listing) iter.Seq2[state.ItemGuard, error] {
	guards := seq.Map(listItemRecords(ctx, db, t, guardTable, l, parseGuard),
		func(r listedRecord[state.Guard]) (state.ItemGuard, bool, error) {
			isListed := r.value.Row != "" || !r.isReadable
			return state.ItemGuard{Item: r.source, Guard: r.value}, isListed, nil
		})
	claims := listTarget(ctx, db, t, "m.row, m.item, m.version, m.time, m.attributes", `"_tws_claims"`,
		[]string{"m.row", "m.item"}, l, scanListedClaim)
	owners := listTarget(ctx, db, t, "m.row, m.holder", `"_tws_seats"`, []string{"m.row"}, l, scanListedOwner)
	return seq.Concat(guards, claims, owners)
}

// scanListedClaim returns the entry of a claim. A claim that cannot be read is the zero Claim.
func scanListedClaim(rows *sql.Rows) (r ListedRow[state.ItemGuard], err error) {
	var row, source, version, attributes string
	var ns int64
	if err := rows.Scan(&row, &source, &version, &ns, &attributes); err != nil {
		return r, err
	}

	claim, _ := parseClaim(source, version, ns, attributes) // the zero Claim if it cannot be read
	r.Key, r.Size = []any{row, source}, len(row)+len(source)+len(attributes)
	r.Value = state.ItemGuard{Item: item.Key(source), Guard: state.Guard{Row: state.Row(row)}, Claim: &claim}
	return r, nil
}

// scanListedOwner returns the entry of the owner of a row.
func scanListedOwner(rows *sql.Rows) (r ListedRow[state.ItemGuard], err error) {
	var row, owner string
	err = rows.Scan(&row, &owner)
	r.Key, r.Size = []any{row}, len(row)+len(owner)
	r.Value = state.ItemGuard{Item: item.Key(owner), Guard: state.Guard{Row: state.Row(row)}, Owns: true}
	return r, err
}

// ListContributions yields those contributions of a target that have shares. A contribution that cannot be read is the
// zero Contribution.
func (db *DB) ListContributions(
	ctx context.Context, t state.Target, l state.Listing,
) iter.Seq2[state.ItemContribution, error] {
	return seq.Map(listItemRecords(ctx, db, t, contributionTable, l, parseContribution),
		func(r listedRecord[state.Contribution]) (state.ItemContribution, bool, error) {
			isListed := len(r.value.Shares) > 0 || !r.isReadable
			return state.ItemContribution{Item: r.source, Contribution: r.value}, isListed, nil
		})
}

// listedRecord is a guard or a contribution of a target.
type listedRecord[T any] struct {
	source     item.Key
	value      T // the zero T if the record cannot be read
	isReadable bool
}

// listItemRecords yields the guards or the contributions of a target.
func listItemRecords[T any](
	ctx context.Context, db *DB, t state.Target, table itemTable, l state.Listing,
	parse func(record.Version, bool, []byte) (T, error),
) iter.Seq2[listedRecord[T], error] {
	return listTarget(ctx, db, t, "m.item, m.version, m.void, m."+table.value, table.name, []string{"m.item"}, l,
		func(rows *sql.Rows) (r ListedRow[listedRecord[T]], err error) {
			var source, version string
			var void bool
			var value sql.RawBytes
			if err := rows.Scan(&source, &version, &void, &value); err != nil {
				return r, err
			}
			r.Key, r.Size = []any{source}, len(source)+len(value)
			r.Value.source = item.Key(source)
			v, err := record.ParseVersion(version)
			if err != nil {
				return r, nil //nolint:nilerr // the record is listed without a value
			}
			if parsed, err := parse(v, void, value); err == nil {
				r.Value.value, r.Value.isReadable = parsed, true
			}
			return r, nil
		})
}

// Snapshot calls do with a transaction that reads one state of the file.
func (db *DB) Snapshot(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := db.reader.BeginTx(ctx, nil)
	if err != nil {
		return db.WrapError("read", err)
	}
	err = do(tx)
	_ = tx.Rollback() // the function do only reads
	return err
}
