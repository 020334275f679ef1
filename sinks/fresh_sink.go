package sinks

import (
	"cmp"
	"context"
	"sync"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
)

// freshSink is a sink with a fresh output. An output is fresh until the sink acknowledges the first change that has a
// new image and is not a dead letter. Before freshSink acknowledges this change, it stores that the output is no longer
// fresh. While the output is fresh, the settings of the sink may be changed. A removal keeps the output fresh, because
// it adds nothing to the output under any settings. If the output keeps the contributions of removed items, a removal
// also ends the freshness.
type freshSink struct {
	forwarder
	births       state.Births
	keepsRemoved bool // the output keeps the contributions of removed items

	mu    sync.RWMutex
	birth state.Birth
}

// Plan plans the change. A change without effect also gets an op, so that Write sees it. Such a change ends freshness
// too, because it is acknowledged like any other.
func (s *freshSink) Plan(d *pipeline.Delivery) error {
	if err := s.forwarder.Plan(d); err != nil {
		return err
	}
	mustReachWrite := d.Outcome == pipeline.NoEffect && s.endsFreshness(d) && s.isFresh()
	if mustReachWrite {
		d.Ops, d.Outcome, d.Reason = append(d.Ops[:0], withoutEffect{d.Reason}), pipeline.Written, ""
	}
	return nil
}

// withoutEffect is the op of a change without effect.
type withoutEffect struct{ reason string }

// String returns a text with the reason.
func (w withoutEffect) String() string { return "no effect: " + w.reason }

// Write writes the deliveries that have an effect. Then it stores that the output is no longer fresh, if one of ds ends
// the freshness.
func (s *freshSink) Write(ctx context.Context, ds []pipeline.Delivery) error {
	var selected []int
	for i := range ds {
		if op, ok := firstOp[withoutEffect](&ds[i]); ok {
			ds[i].Outcome, ds[i].Reason = pipeline.NoEffect, op.reason
		} else {
			selected = append(selected, i)
		}
	}
	writeErr := s.writeSelected(ctx, ds, selected, pipeline.BatchError{})
	failed, err := pipeline.FailuresOf(writeErr, len(ds))
	if err != nil {
		return err
	}
	for i := range ds {
		isAcknowledged := failed[i] == nil
		if isAcknowledged && s.endsFreshness(&ds[i]) {
			// with an error of storeNotFresh, the pipeline writes all of ds again
			return cmp.Or(s.storeNotFresh(ctx), writeErr)
		}
	}
	return writeErr
}

// endsFreshness reports whether the output is no longer fresh once the change is acknowledged.
func (s *freshSink) endsFreshness(d *pipeline.Delivery) bool {
	return s.keepsRemoved || d.Change.New.Exists()
}

// isFresh reports whether the output is fresh.
func (s *freshSink) isFresh() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.birth.Fresh
}

// storeNotFresh stores that the output is not fresh.
func (s *freshSink) storeNotFresh(ctx context.Context) error {
	if !s.isFresh() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	stored, _, err := updateBirth(ctx, s.births, s.birth, func(b *state.Birth) { b.Fresh = false })
	switch {
	case err != nil:
		return pipeline.Transient(errs.Errorf("the birth of the sink's output cannot be updated: %w", err))
	case stored.ID != s.birth.ID:
		return state.BirthMismatch(s.birth.Sink, "the state", stored.ID, s.birth.ID)
	}
	s.birth = stored
	return nil
}
