package sinks

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/state"
)

// Reasons of a change without effect at a sink that is filled, or waits to be.
const (
	ReasonWaiting     = "waiting"      // no backfill of the sink has begun
	ReasonBeforeFloor = "before_floor" // the change was made before the floor of the sink's backfill, which has its result
)

// errWaits is the error of a change from dead letters.
var errWaits = errs.New("the sink waits to be filled: fill it first by `tablewake backfill`, which brings what the table holds, and redrive again")

// stageAge is how old the stage that a Write goes by may be. A backfill sets its floor much later than that after it
// stored the stage, so no process acknowledges a change of after the floor that it did not write.
const stageAge = 10 * time.Second

// stagedSink is a sink that a backfill fills, filled or will fill. It writes nothing while the sink waits, and later no
// change that was made before the floor of the backfill.
type stagedSink struct {
	forwarder
	births  state.Births
	now     func() time.Time
	redrive bool // a change fails while the sink waits

	mu     sync.Mutex
	birth  state.Birth
	readAt time.Time // when birth was read; the zero time after a failure
}

// newStagedSink wraps a sink. birth was read just now.
func newStagedSink(sink pipeline.Sink, births state.Births, birth state.Birth, redrive bool) *stagedSink {
	return &stagedSink{forwarder: forwarder{sink}, births: births, now: time.Now, redrive: redrive, birth: birth, readAt: time.Now()}
}

// currentBirth returns the birth of the output as it was stageAge ago at most. It reads the birth again if that is
// needed: a live output stays live. The age is taken from the wall clock too, because the monotonic clock of a
// frozen Lambda function stands still.
func (s *stagedSink) currentBirth(ctx context.Context) (state.Birth, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	age := max(now.Sub(s.readAt), now.Round(0).Sub(s.readAt.Round(0)))
	if s.birth.Stage == state.Live || !s.readAt.IsZero() && age >= 0 && age < stageAge {
		return s.birth, nil
	}
	birth, ok, err := state.FindBirth(ctx, s.births, s.birth.Sink, s.birth.Target)
	switch {
	case err != nil:
		s.readAt = time.Time{}
		return birth, pipeline.Transient(errs.Errorf("the stage of the sink's backfill cannot be read: %w", err))
	case !ok || birth.ID != s.birth.ID:
		return birth, state.BirthMismatch(s.birth.Sink, "the state", birth.ID, s.birth.ID)
	}
	s.birth, s.readAt = birth, now
	return birth, nil
}

// isWaiting reports whether the sink waited when its stage was read last.
func (s *stagedSink) isWaiting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.birth.Stage == state.Waiting
}

// Plan plans the change. While the sink waits, a change that cannot be planned is no dead letter: Write decides.
func (s *stagedSink) Plan(d *pipeline.Delivery) error {
	err := s.forwarder.Plan(d)
	if err == nil || pipeline.IsFatal(err) || !s.isWaiting() {
		return err
	}
	d.Ops, d.Outcome, d.Reason = append(d.Ops[:0], unplanned{err}), pipeline.Written, ""
	return nil
}

// unplanned is the op of a change whose plan failed while the sink waited.
type unplanned struct{ err error }

// String returns the error without data.
func (u unplanned) String() string { return "cannot be planned: " + redact.LogText(u.err) }

// Write writes the deliveries of the stage that the output has now.
func (s *stagedSink) Write(ctx context.Context, ds []pipeline.Delivery) error {
	birth, err := s.currentBirth(ctx)
	if err != nil {
		return err
	}
	var failed pipeline.BatchError
	var indexes []int // of the deliveries to write
	for i := range ds {
		d := &ds[i]
		made := d.Change.Time
		switch {
		case birth.Stage == state.Waiting && s.redrive:
			failed.Add(i, errWaits)
		case birth.Stage == state.Waiting:
			d.Outcome, d.Reason = pipeline.NoEffect, ReasonWaiting
		case !made.IsZero() && made.Before(birth.Floor):
			d.Outcome, d.Reason = pipeline.NoEffect, ReasonBeforeFloor
		default:
			if len(d.Ops) > 0 {
				if u, ok := d.Ops[0].(unplanned); ok {
					failed.Add(i, u.err)
					continue
				}
			}
			indexes = append(indexes, i)
		}
	}
	switch {
	case len(indexes) == len(ds):
		return s.Sink.Write(ctx, ds)
	case len(indexes) == 0:
		return failed.OrNil()
	}
	part := make([]pipeline.Delivery, len(indexes))
	for n, i := range indexes {
		part[n] = ds[i]
	}
	err = s.Sink.Write(ctx, part)
	partFailed, isBatch := errors.AsType[*pipeline.BatchError](err)
	for n, i := range indexes {
		ds[i].Outcome, ds[i].Reason = part[n].Outcome, part[n].Reason
		switch {
		case isBatch:
			failed.Add(i, partFailed.Failed[n])
		default:
			failed.Add(i, err)
		}
	}
	if err != nil && !isBatch && pipeline.IsFatal(err) {
		return err
	}
	return failed.OrNil()
}
