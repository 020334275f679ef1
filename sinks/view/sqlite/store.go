package sqlite

import (
	"context"
	"errors"

	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
	"github.com/tablewake/tablewake/sinks/view"
)

// Options configure a store.
type Options = sqlite.Options

// Store holds the rows of any number of view tables in one file, with the guards, claims, contributions and
// tombstones of their items. It is safe for concurrent use. Only one write runs at a time.
type Store struct {
	*sqlite.DB

	tables map[string]*table // only for the writing connection
	buf    []byte            // memory for the JSON of a row; only for the writing connection
}

var (
	_ view.Store         = (*Store)(nil)
	_ view.Reader        = (*Store)(nil)
	_ view.ItemStore     = (*Store)(nil)
	_ view.ClaimLister   = (*Store)(nil)
	_ view.GroupStore    = (*Store)(nil)
	_ state.Fingerprints = (*Store)(nil)
	_ state.Purger       = (*Store)(nil)
	_ state.AgeReporter  = (*Store)(nil)
	_ view.Emptier       = (*Store)(nil)
)

// Open opens the file at path. It creates the list of view tables if it is missing and o allows writes.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	db, err := sqlite.Open(ctx, path, o)
	if err != nil {
		return nil, err
	}
	if !o.ReadOnly {
		err = db.Write(ctx, func(w *sqlite.Writer) error { return w.ExecDDL(createCatalog) })
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &Store{DB: db, tables: make(map[string]*table)}, nil
}

// Empty reports whether the file has no rows, tombstones, guards or contributions of a view or an aggregate.
func (s *Store) Empty(ctx context.Context, t view.Target) (empty bool, err error) {
	err = s.withState(ctx, t, func(x *tx) error {
		q := "SELECT NOT EXISTS (SELECT 1 FROM " + quote(tablePrefix+t.Name) + ` WHERE view = ? AND pipeline = ?)`
		if _, err := x.QueryRow(q, []any{t.View, t.Pipeline}, &empty); err != nil || !empty {
			return err
		}
		remembers, err := x.Remembers(x.id)
		empty = !remembers
		return err
	})
	return empty, err
}
