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

// Suite describes a kind of store under test.
type Suite struct {
	// Open opens the store in dir, or creates it. It may be called while the store is open: each worker opens the store
	// itself, as a process does. Required.
	Open func(ctx context.Context, dir string) (Store, error)

	// CountItems returns the number of items that a reader finds in a table. The reader does not know tombstones, so it
	// counts tombstones in place as items. Required.
	CountItems func(ctx context.Context, s Store, t view.Table) (int, error)

	// TypedKeys means that each key attribute of a table has one type, and that keys cannot be empty. Default: keys may
	// have any type, and may be empty.
	TypedKeys bool

	// Checks is as in [sinktest.Suite].
	Checks int

	// LargestCall is the number of rows in the largest call. Default: 3,000.
	LargestCall int

	// Only has the names of the views to run, for stores that are slow to open. Such a store may leave out views that
	// differ only in planning, which does not depend on the store. Default: all views.
	Only []string
}

// tombstoneKinds has the values of Target.InPlace, by name.
var tombstoneKinds = map[string]bool{"Apart": false, "InPlace": true}

// Run runs the suite on a store.
func Run(t *testing.T, s Suite) {
	t.Run("Store", func(t *testing.T) { contract(t, s) })
	all := views()
	store := opener(t, s.Open)()
	if _, ok := store.(view.ItemStore); ok {
		all = append(all, sharedViews()...)
	}
	if _, ok := store.(view.ItemRowsStore); ok {
		all = append(all, elementViews()...)
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

// suite returns the sink suite that checks the view on the stores of suite.
func (v *testView) suite(t *testing.T, suite Suite) sinktest.Suite {
	return sinktest.Suite{
		Checks:  suite.Checks,
		Stream:  sinktest.StreamOptions{Keys: v.keys, Snapshots: true},
		Model:   v.expectedRows,
		Refused: v.isExpectedCollision,
		ByState: v.collision != "" || v.forEach != nil,
		Flaws:   true,
		Open: func(dir string) (sinktest.Store, error) {
			open := func() (Store, error) { return suite.Open(t.Context(), dir) }
			readState := func(s Store) (map[string]string, error) { return v.state(t.Context(), s, suite) }
			return openStore(open, v.faultySink, v.flawed().faultySink, readState)
		},
	}
}

// faultySink returns the sink on a store whose calls f makes fail.
func (v *testView) faultySink(s Store, f *sinktest.Faults) (pipeline.Sink, error) {
	return v.sink(&faultyStore{s, f, v.maxActions})
}

// state returns the rows of the view's table, by key. If tombstones are apart, it also checks that a reader that does
// not know tombstones finds the same number of items.
func (v *testView) state(ctx context.Context, r Store, suite Suite) (map[string]string, error) {
	s, err := v.sink(nil)
	if err != nil {
		return nil, err
	}
	t := s.Target().Table
	rows, err := byKey(r.Rows(ctx, t, view.Query{}), v.key...)
	if err != nil || v.inPlace {
		return rows, err
	}
	n, err := suite.CountItems(ctx, r, t)
	if err == nil && n != len(rows) {
		err = fmt.Errorf("a plain reader finds %d items in the table, and there are %d rows", n, len(rows))
	}
	return rows, err
}

// byKey returns the rows by key. It returns no rows if the table does not exist.
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

// openStore returns a store for the sink suite. It opens the store once for reading, and once for each sink.
func openStore[S io.Closer](
	open func() (S, error), sink, flawed func(S, *sinktest.Faults) (pipeline.Sink, error),
	state func(S) (map[string]string, error),
) (sinktest.Store, error) {
	opened := &openedStores[S]{openNext: open}
	reader, err := opened.open()
	return sinktest.Store{
		Sink:   func(f *sinktest.Faults) (pipeline.Sink, error) { return opened.openSink(sink, f) },
		Flawed: func(f *sinktest.Faults) (pipeline.Sink, error) { return opened.openSink(flawed, f) },
		State:  func() (map[string]string, error) { return state(reader) },
		Close:  opened.close,
	}, err
}

// openedStores are the stores that one store of the sink suite opened.
type openedStores[S io.Closer] struct {
	openNext func() (S, error)

	mu     sync.Mutex
	stores []S
}

func (o *openedStores[S]) open() (S, error) {
	s, err := o.openNext()
	if err == nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.stores = append(o.stores, s)
	}
	return s, err
}

// openSink opens a store, and returns the sink that newSink makes of it.
func (o *openedStores[S]) openSink(
	newSink func(S, *sinktest.Faults) (pipeline.Sink, error), f *sinktest.Faults,
) (pipeline.Sink, error) {
	s, err := o.open()
	if err != nil {
		return nil, err
	}
	return newSink(s, f)
}

func (o *openedStores[S]) close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	var errs []error
	for _, s := range o.stores {
		errs = append(errs, s.Close())
	}
	o.stores = nil
	return errors.Join(errs...)
}

// readWithFaults makes a call that reads. The suite can make the call fail, before the read or after it. After the
// read, the result is returned beside the error.
func readWithFaults[R any](f *sinktest.Faults, read func() (R, error)) (r R, err error) {
	err = f.Call(1, func(int) error {
		r, err = read()
		return err
	})
	return r, err
}

// faultyStore is a store whose calls the suite can make fail, including between two mutations of one call.
type faultyStore struct {
	view.Store
	faults     *sinktest.Faults
	maxActions int // maximum number of actions in a transaction; 0 for the limit of the store
}

func (f *faultyStore) Apply(ctx context.Context, t view.Target, ms []view.Mutation) ([]view.Result, error) {
	return writeWithFaults(f.faults, ms, refusesRow, func(ms []view.Mutation) ([]view.Result, error) {
		return f.Store.Apply(ctx, t, ms)
	})
}
