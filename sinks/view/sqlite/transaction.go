package sqlite

import (
	"context"
	"errors"

	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
	"github.com/tablewake/tablewake/sinks/view"
)

// withTable calls do in a transaction on a view's table. It creates the table if it is missing.
func (s *Store) withTable(ctx context.Context, t view.Target, do func(x *tx) error) error {
	return s.Write(ctx, func(w *sqlite.Writer) error { return s.transact(w, t, 0, do) })
}

// transact calls do in a transaction on a view's table. id is the id of the target in the tables of the state.
func (s *Store) transact(w *sqlite.Writer, t view.Target, id int64, do func(x *tx) error) error {
	tab, err := s.ensureTable(w, t.Table)
	if err != nil {
		return err
	}
	x := &tx{Writer: w, store: s, table: tab, target: t, id: id}
	return w.Transact(func() error { return do(x) })
}

// tx is a transaction on a view's table.
type tx struct {
	*sqlite.Writer
	store  *Store
	table  *table
	target view.Target
	id     int64 // id of the target in the tables of the state; 0 for withTable
}

// errLost is returned if another writer changed the data that the write was based on. Then the write is rolled back,
// and its Result is Lost.
var errLost = errs.New("lost")

// lostUnless returns the error of a conditional write of the state: errLost unless the stored state was as expected.
func lostUnless(expected bool, err error) error {
	if err == nil && !expected {
		return errLost
	}
	return err
}

// withState calls do in a transaction on a view's table and on the state of the target.
func (s *Store) withState(ctx context.Context, t view.Target, do func(x *tx) error) error {
	return s.WithTarget(ctx, t.State(), func(w *sqlite.Writer, id int64) error { return s.transact(w, t, id, do) })
}

// writeEach runs n writes in one transaction, each of them completely or not at all.
func (s *Store) writeEach(
	ctx context.Context, t view.Target, n int, write func(x *tx, i int) error,
) ([]view.Result, error) {
	if n == 1 {
		return s.writeOne(ctx, t, write)
	}
	rs := make([]view.Result, n)
	err := s.withState(ctx, t, func(x *tx) (err error) {
		for i := range rs {
			if ctx.Err() != nil {
				return sqlite.CanceledError(ctx)
			}
			if rs[i], err = resultOf(x.Savepoint(func() error { return write(x, i) })); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return rs, nil
}

// writeOne is writeEach for one write. It needs no savepoint, which would copy every page that the write changes.
func (s *Store) writeOne(ctx context.Context, t view.Target, write func(x *tx, i int) error) ([]view.Result, error) {
	r, err := resultOf(s.withState(ctx, t, func(x *tx) error {
		if ctx.Err() != nil {
			return sqlite.CanceledError(ctx)
		}
		return write(x, 0)
	}))
	if err != nil {
		return nil, err
	}
	return []view.Result{r}, nil
}

// resultOf returns the result of a write whose error is err. If err ends the whole call, resultOf returns it as the
// error.
func resultOf(err error) (view.Result, error) {
	switch {
	case errors.Is(err, errLost):
		return view.Result{Lost: true}, nil
	case state.IsPermanent(err):
		return view.Result{Err: err}, nil
	default:
		return view.Result{}, err
	}
}
