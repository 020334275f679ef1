package dynamo

import (
	"context"
	"errors"

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
	_ state.Rememberer   = (*Store)(nil)
)

// New is a store on db, whose client reaches the view tables too. It calls nothing.
func New(db *dynamo.DB) (*Store, error) {
	if db == nil {
		return nil, errors.New("dynamodb: a view store needs the DB of the state table")
	}
	return &Store{DB: db, Reader: Reader{db: db}}, nil
}

// Empty tells whether nothing was ever written for a view or an aggregate, by any
// process: what was removed and forgotten since counts as written.
func (s *Store) Empty(ctx context.Context, t view.Target) (bool, error) {
	return s.Untouched(ctx, targetOf(t))
}

// targetOf is a view as the state table knows it.
func targetOf(t view.Target) dynamo.Target {
	return dynamo.Target{Pipeline: t.Pipeline, Table: t.Name, View: t.View}
}
