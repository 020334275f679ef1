// Package local has the embedded stores of a pipeline in one folder, so that a pipeline runs without a server. Views
// and search indexes are in SQLite. Archives, events and dead letters are in files.
//
//	views.db               all view tables and search indexes, and the state
//	views.witness          identifies the views.db of this folder
//	archive/BUCKET/...     the objects of a bucket, or of the sink if the file names no bucket
//	events/SINK.jsonl      the events of a notify sink
//	dead/                  dead letters
//
// When a store reports success, its write is durable. A process that opens the folder again continues where the last
// process stopped. Only one process at a time may write to the folder, so [Open] fails in a second process. A process
// that reads the files excludes writers with [Share].
package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/filelock"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/archive"
	archivedir "github.com/tablewake/tablewake/sinks/archive/dir"
	deaddir "github.com/tablewake/tablewake/sinks/deadletter/dir"
	"github.com/tablewake/tablewake/sinks/internal/openstores"
	"github.com/tablewake/tablewake/sinks/notify"
	"github.com/tablewake/tablewake/sinks/notify/jsonl"
	"github.com/tablewake/tablewake/sinks/search"
	searchsqlite "github.com/tablewake/tablewake/sinks/search/sqlite"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/sqlite"
)

// Stores opens the stores of a folder when sinks need them. Sinks of one kind share a store. It is safe for concurrent
// use.
type Stores struct {
	dir      Dir
	logger   *slog.Logger
	lookOnly bool
	temp     string             // with lookOnly: folder of empty stores in place of missing ones; "" if none is missing
	opened   *openstores.Stores // stores by path
}

var _ sinks.Stores = (*Stores)(nil)

// Option changes a default of the stores.
type Option func(*Stores)

// WithLogger sets where stores log broken files. Default: no log.
func WithLogger(l *slog.Logger) Option { return func(s *Stores) { s.logger = l } }

// LookOnly opens stores without creating or changing anything in the folder. A missing store is empty. A view table or
// a search index that could not be created is still an error. An existing folder of dead letters is locked while it is
// read, and the end that a killed process left is repaired.
func LookOnly() Option { return func(s *Stores) { s.lookOnly = true } }

// Open locks the folder against other processes until Close, and creates a missing folder. The stores are opened later,
// when sinks need them.
func Open(dir string, opts ...Option) (*Stores, error) {
	lock, err := lockFolder(dir, filelock.Exclusive)
	if err != nil {
		return nil, err
	}
	s := &Stores{dir: Dir(dir)}
	s.opened = openstores.New("local", lock.Release, func() error { return os.RemoveAll(s.temp) })
	for _, o := range opts {
		o(s)
	}
	return s, nil
}

// Dir returns the folder. Its methods return the path of each store.
func (s *Stores) Dir() Dir { return s.dir }

// View opens views.db and creates the sink's table, so that the table can be read before its first row.
func (s *Stores) View(ctx context.Context, _ *config.Config, spec config.Sink) (view.Store, error) {
	store, err := s.openRows(ctx, sinks.RowTable(spec.View.Table.Name, spec.View.Key))
	if err != nil {
		return nil, err
	}
	return store, nil
}

// Aggregate opens views.db and creates the sink's table, as View does.
func (s *Stores) Aggregate(ctx context.Context, _ *config.Config, spec config.Sink) (view.GroupStore, error) {
	store, err := s.openRows(ctx, sinks.RowTable(spec.Aggregate.Table.Name, spec.Aggregate.Group))
	if err != nil {
		return nil, err
	}
	return store, nil
}

func (s *Stores) openRows(ctx context.Context, t view.Table) (*sqlite.Store, error) {
	store, err := s.openViews(ctx)
	switch {
	case err != nil:
		return nil, err
	case s.lookOnly:
		return store, store.Check(ctx, t)
	}
	return store, store.Create(ctx, t)
}

// State opens views.db. The state is always in views.db: the name of the state table in the configuration does not
// matter.
func (s *Stores) State(ctx context.Context, cfg *config.Config) (state.Store, error) {
	store, err := s.openViews(ctx)
	if err != nil {
		return nil, err
	}
	return store.State(cfg.Name), nil
}

func (s *Stores) openViews(ctx context.Context) (*sqlite.Store, error) {
	path := s.dir.Views()
	return openstores.Open(s.opened, path, func() (*sqlite.Store, error) {
		file, err := s.existing(path)
		if err != nil {
			return nil, err
		}
		return sqlite.Open(ctx, path, sqlite.Options{Witness: s.dir.Witness(), LookOnly: s.lookOnly, File: file})
	})
}

// existing returns path. With lookOnly, it returns a path of the temporary folder if path does not exist, so that an
// empty store is opened there.
func (s *Stores) existing(path string) (string, error) {
	if !s.lookOnly {
		return path, nil
	}
	_, err := os.Stat(path)
	isMissing := errors.Is(err, fs.ErrNotExist)
	if !isMissing {
		return path, err
	}
	if s.temp == "" {
		if s.temp, err = os.MkdirTemp("", "tablewake-"); err != nil {
			return "", fmt.Errorf("local: %w", err)
		}
	}
	return filepath.Join(s.temp, filepath.Base(path)), nil
}

// Search opens views.db for the sink's indexes. If the sink has only one index, Search creates it, so that it can be
// searched before its first document.
func (s *Stores) Search(ctx context.Context, cfg *config.Config, spec config.Sink) (search.Store, error) {
	views, err := s.openViews(ctx)
	if err != nil {
		return nil, err
	}
	owner := search.Owner{Pipeline: cfg.Name, Sink: spec.Name}
	index, isOnlyIndex := spec.Search.Index.Prefix() // otherwise the first document of an index creates it
	var store *searchsqlite.Store
	if s.lookOnly {
		store = searchsqlite.NewReader(views.DB, owner)
		if isOnlyIndex {
			err = store.Check(ctx, index)
		}
	} else {
		store, err = searchsqlite.New(ctx, views.DB, owner)
		if err == nil && isOnlyIndex {
			err = store.Create(ctx, index)
		}
	}
	if err != nil {
		return nil, err
	}
	return store, nil
}

// Archive opens the folder of the sink's bucket.
func (s *Stores) Archive(_ context.Context, _ *config.Config, spec config.Sink) (archive.Store, error) {
	path := s.dir.Archive(cmp.Or(spec.Archive.Bucket, spec.Name))
	return openstores.Open(s.opened, path, func() (archive.Store, error) {
		return archivedir.New(archivedir.Options{Dir: path, LookOnly: s.lookOnly})
	})
}

// Notify opens the file of the sink's events. The events always go there, whatever queue, topic or bus the sink names.
func (s *Stores) Notify(_ context.Context, _ *config.Config, spec config.Sink) (notify.Store, error) {
	path := s.dir.Events(spec.Name)
	return openstores.Open(s.opened, path, func() (notify.Store, error) {
		return jsonl.New(jsonl.Options{Path: path, Logger: s.logger, LookOnly: s.lookOnly})
	})
}

// DeadLetters opens the folder of dead letters. It ignores the setting dead_letters.
func (s *Stores) DeadLetters(context.Context, *config.Config) (pipeline.DeadLetters, error) {
	return openstores.Open(s.opened, s.dir.DeadLetters(), func() (pipeline.DeadLetters, error) {
		path, err := s.existing(s.dir.DeadLetters())
		if err != nil {
			return nil, err
		}
		return deaddir.New(deaddir.Options{Dir: path, Logger: s.logger})
	})
}

// Close closes every store, the last opened first, and unlocks the folder. The caller calls it after the pipeline's
// last Run. A second call does nothing.
func (s *Stores) Close() error { return s.opened.Close() }
