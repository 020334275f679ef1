package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/tablewake/tablewake/sinks/state"
)

// Writer is the connection that writes, lent by [DB.Write]: it is of use until the
// function that it was given to returns. It prepares a statement once. Its errors are
// marked as [DB.WrapError] does.
type Writer struct {
	db       *DB
	conn     *sql.Conn
	prepared map[string]*sql.Stmt // by their text
	targets  map[state.Target]int64
	buf      []byte // of a contribution
}

// Transact runs do in a transaction that has the file to itself. It is committed
// and durable when Transact returns nil, and undone when do fails.
//
// A statement whose context can be cancelled costs a goroutine: do looks at its own
// context between them, and uses ctx without it.
func (w *Writer) Transact(ctx context.Context, do func() error) (err error) {
	if err := w.Exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	returned := false
	defer func() {
		if !returned { // do panicked: whoever recovers goes on with a connection that is free
			_ = w.Exec(ctx, "ROLLBACK")
		}
	}()
	err = do()
	returned = true
	if err == nil {
		err = w.Exec(ctx, "COMMIT")
	}
	if err == nil {
		return nil
	}
	// Some errors, a full disk among them, roll back by themselves: then there is nothing left to do.
	if undo := w.Exec(ctx, "ROLLBACK"); undo != nil && !noTransaction(undo) {
		return errors.Join(err, undo)
	}
	return err
}

// transact runs do in a transaction of its own.
func (db *DB) transact(ctx context.Context, do func(ctx context.Context, w *Writer) error) error {
	return db.Write(ctx, func(w *Writer) error {
		ctx := context.WithoutCancel(ctx)
		return w.Transact(ctx, func() error { return do(ctx, w) })
	})
}

// execCount runs one statement by itself, and tells how many rows it changed.
func (db *DB) execCount(ctx context.Context, query string, args ...any) (n int64, err error) {
	err = db.Write(ctx, func(w *Writer) error {
		n, err = w.ExecCount(context.WithoutCancel(ctx), query, args...)
		return err
	})
	return n, err
}

// Savepoint runs do within a transaction. Where it does not return nil, what it wrote is
// undone, and the transaction can go on.
func (w *Writer) Savepoint(ctx context.Context, do func() error) error {
	if err := w.Exec(ctx, "SAVEPOINT whole"); err != nil {
		return err
	}
	err := do()
	if err != nil {
		if undo := w.Exec(ctx, "ROLLBACK TO whole"); undo != nil {
			return errors.Join(err, undo)
		}
	}
	return errors.Join(err, w.Exec(ctx, "RELEASE whole"))
}

// Stmt is the statement of a query, prepared once.
func (w *Writer) Stmt(ctx context.Context, query string) (*sql.Stmt, error) {
	if s, ok := w.prepared[query]; ok {
		return s, nil
	}
	s, err := w.conn.PrepareContext(context.WithoutCancel(ctx), query)
	if err != nil {
		return nil, w.db.WrapError("prepare", err)
	}
	w.prepared[query] = s
	return s, nil
}

// Exec runs a statement.
func (w *Writer) Exec(ctx context.Context, query string, args ...any) error {
	_, err := w.ExecCount(ctx, query, args...)
	return err
}

// ExecCount runs a statement, and tells how many rows it changed.
func (w *Writer) ExecCount(ctx context.Context, query string, args ...any) (int64, error) {
	s, err := w.Stmt(ctx, query)
	if err != nil {
		return 0, err
	}
	res, err := s.ExecContext(ctx, args...)
	if err != nil {
		return 0, w.db.WrapError("write", err)
	}
	n, err := res.RowsAffected()
	return n, w.db.WrapError("write", err)
}

// QueryRow reads the only row that a statement brings into dest; false where it brings none.
func (w *Writer) QueryRow(ctx context.Context, query string, args []any, dest ...any) (bool, error) {
	s, err := w.Stmt(ctx, query)
	if err != nil {
		return false, err
	}
	err = s.QueryRowContext(ctx, args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, w.db.WrapError("read", err)
}

// QueryRows hands each row that a statement brings to each.
func (w *Writer) QueryRows(ctx context.Context, query string, args []any, each func(*sql.Rows) error) error {
	s, err := w.Stmt(ctx, query)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(ctx, args...)
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

// ExecDDL runs a statement that defines a table or the like: it is run once, and not kept.
func (w *Writer) ExecDDL(ctx context.Context, query string) error {
	_, err := w.conn.ExecContext(ctx, query)
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
