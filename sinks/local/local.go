// Package local bundles the embedded stores under one folder, so that a pipeline
// runs without any server: views and search indexes in SQLite, archive, events and
// dead letters in files.
//
//	views.db               every view table and search index, and what is remembered of items
//	views.witness          which views.db belongs here
//	archive/BUCKET/...     the objects of a bucket; where the file names none, of the sink
//	events/SINK.jsonl      what a notify sink sent
//	dead/                  what could not be delivered
//
// Everything is durable when a store says so, and opening the folder again goes
// on where the last process left it. One process at a time writes it: [Open] refuses a second
// one, and whoever reads the files keeps writers out with [Share].
package local

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/filelock"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/archive"
	archivedir "github.com/tablewake/tablewake/sinks/archive/dir"
	deaddir "github.com/tablewake/tablewake/sinks/deadletter/dir"
	"github.com/tablewake/tablewake/sinks/notify"
	"github.com/tablewake/tablewake/sinks/notify/jsonl"
	"github.com/tablewake/tablewake/sinks/search"
	searchsqlite "github.com/tablewake/tablewake/sinks/search/sqlite"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/sqlite"
)

// Stores opens the stores of a folder when a sink asks for them. Sinks of one
// kind share a store. It is safe for concurrent use.
type Stores struct {
	dir    Dir
	logger *slog.Logger
	lock   *filelock.Lock // nil when closed

	mu     sync.Mutex
	opened map[string]any // by path
	close  []io.Closer    // in the order in which they were opened
}

var _ sinks.Stores = (*Stores)(nil)

// Option shapes the stores.
type Option func(*Stores)

// WithLogger is where stores say what is wrong with the files that they found. Default: nowhere.
func WithLogger(l *slog.Logger) Option { return func(s *Stores) { s.logger = l } }

// Open makes the folder where it is missing, and keeps other processes out until Close. The
// stores open when they are asked for.
func Open(dir string, opts ...Option) (*Stores, error) {
	lock, err := take(dir, filelock.Exclusive)
	if err != nil {
		return nil, err
	}
	s := &Stores{dir: Dir(dir), lock: lock, opened: make(map[string]any)}
	for _, o := range opts {
		o(s)
	}
	return s, nil
}

// Dir tells where each store is.
func (s *Stores) Dir() Dir { return s.dir }

// View opens views.db, and makes the sink's table, so that it can be read before
// its first row comes.
func (s *Stores) View(ctx context.Context, _ *config.Config, spec config.Sink) (view.Store, error) {
	store, err := s.views(ctx)
	if err != nil {
		return nil, err
	}
	return store, store.Create(ctx, table(spec.View.Table.Name, spec.View.Key))
}

// Aggregate opens views.db, and makes the sink's table, as View does.
func (s *Stores) Aggregate(ctx context.Context, _ *config.Config, spec config.Sink) (view.GroupStore, error) {
	store, err := s.views(ctx)
	if err != nil {
		return nil, err
	}
	return store, store.Create(ctx, table(spec.Aggregate.Table.Name, spec.Aggregate.Group))
}

// State opens views.db, whatever table the file names.
func (s *Stores) State(ctx context.Context, cfg *config.Config) (state.Store, error) {
	store, err := s.views(ctx)
	if err != nil {
		return nil, err
	}
	return store.State(cfg.Name), nil
}

func (s *Stores) views(ctx context.Context) (*sqlite.Store, error) {
	path := s.dir.Views()
	return open(s, path, func() (*sqlite.Store, error) { return sqlite.Open(ctx, path, sqlite.Options{Witness: s.dir.Witness()}) })
}

func table(name string, key []config.Column) view.Table {
	t := view.Table{Name: name, PK: key[0].Name}
	if len(key) > 1 {
		t.SK = key[1].Name
	}
	return t
}

// Search opens views.db for the sink's indexes, and makes the one that it names, so that it can be
// searched before its first document comes.
func (s *Stores) Search(ctx context.Context, cfg *config.Config, spec config.Sink) (search.Store, error) {
	views, err := s.views(ctx)
	if err != nil {
		return nil, err
	}
	store, err := searchsqlite.New(ctx, views.DB, search.Owner{Pipeline: cfg.Name, Sink: spec.Name})
	if err != nil {
		return nil, err
	}
	if name, whole := spec.Search.Index.Prefix(); whole { // else an index is made when its first document comes
		err = store.Create(ctx, name)
	}
	return store, err
}

// Archive opens the folder of the sink's bucket.
func (s *Stores) Archive(_ context.Context, _ *config.Config, spec config.Sink) (archive.Store, error) {
	path := s.dir.Archive(cmp.Or(spec.Archive.Bucket, spec.Name))
	return open(s, path, func() (*archivedir.Store, error) { return archivedir.New(archivedir.Options{Dir: path}) })
}

// Notify opens the file of the sink's events, whatever queue, topic or bus it names.
func (s *Stores) Notify(_ context.Context, _ *config.Config, spec config.Sink) (notify.Store, error) {
	path := s.dir.Events(spec.Name)
	return open(s, path, func() (*jsonl.Store, error) { return jsonl.New(jsonl.Options{Path: path, Logger: s.logger}) })
}

// DeadLetters opens the folder of dead letters, also where the file names none or
// another place.
func (s *Stores) DeadLetters(context.Context, *config.Config) (pipeline.DeadLetters, error) {
	path := s.dir.DeadLetters()
	return open(s, path, func() (*deaddir.Store, error) { return deaddir.New(deaddir.Options{Dir: path, Logger: s.logger}) })
}

var errClosed = errors.New("local: the stores are closed")

// open answers the store at path, opened once.
func open[T any](s *Stores, path string, make func() (T, error)) (T, error) {
	var none T
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened == nil {
		return none, errClosed
	}
	if store, ok := s.opened[path].(T); ok {
		return store, nil
	}
	store, err := make()
	if err != nil {
		return none, err
	}
	s.opened[path] = store
	if c, ok := any(store).(io.Closer); ok {
		s.close = append(s.close, c)
	}
	return store, nil
}

// Close closes every store, the last opened first, and lets others have the folder. Call it after the pipeline's
// last Run; a second call does nothing.
func (s *Stores) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, c := range slices.Backward(s.close) {
		errs = append(errs, c.Close())
	}
	s.close, s.opened = nil, nil
	if s.lock != nil {
		errs = append(errs, s.lock.Release())
		s.lock = nil
	}
	return errors.Join(errs...)
}
