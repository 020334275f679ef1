package opensearch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
)

// Open prepares the server for the sink. It installs the stored script, writes the record of the sink, and creates the
// index if it is to be created on start. It compares existing indexes with the configuration. It blocks until all is
// ready.
func (s *Store) Open(ctx context.Context) error {
	return retryUntilReady(ctx, func() error { return s.openOnce(ctx) })
}

// retryUntilReady retries a request for up to half a minute if the server answers that it is not ready. A new index has
// no shards for a moment, and a node that starts has none either.
func retryUntilReady(ctx context.Context, request func() error) error {
	limit := time.Now().Add(openPatience)
	pause := pipeline.Backoff{Max: 2 * time.Second}
	for attempt := 0; ; attempt++ {
		err := request()
		after, retryable := pipeline.Retryable(err)
		if !retryable || !isNotReady(err) {
			return err
		}
		wait := pause.Delay(attempt, after)
		if time.Now().Add(wait).After(limit) {
			return err
		}
		if pipeline.Sleep(ctx, wait) != nil {
			return err
		}
	}
}

// isNotReady reports whether err is the answer of a server that is not ready. Without an answer it returns false,
// because the address may be wrong.
func isNotReady(err error) bool {
	e, isAnswer := errors.AsType[*Error](err)
	return isAnswer && (e.Status == http.StatusTooManyRequests || e.Status >= http.StatusInternalServerError)
}

// openPatience is how long retryUntilReady retries.
const openPatience = 30 * time.Second

// openOnce is one attempt of Open. It leaves what exists unchanged.
func (s *Store) openOnce(ctx context.Context) error {
	if s.mode == Exact {
		if err := s.ensureScript(ctx); err != nil {
			return err
		}
	}

	x := s.indexes
	if x == nil {
		return nil
	}
	if err := s.ensureStateIndex(ctx); err != nil {
		return err
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	name, isSingle := x.singleName()
	if isSingle && !x.OnDemand {
		return s.ensureIndex(ctx, name)
	}
	return nil
}

// begin writes the record of the sink if the sink has no record. If there is a record, each recorded index must exist,
// and the recorded settings must be those of the configuration. begin marks existing indexes as ready.
func (s *Store) begin(ctx context.Context) error {
	x := s.indexes
	var existing map[string]*indexState
	err := s.changeRecord(ctx, x.owner(), func(r *storedRecord) (changed bool, err error) {
		if existing, err = s.findOwnIndexes(ctx); err != nil {
			return false, err
		}
		return s.recordIndexes(ctx, r, existing)
	})
	if err != nil {
		return err
	}
	for name := range existing {
		x.readyAt.Store(name, s.clock())
	}
	return nil
}

// recordIndexes notes the existing indexes in r. It also notes the configuration, if the output begins now or if r has
// no configuration. It reports whether r changed. It returns an error if the record or an existing index differs from
// the configuration.
func (s *Store) recordIndexes(
	ctx context.Context, r *storedRecord, existing map[string]*indexState,
) (changed bool, err error) {
	if err := s.anyLost(ctx, r, existing); err != nil {
		return false, err
	}
	configured := s.indexes.definition.settingsByPath
	switch {
	case s.begins(r, existing):
		r.sinkRecord = sinkRecord{Pipeline: r.Pipeline, Sink: r.Sink, Born: s.clock(), Definition: configured,
			Fingerprint: r.Fingerprint}
		for _, index := range existing {
			r.Born = index.createdBefore(r.Born)
		}
		changed = true
	case r.Definition == nil:
		r.Definition = configured
		changed = true
	default:
		if difference := changedDefinition(r.Definition, configured); difference != "" {
			return false, pipeline.Fatal(indexDiffersError(s.indexes.Name.String(), difference))
		}
	}

	for name, index := range existing {
		if err := s.verifyIndex(name, index); err != nil {
			return false, err
		}
		if r.noteUUID(name, index) {
			changed = true
		}
	}
	return changed, nil
}

// begins reports whether the output of the sink begins now. It does if the sink has no record, or if it has no index
// and no process is creating one.
func (s *Store) begins(r *storedRecord, existing map[string]*indexState) bool {
	if !r.found {
		return true
	}
	return len(existing) == 0 && !r.isCreatingIndex(s.clock())
}

// anyLost returns a [state.LostError] if the record or a recorded index is missing, or if a recorded index was replaced
// by another index. It may return the error of a request that confirms this.
func (s *Store) anyLost(ctx context.Context, r *storedRecord, existing map[string]*indexState) error {
	x := s.indexes
	if !r.found && x.WroteDocuments {
		return state.NewLostError(x.Sink, fmt.Sprintf(
			"index %s holds no record of the sink, and the pipeline's state knows what it wrote: the server's indexes were deleted or exchanged", stateIndex))
	}

	for _, name := range slices.Sorted(maps.Keys(r.UUIDs)) {
		if !x.canHaveName(name) {
			continue // an index of a former name of the sink
		}
		if err := s.lostError(ctx, &r.sinkRecord, name, existing[name]); err != nil {
			return err
		}
	}
	return nil
}
