package viewtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/view"
)

// Store is a store under test.
type Store interface {
	view.Store
	view.Reader
	Close() error
}

// Suite is a kind of store under test.
type Suite struct {
	// Open opens the store in dir, new or as it was left. One that is open may be
	// opened again: each worker opens the store by itself, as a process does. Required.
	Open func(ctx context.Context, dir string) (Store, error)

	// Plain counts what a reader that knows nothing of tombstones finds in a table. Required.
	Plain func(ctx context.Context, s Store, t view.Table) (int, error)

	// TypedKeys is for stores that fix the type of a table's key attributes, and take no
	// empty key. Default: a key may be of any type, and empty.
	TypedKeys bool

	// Checks is as in [sinktest.Suite].
	Checks int

	// Many is how many rows the largest call writes. Default: 3,000.
	Many int

	// Only is the names of views to run, for stores that are slow to open: the others
	// differ in what is planned, not in what a store does. Default: all.
	Only []string
}

// Run checks a store.
func Run(t *testing.T, s Suite) {
	t.Run("Store", func(t *testing.T) { contract(t, s) })
	all := views()
	if s.keepsGuards(t) {
		all = append(all, sharedViews()...)
	}
	for _, v := range all {
		if len(s.Only) > 0 && !slices.Contains(s.Only, v.name) {
			continue
		}
		t.Run(v.name, func(t *testing.T) {
			t.Parallel() // a store waits for its disk most of the time
			sinktest.Run(t, v.suite(t, s))
		})
	}
}

// keepsGuards tells whether the store is a [view.ItemStore] too.
func (suite Suite) keepsGuards(t *testing.T) bool {
	_, ok := opener(t, suite.Open)().(view.ItemStore)
	return ok
}

// suite is the sink suite for a view on the store.
func (v *subject) suite(t *testing.T, of Suite) sinktest.Suite {
	return sinktest.Suite{
		Checks:  of.Checks,
		Stream:  sinktest.StreamOptions{Keys: v.keys, Snapshots: true},
		Model:   v.rows,
		Refused: v.refused,
		ByState: v.rule != "",
		Flaws:   true,
		Open: func(dir string) (sinktest.Store, error) {
			return openStore(
				func() (Store, error) { return of.Open(t.Context(), dir) },
				func(s Store, f *sinktest.Faults) (pipeline.Sink, error) { return v.sink(&faulty{s, f}) },
				func(s Store, f *sinktest.Faults) (pipeline.Sink, error) { return v.flawed().sink(&faulty{s, f}) },
				func(s Store) (map[string]string, error) { return v.state(t.Context(), s, of) })
		},
	}
}

// state is every row of the view's table by its key. Where tombstones are apart a plain
// reader finds the same.
func (v *subject) state(ctx context.Context, r Store, of Suite) (map[string]string, error) {
	s, err := v.sink(nil)
	if err != nil {
		return nil, err
	}
	t := s.Target().Table
	rows, err := byKey(r.Rows(ctx, t, view.Query{}), v.key...)
	if err != nil || v.inPlace {
		return rows, err
	}
	n, err := of.Plain(ctx, r, t)
	if err == nil && n != len(rows) {
		err = fmt.Errorf("a plain reader finds %d items in the table, and there are %d rows", n, len(rows))
	}
	return rows, err
}

// byKey is every row by its key; none where nothing was written yet.
func byKey(all iter.Seq2[view.Row, error], key ...string) (map[string]string, error) {
	rows := make(map[string]string)
	for row, err := range all {
		if errors.Is(err, view.ErrNoTable) {
			break
		}
		if err != nil {
			return nil, err
		}
		item := make(sinktest.Item)
		if err := item.Decode(row.Item.AppendDynamoDBJSON(nil)); err != nil {
			return nil, err
		}
		name := rowName(item, key...)
		if _, twice := rows[name]; twice {
			return nil, errors.New("the row " + name + " is there twice")
		}
		rows[name] = sinktest.Canonical(item)
	}
	return rows, nil
}

func rowName(row sinktest.Item, key ...string) string {
	name := ""
	for _, k := range key {
		name += k + "=" + sinktest.Canonical(row[k]) + " "
	}
	return name
}

// openStore opens a store once to read, and once for each sink.
func openStore[S io.Closer](
	open func() (S, error), sink, flawed func(S, *sinktest.Faults) (pipeline.Sink, error), state func(S) (map[string]string, error),
) (sinktest.Store, error) {
	p := &process[S]{open: open}
	reader, err := p.store()
	if err != nil {
		return sinktest.Store{}, err
	}
	of := func(sink func(S, *sinktest.Faults) (pipeline.Sink, error)) func(*sinktest.Faults) (pipeline.Sink, error) {
		return func(f *sinktest.Faults) (pipeline.Sink, error) {
			s, err := p.store()
			if err != nil {
				return nil, err
			}
			return sink(s, f)
		}
	}
	read := func() (map[string]string, error) { return state(reader) }
	return sinktest.Store{Sink: of(sink), Flawed: of(flawed), State: read, Close: p.close}, nil
}

// process is what has a store open: once for each worker, and once to read.
type process[S io.Closer] struct {
	open func() (S, error)
	mu   sync.Mutex
	all  []S
}

func (p *process[S]) store() (S, error) {
	s, err := p.open()
	if err != nil {
		return s, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, s)
	return s, nil
}

func (p *process[S]) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, s := range p.all {
		errs = append(errs, s.Close())
	}
	p.all = nil
	return errors.Join(errs...)
}

// through makes a call of n writes that the suite may fail, also between two of them.
func through[R any](f *sinktest.Faults, n int, call func(n int) (R, error)) (r R, err error) {
	err = f.Call(n, func(n int) error {
		r, err = call(n)
		return err
	})
	return r, err
}

// faulty lets the suite fail a store's calls, also between two mutations of one.
type faulty struct {
	view.Store
	faults *sinktest.Faults
}

func (f *faulty) Apply(ctx context.Context, t view.Target, ms []view.Mutation) ([]view.Result, error) {
	return through(f.faults, len(ms), func(n int) ([]view.Result, error) {
		return refusing(ms[:n], refusesRow, func(ms []view.Mutation) ([]view.Result, error) { return f.Store.Apply(ctx, t, ms) })
	})
}
