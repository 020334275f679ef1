package dynamo

import (
	"context"
	"errors"
	"iter"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/internal/rowqueue"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/view"
)

// Store writes and reads the rows of any number of view tables. It keeps guards, claims, contributions and
// tombstones in the state table of its DB. It is safe for concurrent use, by any number of processes, and starts no
// goroutine that outlives a call.
type Store struct {
	*dynamo.DB
	Reader

	rowQueue rowqueue.Queue[rowID]
}

var (
	_ view.Store         = (*Store)(nil)
	_ view.Reader        = (*Store)(nil)
	_ view.Emptier       = (*Store)(nil)
	_ state.Fingerprints = (*Store)(nil)
	_ state.Purger       = (*Store)(nil)
	_ state.AgeReporter  = (*Store)(nil)
)

// New returns a store on db, whose client also reaches the view tables. It calls nothing.
func New(db *dynamo.DB) (*Store, error) { return NewAt(db, db) }

// NewAt returns a store on db whose view tables are reached by the client of rows. If that client is for another
// account or Region, no transaction reaches both tables, and the store has only rows whose tombstones are in place.
func NewAt(db, rows *dynamo.DB) (*Store, error) {
	if db == nil || rows == nil {
		return nil, errors.New("dynamodb: a view store needs the DB of the state table")
	}
	return &Store{DB: db, Reader: Reader{views: rows}}, nil
}

// Rows writes and reads rows that guard themselves and have their tombstones in place. It needs no state table.
type Rows struct{ Reader }

var (
	_ view.Store        = (*Rows)(nil)
	_ view.Reader       = (*Rows)(nil)
	_ view.Inspector    = (*Rows)(nil)
	_ state.AgeReporter = (*Rows)(nil)
)

// NewRows returns a store of rows alone. Its tombstones live for the retention of db.
func NewRows(db *dynamo.DB) (*Rows, error) {
	if db == nil {
		return nil, errors.New("dynamodb: a store of rows needs a DB")
	}
	return &Rows{Reader{views: db}}, nil
}

// Apply is [Store.Apply] for tombstones in place.
func (r *Rows) Apply(ctx context.Context, t view.Target, ms []view.Mutation) ([]view.Result, error) {
	if !t.InPlace {
		return nil, noTombstones(t)
	}
	return applyTo(ctx, r.views, ms, newRowWriter(r.views, t).writeInPlace)
}

func noTombstones(t view.Target) error {
	return pipeline.Fatal(errs.Errorf("dynamodb: the tombstones of the view %s have no place: name a state table, or keep them in place", redact.Safe(t.View)))
}

// StoreAge reports that the store forgets: the table's TTL deletes tombstones.
func (r *Rows) StoreAge(context.Context) (state.StoreAge, error) {
	return state.StoreAge{Forgets: true}, nil
}

// beforeWrite records in the state that the target is written to. From time to time it checks that the tables are
// those with which the process started.
func (s *Store) beforeWrite(ctx context.Context, t view.Target, witnesses iter.Seq[item.Key]) error {
	if err := s.Touch(ctx, t.State(), witnesses); err != nil {
		return err
	}
	return s.CheckTables(ctx, t.State(), s.views)
}

// Empty reports whether nothing was ever written for a view or an aggregate, by any process. Rows that were removed
// since count as written.
func (s *Store) Empty(ctx context.Context, t view.Target) (bool, error) {
	return s.Untouched(ctx, t.State())
}
