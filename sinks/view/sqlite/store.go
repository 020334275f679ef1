package sqlite

import (
	"context"

	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
	"github.com/tablewake/tablewake/sinks/view"
)

// Options shape a store.
type Options = sqlite.Options

// Store holds the rows of any number of view tables in one file, with what must be
// remembered of the items that they are of. It is safe for concurrent use; its
// writes take turns.
type Store struct {
	*sqlite.DB

	tables map[string]*table // used with the writing connection only
	buf    []byte            // for the JSON of a row: likewise
}

var (
	_ view.Store         = (*Store)(nil)
	_ view.Reader        = (*Store)(nil)
	_ view.ItemStore     = (*Store)(nil)
	_ view.GroupStore    = (*Store)(nil)
	_ state.Fingerprints = (*Store)(nil)
	_ state.Purger       = (*Store)(nil)
	_ state.AgeReporter  = (*Store)(nil)
	_ view.Emptier       = (*Store)(nil)
)

// Open opens the file at path, and goes on where the last process left it.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	db, err := sqlite.Open(ctx, path, o)
	if err != nil {
		return nil, err
	}
	return &Store{DB: db, tables: make(map[string]*table)}, nil
}

// transact runs do in a transaction on a view's table, which is made where it is missing.
func (s *Store) transact(ctx context.Context, t view.Target, do func(x *tx) error) error {
	return s.Write(ctx, func(w *sqlite.Writer) error { return s.transactWith(ctx, w, t, 0, do) })
}

func (s *Store) transactWith(ctx context.Context, w *sqlite.Writer, t view.Target, id int64, do func(x *tx) error) error {
	tab, err := s.table(ctx, w, t.Table)
	if err != nil {
		return err
	}
	// A statement whose context can be cancelled costs a goroutine: the loops ask instead.
	x := &tx{Writer: w, store: s, table: tab, target: t, id: id, ctx: context.WithoutCancel(ctx)}
	return w.Transact(x.ctx, func() error { return do(x) })
}

// tx is a transaction on a view's table.
type tx struct {
	*sqlite.Writer
	store  *Store
	table  *table
	target view.Target
	id     int64           // that stands for the target in the tables of state, where it was asked for
	ctx    context.Context // cannot be cancelled
}
