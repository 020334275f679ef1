package opensearch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tablewake/tablewake/pipeline/redact"
)

// pendingFor is how long an index may be in the making before its place is free again:
// who made it has died.
const pendingFor = 10 * time.Minute

// fullFor is how long nothing is counted again where the bound was reached.
const fullFor = 10 * time.Second

// pending tells whether an index is in the making.
func (r *indexRecord) pending(now time.Time) bool {
	for _, since := range r.Pending {
		if now.Sub(since) <= pendingFor {
			return true
		}
	}
	return false
}

// full tells that the cluster has no room for the shards of another index.
func (f *failure) full() bool {
	return bytes.Contains(f.reason, []byte("maximum shards open")) || bytes.Contains(f.reason, []byte("maximum normal shards open"))
}

// reserve takes one of the places that there are for indexes of a template, so that
// several processes together make no more than that.
func (s *Store) reserve(ctx context.Context, name string) error {
	x := s.indexes
	if _, one := x.one(); one || x.Max == 0 {
		return nil
	}
	now := s.clock()
	x.mu.Lock()
	refused := now.Before(x.fullUntil)
	x.mu.Unlock()
	if refused {
		return x.errFull(name)
	}
	err := s.amend(ctx, x.sink(), func(r *indexRecord, _ bool) (bool, error) {
		names, err := s.names(ctx)
		if err != nil {
			return false, err
		}
		taken := make(map[string]bool, len(names)+1)
		for _, n := range names {
			taken[n] = true
		}
		for n, since := range r.Pending {
			if taken[n] || now.Sub(since) > pendingFor {
				delete(r.Pending, n)
			} else {
				taken[n] = true
			}
		}
		if taken[name] = true; len(taken) > x.Max {
			return false, x.errFull(name)
		}
		if r.Pending == nil {
			r.Pending = make(map[string]time.Time)
		}
		r.Pending[name] = now
		return true, nil
	})
	if _, full := errors.AsType[*FullError](err); full {
		x.mu.Lock()
		x.fullUntil = now.Add(fullFor)
		x.mu.Unlock()
	}
	return err
}

func (x *indexes) errFull(name string) error { return &FullError{Index: name, Max: x.Max} }

// FullError is a document in an index that is not there and may not be made, since
// the template has made as many as it may. It is permanent.
type FullError struct {
	Index string
	Max   int
}

// Error says what to do.
func (e *FullError) Error() string {
	return fmt.Sprintf("opensearch: index %s would be one more than max_indexes (%d): raise it, or look whether the template takes an attribute with too many values; then redrive", e.Index, e.Max)
}

// Redacted leaves out the index, whose name is made of values of the item.
func (e *FullError) Redacted() string {
	return fmt.Sprintf("opensearch: an index would be one more than max_indexes (%d)", e.Max)
}

// Describe is its class.
func (e *FullError) Describe() (class, field string) { return "max_indexes", "" }

var _ redact.Redacted = (*FullError)(nil)
