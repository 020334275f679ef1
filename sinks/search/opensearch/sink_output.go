package opensearch

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/state"
)

// sinkName returns the name of the sink, or "" if the store creates no indexes.
func (s *Store) sinkName() string {
	if s.indexes == nil {
		return ""
	}
	return s.indexes.Sink
}

// Output returns the output of the sink of Options.Indexes.
func (s *Store) Output(state.OutputRef) state.Output { return output{s} }

type output struct{ *Store }

// Identity returns an error if an index in the sink's record is missing or was replaced by another index. The identity
// itself is always "". None is needed: each document has the birth (the random id) of the output, and the record has
// the UUIDs of the indexes. Identity retries as Open does.
func (o output) Identity(ctx context.Context) (string, error) {
	var r storedRecord
	err := retryUntilReady(ctx, func() (err error) {
		// The record is read first. If the indexes were read first, the record could name an index that was created
		// after that, and the index would seem to be missing.
		r, err = o.readRecord(ctx, o.indexes.owner())
		return err
	})
	if err != nil {
		return "", err
	}
	existing, err := o.findOwnIndexes(ctx)
	if err != nil {
		return "", err
	}
	return "", o.anyLost(ctx, &r, existing)
}

// Inspect counts all documents and tombstones of the sink.
func (o output) Inspect(ctx context.Context, _ bool) (state.Inspection, error) {
	own, err := o.findOwnIndexes(ctx)
	if err != nil {
		return state.Inspection{Complete: true}, err
	}
	return o.count(ctx, slices.Sorted(maps.Keys(own)))
}

// count counts the documents and tombstones of indexes by birth. It also counts the tombstones among them.
func (s *Store) count(ctx context.Context, names []string) (state.Inspection, error) {
	counted := state.Inspection{Complete: true}
	if len(names) == 0 {
		return counted, nil
	}
	if err := s.refresh(ctx, names...); err != nil {
		return counted, err
	}
	const births = `{"size":0,"aggs":{"births":{"terms":{"field":"_tw.birth","missing":"","size":100}},"gone":{"filter":{"term":{"_tw.deleted":true}}}}}`
	const op = "count documents"
	found, exists, err := s.find(ctx, op, names[0], s.physicalPath(names), json.RawMessage(births))
	if err != nil {
		return counted, err
	}
	if !exists { // an index was deleted in the meantime
		f := failure{status: http.StatusNotFound, kind: []byte("index_not_found_exception")}
		return counted, f.err(op, names[0])
	}

	for _, b := range found.Aggregations.Births.Buckets {
		counted.Add(b.Key, b.N)
	}
	counted.Tombstones = found.Aggregations.Gone.N
	return counted, nil
}

// Emptied returns false, because the state has no list of documents to compare the output with.
func (output) Emptied(context.Context, string) (bool, error) { return false, nil }

// Forget drops the recorded indexes and the fingerprint (the settings that shaped the documents) of the sink.
func (o output) Forget(ctx context.Context) error {
	return o.updateRecord(ctx, o.indexes.owner(), func(r *sinkRecord) { r.UUIDs, r.Fingerprint = nil, nil })
}

// Empty reports whether the sink has neither a document nor a tombstone on the server.
func (s *Store) Empty(ctx context.Context) (bool, error) {
	names, err := s.Indexes(ctx)
	if err != nil {
		return false, err
	}
	counted, err := s.count(ctx, names)
	return err == nil && counted.Total() == 0, err
}

var _ search.Emptier = (*Store)(nil)
