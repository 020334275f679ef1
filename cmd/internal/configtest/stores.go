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

// stores are the embedded stores of one case. They are read once it is run: each is opened once, and a bundle
// answers with the same one again.
type stores struct {
	*local.Stores
	dir     local.Dir
	indexes map[string]*index
}

var _ sinks.Stores = (*stores)(nil)

func openStores(dir string) (*stores, error) {
	s, err := local.Open(dir)
	if err != nil {
		return nil, err
	}
	return &stores{s, local.Dir(dir), make(map[string]*index)}, nil
}

// Archive opens a bucket of the sink's own: several sinks may share one, and a test asks of each.
func (s *stores) Archive(ctx context.Context, cfg *config.Config, spec config.Sink) (archive.Store, error) {
	own := *spec.Archive
	own.Bucket, spec.Archive = spec.Name, &own
	return s.Stores.Archive(ctx, cfg, spec)
}

// index is the index of a search sink, which is opened when the first document
// comes: opening one costs more than everything else in a case.
type index struct {
	open func(context.Context) (search.Store, error)

	mu    sync.Mutex
	store search.Store // nil while nothing was written
}

// Search opens nothing yet.
func (s *stores) Search(_ context.Context, cfg *config.Config, spec config.Sink) (search.Store, error) {
	ix := &index{open: func(ctx context.Context) (search.Store, error) { return s.Stores.Search(ctx, cfg, spec) }}
	s.indexes[spec.Name] = ix
	return ix, nil
}

// Apply opens the index, and writes.
func (ix *index) Apply(ctx context.Context, ms []search.Mutation) ([]search.Result, error) {
	store, err := ix.opened(ctx)
	if err != nil {
		return nil, err
	}
	return store.Apply(ctx, ms)
}

func (ix *index) opened(ctx context.Context) (search.Store, error) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	var err error
	if ix.store == nil {
		ix.store, err = ix.open(ctx)
	}
	return ix.store, err
}

// written is the store, or nil where nothing was written.
func (ix *index) written() search.Store {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	return ix.store
}
