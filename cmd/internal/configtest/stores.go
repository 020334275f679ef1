package configtest

import (
	"context"
	"sync"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/search"
)

// stores are the embedded stores of one case. After the run, outcome reads the same open stores.
type stores struct {
	*local.Stores
	dir     local.Dir
	indexes map[string]*index
}

var _ sinks.Stores = (*stores)(nil)

// Archive opens a separate bucket for the sink, so that a test can expect the objects of each sink of a shared bucket.
func (s *stores) Archive(ctx context.Context, cfg *config.Config, spec config.Sink) (archive.Store, error) {
	own := *spec.Archive
	own.Bucket, spec.Archive = spec.Name, &own
	return s.Stores.Archive(ctx, cfg, spec)
}

// index is a search index that is opened at its first write. Opening an index takes longer than the rest of a case.
type index struct {
	open func(context.Context) (search.Store, error)

	mu    sync.Mutex
	store search.Store // nil: no document is written
}

// Search returns the index of a sink. It does not open the index yet.
func (s *stores) Search(_ context.Context, cfg *config.Config, spec config.Sink) (search.Store, error) {
	ix := &index{open: func(ctx context.Context) (search.Store, error) { return s.Stores.Search(ctx, cfg, spec) }}
	s.indexes[spec.Name] = ix
	return ix, nil
}

// Apply opens the index and writes.
func (ix *index) Apply(ctx context.Context, ms []search.Mutation) ([]search.Result, error) {
	store, err := ix.openStore(ctx)
	if err != nil {
		return nil, err
	}
	return store.Apply(ctx, ms)
}

func (ix *index) openStore(ctx context.Context) (search.Store, error) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	var err error
	if ix.store == nil {
		ix.store, err = ix.open(ctx)
	}
	return ix.store, err
}
