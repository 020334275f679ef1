package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
	"github.com/tablewake/tablewake/sinks/view"
)

// errLost ends a write whose condition does not hold any more, and nothing else.
var errLost = errs.New("lost")

// withState is a transaction on a view's table and on what is remembered for it.
func (s *Store) withState(ctx context.Context, t view.Target, do func(x *tx) error) error {
	return s.withTarget(ctx, t, func(w *sqlite.Writer, id int64) error { return s.transactWith(ctx, w, t, id, do) })
}

// withTarget has the writing connection and the number of a target. What is
// read through it is consistent: nothing is written meanwhile by this process, and a
// statement by itself sees one state of the file.
func (s *Store) withTarget(ctx context.Context, t view.Target, do func(w *sqlite.Writer, id int64) error) error {
	return s.Write(ctx, func(w *sqlite.Writer) error {
		id, err := w.Target(ctx, t.State())
		if err != nil {
			return err
		}
		return do(w, id)
	})
}

// each runs one write after the other in one transaction, each whole or not at all.
func (s *Store) each(ctx context.Context, t view.Target, n int, write func(x *tx, i int) error) ([]view.Result, error) {
	rs := make([]view.Result, n)
	err := s.withState(ctx, t, func(x *tx) error {
		for i := range rs {
			if ctx.Err() != nil {
				return sqlite.CanceledError(ctx)
			}
			do := func() error { return write(x, i) }
			if n == 1 { // it is whole as the transaction is: a savepoint would copy every page that it writes
				return do()
			}
			var err error
			if rs[i], err = result(x.Savepoint(x.ctx, do)); err != nil {
				return err
			}
		}
		return nil
	})
	if n == 1 {
		rs[0], err = result(err)
	}
	if err != nil {
		return nil, err
	}
	return rs, nil
}

// result is what became of one write, and the error that is not of it alone.
func result(err error) (view.Result, error) {
	switch {
	case errors.Is(err, errLost):
		return view.Result{Lost: true}, nil
	case state.IsPermanent(err):
		return view.Result{Err: err}, nil
	default:
		return view.Result{}, err
	}
}

// held is the version of the row at a key, "" where there is none. foreign is not nil where
// the row belongs to another sink, and the error is fatal where it is of another birth.
func (x *tx) held(pk, sk item.Value) (version string, foreign *view.ForeignRowError, err error) {
	var owner, pipe, birth string
	found, err := x.QueryRow(x.ctx, x.table.guard, []any{keyColumn(pk), keyColumn(sk)}, &version, &owner, &pipe, &birth)
	if err == nil && found && owner == x.target.View && pipe == x.target.Pipeline && birth != x.target.Birth {
		err = state.BirthMismatch(x.target.View, "a row of table "+x.target.Name, birth, x.target.Birth)
	}
	if err != nil || !found || owner == x.target.View && pipe == x.target.Pipeline {
		return version, nil, err
	}
	row, err := state.MakeRow(pk, sk)
	return version, &view.ForeignRowError{Target: x.target, Row: row, View: owner, Pipeline: pipe}, err
}

// foreign is the error of a row that belongs to another sink; nil where it does not.
func (x *tx) foreign(r state.Row) (*view.ForeignRowError, error) {
	pk, sk, err := x.key(r)
	if err != nil {
		return nil, err
	}
	_, foreign, err := x.held(pk, sk)
	return foreign, err
}

// put replaces a row, and remove takes it away: the guards have been asked before. Their
// error is permanent where the row belongs to another sink.
func (x *tx) put(r state.Row, version record.Version, source item.Key, columns []state.Column) error {
	pk, sk, err := x.key(r)
	if err != nil {
		return err
	}
	attributes, item := x.json(pk, sk, columns)
	n, err := x.ExecCount(x.ctx, x.table.replace, keyColumn(pk), keyColumn(sk), version.String(), false, x.target.Pipeline, x.target.View, x.target.Birth, string(source), attributes, item)
	if err != nil || n > 0 {
		return err
	}
	return x.refused(r)
}

func (x *tx) remove(r state.Row) error {
	pk, sk, err := x.key(r)
	if err != nil {
		return err
	}
	n, err := x.ExecCount(x.ctx, x.table.remove, keyColumn(pk), keyColumn(sk), x.target.View, x.target.Pipeline, x.target.Birth)
	if err != nil || n > 0 {
		return err
	}
	return x.refused(r) // unless there is no row
}

// refused is why a row was not written: it belongs to another sink.
func (x *tx) refused(r state.Row) error {
	foreign, err := x.foreign(r)
	if err != nil || foreign == nil {
		return err
	}
	return foreign
}

// key is the row's key, as the table's attributes are.
func (x *tx) key(r state.Row) (pk, sk item.Value, err error) {
	pk, sk, err = r.Decode()
	if err == nil && sk.Exists() != (x.table.SK != "") {
		err = errs.New("another number of attributes")
	}
	if err != nil {
		err = fmt.Errorf("sqlite: the row %q of the view %s is no key %s: %w", r, x.target.View, keyNames(x.table.Table), err)
	}
	return pk, sk, err
}

// Empty tells whether a view or an aggregate has neither rows nor tombstones, nor
// anything that is remembered of items.
func (s *Store) Empty(ctx context.Context, t view.Target) (empty bool, err error) {
	err = s.withState(ctx, t, func(x *tx) error {
		q := "SELECT NOT EXISTS (SELECT 1 FROM " + quote(prefix+t.Name) + ` WHERE view = ? AND pipeline = ?)`
		if _, err := x.QueryRow(x.ctx, q, []any{t.View, t.Pipeline}, &empty); err != nil || !empty {
			return err
		}
		remembers, err := x.Remembers(x.ctx, x.id)
		empty = !remembers
		return err
	})
	return empty, err
}
