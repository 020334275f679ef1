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

// Store writes and reads the rows of any number of view tables. It keeps guards, claims, contributions and tombstones
// in the state table of its DB. It is safe for concurrent use, by any number of goroutines and processes. It starts no
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

// New returns a store on db. The client of db must also reach the view tables. New makes no requests.
func New(db *dynamo.DB) (*Store, error) { return NewAt(db, db) }

// NewAt returns a store that reaches the state table through db, and the view tables through rows. If the client of
// rows is for another account or Region, no transaction can write both the state table and a view table. The store then
// supports only rows whose tombstones are in place.
func NewAt(db, rows *dynamo.DB) (*Store, error) {
	if db == nil || rows == nil {
		return nil, errors.New("dynamodb: a view store needs the DB of the state table")
	}
	return &Store{DB: db, Reader: Reader{views: rows}}, nil
}

// Rows is a store without a state table. It supports only rows that guard themselves and have their tombstones in
// place.
type Rows struct{ Reader }

var (
	_ view.Store        = (*Rows)(nil)
	_ view.Reader       = (*Rows)(nil)
	_ view.Inspector    = (*Rows)(nil)
	_ state.AgeReporter = (*Rows)(nil)
)

// NewRows returns a store without a state table. Its tombstones expire after the retention of db.
func NewRows(db *dynamo.DB) (*Rows, error) {
	if db == nil {
		return nil, errors.New("dynamodb: a store of rows needs a DB")
	}
	return &Rows{Reader{views: db}}, nil
}

// Apply writes mutations as [Store.Apply] does. The target must have its tombstones in place.
func (r *Rows) Apply(ctx context.Context, t view.Target, ms []view.Mutation) ([]view.Result, error) {
	if !t.InPlace {
		return nil, noTombstones(t)
	}
	return applyTo(ctx, r.views, ms, newRowWriter(r.views, t).writeInPlace)
}

func noTombstones(t view.Target) error {
	return pipeline.Fatal(
		errs.Errorf("dynamodb: the tombstones of the view %s have no place: name a state table, or keep them in place",
			redact.Safe(t.View)))
}

// StoreAge reports that the store forgets old changes. It does, because the table's TTL deletes tombstones.
func (r *Rows) StoreAge(context.Context) (state.StoreAge, error) {
	return state.StoreAge{Forgets: true}, nil
}

// beforeWrite notes in the state that the target is written to. witnesses yields items that get rows; the note names
// some of them. beforeWrite also checks, at most every 30 seconds, that the tables are still those with which the
// process started.
func (s *Store) beforeWrite(ctx context.Context, t view.Target, witnesses iter.Seq[item.Key]) error {
	if err := s.NoteTarget(ctx, t.State(), witnesses); err != nil {
		return err
	}
	return s.CheckTables(ctx, t.State(), s.views)
}

// noWitnesses yields no items, for a write that has no guards and no contributions.
func noWitnesses(func(item.Key) bool) {}

// witnessesOf yields the items of the writes for which itemOf returns true.
func witnessesOf[W any](ws []W, itemOf func(*W) (item.Key, bool)) iter.Seq[item.Key] {
	return func(yield func(item.Key) bool) {
		for i := range ws {
			if key, ok := itemOf(&ws[i]); ok && !yield(key) {
				return
			}
		}
	}
}

// Empty reports whether no process ever wrote to the target. It returns false even if all rows were removed since.
func (s *Store) Empty(ctx context.Context, t view.Target) (bool, error) {
	return s.NeverWritten(ctx, t.State())
}
