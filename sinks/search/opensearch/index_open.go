package opensearch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
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
	limit, pause := time.Now().Add(openPatience), pipeline.Backoff{Max: 2 * time.Second}
	for attempt := 0; ; attempt++ {
		err := request()
		e, answered := errors.AsType[*Error](err)
		after, again := pipeline.Retryable(err)
		if !again || !answered || e.Status != http.StatusTooManyRequests && e.Status < http.StatusInternalServerError {
			return err // without any answer the address may be wrong, so there is no retry
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
	if name, one := x.singleName(); one && !x.OnDemand {
		return s.ensureIndex(ctx, name)
	}
	return nil
}

// begin writes the record of the sink if the sink has no record. If there is a record, each recorded index must exist,
// and the recorded settings must be those of the configuration. begin marks existing indexes as ready.
func (s *Store) begin(ctx context.Context) error {
	x := s.indexes
	var existing map[string]*indexState
	err := s.changeRecord(ctx, x.sink(), func(r *indexRecord, found bool) (changed bool, err error) {
		if existing, err = s.ownIndexes(ctx); err != nil {
			return false, err
		}
		if err := s.compare(r, found, existing); err != nil {
			return false, err
		}
		return s.recordIndexes(r, found, existing), nil
	})
	if err != nil {
		return err
	}
	for name := range existing {
		x.readyAt.Store(name, s.clock())
	}
	return nil
}

// recordIndexes notes the existing indexes, and the configuration if the output begins or none is noted. It reports
// whether the record changed.
func (s *Store) recordIndexes(r *indexRecord, found bool, existing map[string]*indexState) (changed bool) {
	configured := s.indexes.definition.settingsByPath
	switch {
	case s.begins(r, found, existing):
		*r = indexRecord{Pipeline: r.Pipeline, Sink: r.Sink, Born: s.clock(), Definition: configured,
			Fingerprint: r.Fingerprint}
		for _, index := range existing {
			r.Born = index.createdBefore(r.Born)
		}
		changed = true
	case r.Definition == nil:
		r.Definition, changed = configured, true
	}
	for name, index := range existing {
		changed = r.noteUUID(name, index) || changed
	}
	return changed
}

// begins reports whether the output of the sink begins now. It does if the sink has no record, or if it has no index
// and no process is creating one.
func (s *Store) begins(r *indexRecord, found bool, there map[string]*indexState) bool {
	return !found || len(there) == 0 && !r.pending(s.clock())
}

// compare compares the record and the existing indexes with the configuration, and returns an error if they differ.
func (s *Store) compare(r *indexRecord, found bool, there map[string]*indexState) error {
	if err := s.anyLost(r, found, there); err != nil {
		return err
	}
	if !s.begins(r, found, there) && r.Definition != nil {
		if d := changedDefinition(r.Definition, s.indexes.definition.settingsByPath); d != "" {
			return pipeline.Fatal(indexDiffersError(s.indexes.Name.String(), d))
		}
	}
	for name, index := range there {
		if err := s.verifyIndex(name, index); err != nil {
			return err
		}
	}
	return nil
}

// anyLost returns a [state.LostError] if the record or a recorded index is missing, or if a recorded index was replaced
// by another one.
func (s *Store) anyLost(r *indexRecord, found bool, there map[string]*indexState) error {
	x := s.indexes
	if !found && x.WroteDocuments {
		return state.NewLostError(x.Sink, fmt.Sprintf(
			"index %s holds no record of the sink, and the pipeline's state knows what it wrote: the server's indexes were deleted or exchanged", stateIndex))
	}
	prefix, one := x.singleName()
	for _, name := range slices.Sorted(maps.Keys(r.UUIDs)) {
		if name != prefix && (one || !strings.HasPrefix(name, prefix)) {
			continue // an index of a former name of the sink
		}
		if err := s.lostError(r, name, there[name]); err != nil {
			return err
		}
	}
	return nil
}
