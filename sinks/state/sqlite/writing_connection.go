package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/tablewake/tablewake/sinks/state"
)

// Writer is the writing connection. [DB.Write] lends it to a function, which may use the Writer until the function
// returns. A Writer prepares each statement once. Its errors are wrapped by [DB.WrapError].
//
// Statements cannot be cancelled, because the driver would start a goroutine for each of them. A function with many
// statements checks its context between them.
type Writer struct {
	db       *DB
	conn     *sql.Conn
	prepared map[string]*sql.Stmt // SQL -> statement
	targets  map[state.Target]int64
	buf      []byte // reused to encode contributions
}

// Transact calls do in a transaction. Until Transact returns, no other process writes to the file. If do returns nil,
// Transact commits. If Transact returns nil, the transaction is durable. If do fails, Transact rolls back.
func (w *Writer) Transact(do func() error) (err error) {
	if err := w.Exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	returned := false
	defer func() {
		if !returned { // do panicked; after a recover the connection must still be usable
			_ = w.Exec("ROLLBACK")
		}
	}()
	err = do()
	returned = true
	if err == nil {
		err = w.Exec("COMMIT")
	}
	if err == nil {
		return nil
	}
	// After some errors, such as a full disk, SQLite has rolled back already.
	if rollbackErr := w.Exec("ROLLBACK"); rollbackErr != nil && !noTransaction(rollbackErr) {
		return errors.Join(err, rollbackErr)
	}
	return err
}

// transact calls do with the Writer, in a transaction.
func (db *DB) transact(ctx context.Context, do func(w *Writer) error) error {
	return db.Write(ctx, func(w *Writer) error { return w.Transact(func() error { return do(w) }) })
}

// execCount runs one statement with the Writer. It returns the number of rows that the statement changed.
func (db *DB) execCount(ctx context.Context, query string, args ...any) (n int64, err error) {
	err = db.Write(ctx, func(w *Writer) error {
		n, err = w.ExecCount(query, args...)
		return err
	})
	return n, err
}

// Savepoint calls do within a transaction. If do fails, Savepoint undoes the writes of do, and the transaction
// continues.
func (w *Writer) Savepoint(do func() error) error {
	if err := w.Exec("SAVEPOINT whole"); err != nil {
		return err
	}
	err := do()
	if err != nil {
		if rollbackErr := w.Exec("ROLLBACK TO whole"); rollbackErr != nil {
			return errors.Join(err, rollbackErr)
		}
	}
	return errors.Join(err, w.Exec("RELEASE whole"))
}

// Stmt returns the prepared statement of a query.
func (w *Writer) Stmt(query string) (*sql.Stmt, error) {
	if s, ok := w.prepared[query]; ok {
		return s, nil
	}
	s, err := w.conn.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, w.db.WrapError("prepare", err)
	}
	w.prepared[query] = s
	return s, nil
}

// Exec runs a statement.
func (w *Writer) Exec(query string, args ...any) error {
	_, err := w.ExecCount(query, args...)
	return err
}

// ExecCount runs a statement, and returns the number of rows that it changed.
func (w *Writer) ExecCount(query string, args ...any) (int64, error) {
	s, err := w.Stmt(query)
	if err != nil {
		return 0, err
	}
	res, err := s.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, w.db.WrapError("write", err)
	}
	n, err := res.RowsAffected()
	return n, w.db.WrapError("write", err)
}

// QueryRow scans the first row of a query into dest. It returns false if the query has no row.
func (w *Writer) QueryRow(query string, args []any, dest ...any) (bool, error) {
	s, err := w.Stmt(query)
	if err != nil {
		return false, err
	}
	err = s.QueryRowContext(context.Background(), args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, w.db.WrapError("read", err)
}

// QueryRows calls each for every row of a query.
func (w *Writer) QueryRows(query string, args []any, each func(*sql.Rows) error) error {
	s, err := w.Stmt(query)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(context.Background(), args...)
	if err != nil {
		return w.db.WrapError("read", err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return w.db.WrapError("read", rows.Err())
}

// ExecDDL runs a statement that defines a table or sets a pragma. It does not keep the prepared statement.
func (w *Writer) ExecDDL(query string) error {
	_, err := w.conn.ExecContext(context.Background(), query)
	return w.db.WrapError("create", err)
}

func (w *Writer) close() error {
	var errs []error
	for _, s := range w.prepared {
		errs = append(errs, s.Close())
	}
	clear(w.prepared)
	return errors.Join(append(errs, w.conn.Close())...)
}
