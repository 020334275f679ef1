package opensearch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tablewake/tablewake/pipeline/redact"
)

// pendingFor is how long a reservation of an index lasts. If the index does not exist by then, the process that
// reserved it is presumed dead.
const pendingFor = 10 * time.Minute

// fullFor is how long a process refuses new indexes without counting again, after it found that the template has
// MaxIndexes indexes.
const fullFor = 10 * time.Second

// isCreatingIndex reports whether a process is creating an index of the sink.
func (r *sinkRecord) isCreatingIndex(now time.Time) bool {
	for _, since := range r.Creating {
		if now.Sub(since) <= pendingFor {
			return true
		}
	}
	return false
}

// noRoomForShards reports whether the cluster has no room for the shards of another index.
func (f *failure) noRoomForShards() bool {
	return bytes.Contains(f.reason, []byte("maximum shards open")) ||
		bytes.Contains(f.reason, []byte("maximum normal shards open"))
}

// reserveIndex reserves one of the MaxIndexes indexes of a template in the sink's record, so that several processes
// together create no more than MaxIndexes. The error is a [FullError] if all of them are taken.
func (s *Store) reserveIndex(ctx context.Context, name string) error {
	x := s.indexes
	if _, isSingle := x.singleName(); isSingle || x.MaxIndexes == 0 {
		return nil
	}

	now := s.clock()
	if now.UnixNano() < x.fullUntil.Load() {
		return x.errFull(name)
	}
	err := s.changeRecord(ctx, x.owner(), func(r *storedRecord) (bool, error) {
		existing, err := s.listNames(ctx)
		if err != nil {
			return false, err
		}
		if r.reserve(name, existing, now) > x.MaxIndexes {
			return false, x.errFull(name)
		}
		return true, nil
	})
	if _, full := errors.AsType[*FullError](err); full {
		x.fullUntil.Store(now.Add(fullFor).UnixNano())
	}
	return err
}

// reserve notes that an index is being created, and drops the notes of indexes that exist or were given up. It returns
// the number of the sink's indexes, including those that are being created.
func (r *sinkRecord) reserve(name string, existing []string, now time.Time) int {
	counted := make(map[string]bool, len(existing)+1)
	for _, n := range existing {
		counted[n] = true
	}
	for n, since := range r.Creating {
		if counted[n] || now.Sub(since) > pendingFor {
			delete(r.Creating, n)
		} else {
			counted[n] = true
		}
	}

	if r.Creating == nil {
		r.Creating = make(map[string]time.Time)
	}
	r.Creating[name] = now
	counted[name] = true
	return len(counted)
}

func (x *indexes) errFull(name string) error { return &FullError{Index: name, Max: x.MaxIndexes} }

// FullError reports that the index of a document is missing and may not be created, since the template already has Max
// indexes. The error is permanent.
type FullError struct {
	Index string
	Max   int
}

// Error returns the index and what to do.
func (e *FullError) Error() string {
	return fmt.Sprintf(
		"opensearch: index %s would be one more than max_indexes (%d): raise it, or look whether the template takes an attribute with too many values; then redrive", e.Index, e.Max)
}

// Redacted omits the index, whose name is made of values of the item.
func (e *FullError) Redacted() string {
	return fmt.Sprintf("opensearch: an index would be one more than max_indexes (%d)", e.Max)
}

// Describe returns the class of the error.
func (e *FullError) Describe() (class, field string) { return "max_indexes", "" }

var _ redact.Redacted = (*FullError)(nil)
