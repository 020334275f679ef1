package configtest

import (
	"bytes"
	"context"
	"sync"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/notify"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/view"
)

// stores are the embedded stores of one case. They remember which sink wrote what:
// several sinks may share a bucket.
type stores struct {
	*local.Stores

	mu      sync.Mutex
	reader  view.Reader // of all tables; nil where no sink has rows
	indexes map[string]*index
	puts    []put
	sent    map[string][]value // events by sink
	letters []pipeline.DeadLetter
}

var _ sinks.Stores = (*stores)(nil)

// put is one object of an archive.
type put struct {
	sink, name string
	body       []byte
}

func openStores(dir string) (*stores, error) {
	s, err := local.Open(dir)
	if err != nil {
		return nil, err
	}
	return &stores{Stores: s, indexes: make(map[string]*index), sent: make(map[string][]value)}, nil
}

// View opens the store of all views, and keeps it to be read.
func (s *stores) View(ctx context.Context, cfg *config.Config, spec config.Sink) (view.Store, error) {
	store, err := s.Stores.View(ctx, cfg, spec)
	s.keep(store)
	return store, err
}

// Aggregate opens the store of all groups, and keeps it to be read.
func (s *stores) Aggregate(ctx context.Context, cfg *config.Config, spec config.Sink) (view.GroupStore, error) {
	store, err := s.Stores.Aggregate(ctx, cfg, spec)
	s.keep(store)
	return store, err
}

// keep takes the store of rows to be read; all tables are in one.
func (s *stores) keep(store any) {
	if r, ok := store.(view.Reader); ok {
		s.reader = r
	}
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

// bucket is the objects of one archive sink.
type bucket struct {
	archive.Store
	of   *stores
	sink string
}

// Archive opens the bucket of a sink.
func (s *stores) Archive(ctx context.Context, cfg *config.Config, spec config.Sink) (archive.Store, error) {
	store, err := s.Stores.Archive(ctx, cfg, spec)
	return bucket{store, s, spec.Name}, err
}

// Put writes an object, and remembers whose it is.
func (b bucket) Put(ctx context.Context, o archive.Object) error {
	if err := b.Store.Put(ctx, o); err != nil {
		return err
	}
	b.of.mu.Lock()
	defer b.of.mu.Unlock()
	b.of.puts = append(b.of.puts, put{b.sink, o.Name, bytes.Clone(o.Body)})
	return nil
}

// channel is what a notify sink publishes to.
type channel struct {
	notify.Store
	of   *stores
	sink string
}

// Notify opens what a sink publishes to.
func (s *stores) Notify(ctx context.Context, cfg *config.Config, spec config.Sink) (notify.Store, error) {
	store, err := s.Stores.Notify(ctx, cfg, spec)
	return channel{store, s, spec.Name}, err
}

// Publish sends messages, and remembers them.
func (c channel) Publish(ctx context.Context, ms []notify.Message) error {
	if err := c.Store.Publish(ctx, ms); err != nil {
		return err
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	for _, m := range ms {
		v, err := parseJSON(m.Body)
		if err != nil {
			return err
		}
		c.of.sent[c.sink] = append(c.of.sent[c.sink], v.get("data"))
	}
	return nil
}

// box is the dead letters of a case.
type box struct {
	pipeline.DeadLetters
	of *stores
}

// DeadLetters opens the dead letters, also where the configuration names none.
func (s *stores) DeadLetters(ctx context.Context, cfg *config.Config) (pipeline.DeadLetters, error) {
	store, err := s.Stores.DeadLetters(ctx, cfg)
	return box{store, s}, err
}

// Put keeps letters, and remembers them.
func (b box) Put(ctx context.Context, ls []pipeline.DeadLetter) error {
	if err := b.DeadLetters.Put(ctx, ls); err != nil {
		return err
	}
	b.of.mu.Lock()
	defer b.of.mu.Unlock()
	b.of.letters = append(b.of.letters, ls...)
	return nil
}
