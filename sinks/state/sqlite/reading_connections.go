package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"sync"

	"github.com/tablewake/tablewake/sinks/internal/seq"
)

// reader is the pool of reading connections, with the statements that are prepared on them.
type reader struct {
	*sql.DB
	mu       sync.Mutex
	prepared map[string]*sql.Stmt // SQL -> statement
}

func (r *reader) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s, ok := r.prepared[query]; ok {
		return s, nil
	}
	s, err := r.PrepareContext(ctx, query)
	if err == nil {
		r.prepared[query] = s
	}
	return s, err
}

func (r *reader) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, s := range r.prepared {
		errs = append(errs, s.Close())
	}
	clear(r.prepared)
	return errors.Join(append(errs, r.Close())...)
}

// Read yields the result of scan for each row of a query. All rows are from one state of the file. An error ends the
// sequence.
func Read[T any](
	ctx context.Context, db *DB, query string, args []any, scan func(*sql.Rows) (T, error),
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		s, err := db.reader.prepare(ctx, query)
		if err != nil {
			yield(none, db.WrapError("read", err))
			return
		}
		rows, err := s.QueryContext(ctx, args...)
		if err != nil {
			yield(none, db.WrapError("read", err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			v, err := scan(rows)
			if !yield(v, db.WrapError("read", err)) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(none, db.WrapError("read", err))
		}
	}
}

// ReadAll returns the result of scan for each row of a query. All rows are from one state of the file.
func ReadAll[T any](
	ctx context.Context, db *DB, query string, args []any, scan func(*sql.Rows) (T, error),
) ([]T, error) {
	return seq.Collect(Read(ctx, db, query, args, scan))
}

// ReadFirst returns the result of scan for the first row of a query. It returns false if the query has no row.
func ReadFirst[T any](
	ctx context.Context, db *DB, query string, args []any, scan func(*sql.Rows) (T, error),
) (T, bool, error) {
	for v, err := range Read(ctx, db, query, args, scan) {
		return v, err == nil, err
	}
	var none T
	return none, false, nil
}

// HasTable reports whether the file has a table.
func HasTable(ctx context.Context, db *DB, name string) (bool, error) {
	_, found, err := ReadFirst(ctx, db, `SELECT 1 FROM sqlite_schema WHERE name = ?`, []any{name}, ScanColumn[int])
	return found, err
}

// ScanColumn returns the value of a row with one column.
func ScanColumn[T any](rows *sql.Rows) (v T, err error) {
	err = rows.Scan(&v)
	return v, err
}
