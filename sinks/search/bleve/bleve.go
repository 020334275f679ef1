// Package bleve keeps search indexes in a folder, by the Bleve library: one
// folder an index, no server.
//
// The check of a document's version and its write are one step among all writers
// of a [Store], and a batch is on disk, whole, before Apply returns. After a kill
// the folder opens at the edge of a batch, and what comes again finds its place.
// One process at a time opens an index.
package bleve

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/internal/disk"
	"github.com/tablewake/tablewake/sinks/internal/fingerprint"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/state"
)

// Options describe a store.
type Options struct {
	Dir string // required: the folder that holds one folder an index; made when absent

	ReadOnly bool // for queries: nothing is written, and the folder must exist. Default: read and write
}

// Store is a folder of Bleve indexes. It is safe for concurrent use.
type Store struct {
	fingerprint.Files
	dir      string
	readOnly bool
	builds   chan struct{} // bounds the batches that are being built at once, and so their memory

	mu      sync.Mutex
	indexes map[string]*index // open ones, by name; nil when the store is closed
}

var (
	_ search.Store       = (*Store)(nil)
	_ search.Reader      = (*Store)(nil)
	_ search.Inspector   = (*Store)(nil)
	_ state.Fingerprints = (*Store)(nil)
)

// New opens the folder. An index opens when it is first used.
func New(o Options) (*Store, error) {
	if o.Dir == "" {
		return nil, errors.New("bleve: Dir is empty: give the folder of the indexes")
	}
	if o.ReadOnly {
		if _, err := os.Stat(o.Dir); err != nil {
			return nil, fmt.Errorf("bleve: Dir: %w", err)
		}
	} else if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("bleve: Dir: %w", err)
	}
	return &Store{Files: fingerprint.In(o.Dir), dir: o.Dir, readOnly: o.ReadOnly, builds: make(chan struct{}, maxBuilds), indexes: make(map[string]*index)}, nil
}

// maxBuilds is how many batches are built at once: a batch of 500 takes 30 MB.
const maxBuilds = 2

var errClosed = errors.New("bleve: the store is closed")

// index is the open index of the name. Where there is none it is made, or, for
// readers, search.ErrNoIndex.
func (s *Store) index(name string, create bool) (*index, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.indexes == nil {
		return nil, errClosed
	}
	if ix := s.indexes[name]; ix != nil {
		return ix, nil
	}
	path := s.path(name)
	_, err := os.Stat(path)
	missing := errors.Is(err, os.ErrNotExist)
	switch {
	case missing && !create:
		return nil, fmt.Errorf("%w: %s", search.ErrNoIndex, name)
	case missing && s.Made(name):
		return nil, state.Lost("", fmt.Sprintf("the index %s is missing, and it was made before: its folder %s was deleted", name, path))
	case missing:
		if err := createIndex(path); err != nil {
			return nil, disk.Failed(fmt.Errorf("bleve: make index %s: %w", name, err))
		}
	}
	if !s.readOnly {
		if err := s.SetMade(name, true); err != nil {
			return nil, err
		}
	}
	ix, err := openIndex(path, s.readOnly)
	if err != nil {
		return nil, disk.Failed(fmt.Errorf("bleve: open index %s: %w", name, err))
	}
	s.indexes[name] = ix
	return ix, nil
}

// Create makes an index where there is none, so that it can be searched before
// its first document comes.
func (s *Store) Create(name string) error {
	if err := search.CheckIndex(name); err != nil {
		return fmt.Errorf("bleve: %w", err)
	}
	_, err := s.index(name, true)
	return err
}

// Apply writes mutations as search.Store says. An index that fails, fails the
// mutations that are its own, and its errors are transient.
func (s *Store) Apply(ctx context.Context, ms []search.Mutation) ([]search.Result, error) {
	if s.readOnly {
		return nil, errors.New("bleve: the store is open for queries only")
	}
	of := make(map[string][]int) // mutations by index
	var names []string
	for i := range ms {
		if of[ms[i].Index] == nil {
			names = append(names, ms[i].Index)
		}
		of[ms[i].Index] = append(of[ms[i].Index], i)
	}
	rs := make([]search.Result, len(ms))
	for _, name := range names {
		if err := s.apply(ctx, name, ms, of[name], rs); err != nil {
			for _, i := range of[name] {
				rs[i] = search.Result{Err: err}
			}
		}
	}
	return rs, nil
}

func (s *Store) apply(ctx context.Context, name string, ms []search.Mutation, of []int, rs []search.Result) error {
	ix, err := s.index(name, true)
	if err != nil {
		return err
	}
	select {
	case s.builds <- struct{}{}:
		defer func() { <-s.builds }()
		return ix.apply(ctx, ms, of, rs)
	case <-ctx.Done():
		return pipeline.Transient(ctx.Err())
	}
}

// Indexes lists the indexes by name.
func (s *Store) Indexes(ctx context.Context) ([]string, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("bleve: %w", err)
	}
	var names []string
	for _, e := range entries {
		if name, err := pipeline.Unescape(e.Name()); err == nil && e.IsDir() && e.Name() != fingerprint.Folder {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Close closes every index. It waits for calls under way; a second call does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, ix := range s.indexes {
		errs = append(errs, ix.close())
	}
	s.indexes = nil
	return errors.Join(errs...)
}

// path is the folder of an index.
func (s *Store) path(name string) string {
	return filepath.Join(s.dir, string(pipeline.AppendEscaped(nil, name)))
}

// unfinished is the folder in which an index is made: no index has this path,
// since a name's folder holds no "+".
func unfinished(path string) string {
	return filepath.Join(filepath.Dir(path), "+"+filepath.Base(path))
}
