// Package bleve keeps search indexes in a folder, by the Bleve library: one
// folder an index, no server.
//
// The check of a document's version and its write are one step among all writers of
// a [Store], and a batch is on disk, whole, before Apply returns. After a kill
// the folder opens at a batch's edge, and what comes again finds its place. One
// process at a time opens a folder.
package bleve

import (
	"context"
	"errors"
	"iter"

	"github.com/tablewake/tablewake/sinks/search"
)

// Options describe a store.
type Options struct {
	Dir string // required: the folder that holds one folder an index; made when absent

	ReadOnly bool // open for queries only: nothing is written, and the folder must exist. Default: read and write
}

// Store is a folder of Bleve indexes. It is safe for concurrent use.
type Store struct {
	o Options
}

var (
	_ search.Store  = (*Store)(nil)
	_ search.Reader = (*Store)(nil)
)

// New opens the folder. Indexes open when they are first used.
func New(o Options) (*Store, error) {
	if o.Dir == "" {
		return nil, errors.New("bleve: Dir is empty: give the folder of the indexes")
	}
	return &Store{o: o}, nil
}

// Apply writes mutations as search.Store says.
func (s *Store) Apply(ctx context.Context, ms []search.Mutation) ([]search.Result, error) {
	panic("stores")
}

// Indexes lists the indexes by name.
func (s *Store) Indexes(ctx context.Context) ([]string, error) { panic("stores") }

// Search finds documents by Bleve's query string syntax: title:shoe +Price:>10.
func (s *Store) Search(ctx context.Context, index, query string, limit int) (search.Hits, error) {
	panic("stores")
}

// Documents yields every document of an index in the order of the ids.
func (s *Store) Documents(ctx context.Context, index string) iter.Seq2[search.Document, error] {
	panic("stores")
}

// Close closes every index. It waits for calls under way; a second call does nothing.
func (s *Store) Close() error { return nil }
