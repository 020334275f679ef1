package dynamo

import (
	"context"
	"errors"
	"iter"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/view"
)

// Store writes and reads the rows of any number of view tables, and keeps what must be
// remembered of the items that they are of in the state table of its DB. It is safe for
// concurrent use, by any number of processes, and starts no goroutine that outlives a call.
type Store struct {
	*dynamo.DB
	Reader

	turns turns[rowID]
}

var (
	_ view.Store         = (*Store)(nil)
	_ view.Reader        = (*Store)(nil)
	_ view.Emptier       = (*Store)(nil)
	_ state.Fingerprints = (*Store)(nil)
	_ state.Purger       = (*Store)(nil)
	_ state.AgeReporter  = (*Store)(nil)
)

// New is a store on db, whose client reaches the view tables too. It calls nothing.
func New(db *dynamo.DB) (*Store, error) { return NewAt(db, db) }

// NewAt is a store on db whose view tables the client of rows reaches. Where that is in
// another account or Region, it holds rows whose tombstones are in place and no others: no
// transaction reaches both.
func NewAt(db, rows *dynamo.DB) (*Store, error) {
	if db == nil || rows == nil {
		return nil, errors.New("dynamodb: a view store needs the DB of the state table")
	}
	return &Store{DB: db, Reader: Reader{views: rows}}, nil
}

// Rows writes and reads rows that guard themselves and have their tombstones in place. It
// remembers nothing besides, and needs no state table.
type Rows struct{ Reader }

var (
	_ view.Store        = (*Rows)(nil)
	_ view.Reader       = (*Rows)(nil)
	_ view.Inspector    = (*Rows)(nil)
	_ state.AgeReporter = (*Rows)(nil)
)

// NewRows is a store of rows alone, whose tombstones live for the retention of db.
func NewRows(db *dynamo.DB) (*Rows, error) {
	if db == nil {
		return nil, errors.New("dynamodb: a store of rows needs a DB")
	}
	return &Rows{Reader{views: db}}, nil
}

// Apply is [Store.Apply] of tombstones in place.
func (r *Rows) Apply(ctx context.Context, t view.Target, ms []view.Mutation) ([]view.Result, error) {
	if !t.InPlace {
		return nil, pipeline.Fatal(errs.Errorf("dynamodb: the tombstones of the view %s have no place: name a state table, or keep them in place", redact.Safe(t.View)))
	}
	return applyWith(ctx, r.views, ms, newWriter(r.views, t).write)
}

// StoreAge is that of tombstones alone, which a table forgets, however old it is.
func (r *Rows) StoreAge(context.Context) (state.StoreAge, error) {
	return state.StoreAge{Forgets: true}, nil
}

// beforeWrite notes that a target is written to, and sees from time to time that its tables are still those
// that the process began with.
func (s *Store) beforeWrite(ctx context.Context, t view.Target, witnesses iter.Seq[item.Key]) error {
	if err := s.Touch(ctx, t.State(), witnesses); err != nil {
		return err
	}
	return s.CheckTables(ctx, t.State(), s.views)
}

// Empty tells whether nothing was ever written for a view or an aggregate, by any
// process: what was removed and forgotten since counts as written.
func (s *Store) Empty(ctx context.Context, t view.Target) (bool, error) {
	return s.Untouched(ctx, t.State())
}
