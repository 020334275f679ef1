package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
	"github.com/tablewake/tablewake/sinks/view"
)

// errLost ends a write whose condition does not hold any more, and nothing else.
var errLost = errors.New("lost")

// withState is a transaction on a view's table and on what is remembered for it.
func (s *Store) withState(ctx context.Context, t view.Target, do func(x *tx) error) error {
	return s.withTarget(ctx, t, func(w *sqlite.Writer, id int64) error {
		tab, err := s.table(ctx, w, t.Table)
		if err != nil {
			return err
		}
		x := &tx{Writer: w, store: s, table: tab, target: t, id: id, ctx: context.WithoutCancel(ctx)}
		return w.Transact(x.ctx, func() error { return do(x) })
	})
}

// withTarget has the writing connection and the number of a target. What is
// read through it is consistent: nothing is written meanwhile by this process, and a
// statement by itself sees one state of the file.
func (s *Store) withTarget(ctx context.Context, t view.Target, do func(w *sqlite.Writer, id int64) error) error {
	return s.Write(ctx, func(w *sqlite.Writer) error {
		id, err := w.Target(ctx, sqlite.Target{Pipeline: t.Pipeline, Table: t.Name, View: t.View})
		if err != nil {
			return err
		}
		return do(w, id)
	})
}

// each runs one write after the other, each whole or not at all.
func (x *tx) each(ctx context.Context, n int, write func(i int) error) ([]view.ItemResult, error) {
	rs := make([]view.ItemResult, n)
	for i := range rs {
		if ctx.Err() != nil {
			return nil, sqlite.Stopped(ctx)
		}
		switch err := x.Whole(x.ctx, func() error { return write(i) }); {
		case err == nil:
		case errors.Is(err, errLost):
			rs[i].Lost = true
		case pipeline.IsFatal(err):
			return nil, err
		default:
			if _, again := pipeline.Retryable(err); again {
				return nil, err
			}
			rs[i].Err = err
		}
	}
	return rs, nil
}

// owner is the view that a row belongs to, if it is another one than the target;
// "" where it may be taken.
func (x *tx) owner(pk, sk any) (string, error) {
	var version, owner, pipe string
	found, err := x.Row(x.ctx, x.table.guard, []any{pk, sk}, &version, &owner, &pipe)
	switch {
	case err != nil || !found || owner == x.target.View && pipe == x.target.Pipeline:
		return "", err
	case owner == x.target.View:
		return owner + " of pipeline " + pipe, nil
	}
	return owner, nil
}

// put replaces a row, and remove takes it away: the guards have been asked before.
func (x *tx) put(r state.Row, version pipeline.Version, source pipeline.Key, columns []view.Column) error {
	pk, sk, err := x.key(r)
	if err != nil {
		return err
	}
	attributes, item := x.json(pk, sk, columns)
	return x.Exec(x.ctx, x.table.replace, keyColumn(pk), keyColumn(sk), version.String(), x.target.Pipeline, x.target.View, string(source), attributes, item)
}

func (x *tx) remove(r state.Row) error {
	pk, sk, err := x.key(r)
	if err != nil {
		return err
	}
	return x.Exec(x.ctx, x.table.remove, keyColumn(pk), keyColumn(sk))
}

// key is the row's key, as the table's attributes are.
func (x *tx) key(r state.Row) (pk, sk pipeline.Value, err error) {
	pk, sk, err = r.Decode()
	if err == nil && sk.Exists() != (x.table.SK != "") {
		err = errors.New("another number of attributes")
	}
	if err != nil {
		err = fmt.Errorf("sqlite: the row %q of the view %s is no key %s: %w", r, x.target.View, keyNames(x.table.Table), err)
	}
	return pk, sk, err
}
