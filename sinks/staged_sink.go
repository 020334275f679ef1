package sinks

import (
	"context"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/state"
)

// The reasons why a change has no effect at a sink that a backfill fills or will fill.
const (
	ReasonWaiting = "waiting" // no backfill of the sink has begun
	// ReasonBeforeFloor means that the change was made before the floor of the sink's backfill. The items of the
	// backfill include the result of the change
	ReasonBeforeFloor = "before_floor"
)

// errWaits is the error of a change that is redriven from dead letters while the sink waits.
var errWaits = errs.New(
	"the sink waits to be filled: fill it first by `tablewake backfill`, which brings what the table holds, and redrive again")

// maxStageAge is the age up to which a Write uses a stage that was read earlier. When a backfill sets a floor, the
// floor is at least 15 s in the future. So every process knows the stage before the time of the floor, and writes each
// change after the floor before it acknowledges that change.
const maxStageAge = 10 * time.Second

// stagedSink is a sink that a backfill fills, filled or will fill. While the sink waits, stagedSink writes nothing.
// Later it writes no change of the stream that was made before the floor of the backfill.
type stagedSink struct {
	forwarder
	births  state.Births
	now     func() time.Time
	redrive bool // a change fails while the sink waits

	// free holds one value. Whoever has received the value may use birth (the output's recorded identity) and readAt.
	free   chan struct{}
	birth  state.Birth
	readAt time.Time // when birth was read; the zero time before the first Write
}

// newStagedSink wraps a sink. The first Write reads the birth again, because opening all stores may have taken long.
func newStagedSink(sink pipeline.Sink, births state.Births, birth state.Birth, redrive bool) *stagedSink {
	s := &stagedSink{forwarder: forwarder{sink}, births: births, now: time.Now, redrive: redrive,
		free: make(chan struct{}, 1), birth: birth}
	s.free <- struct{}{}
	return s
}

// currentBirth returns the birth of the output, as it was read at most maxStageAge ago. The birth of a live sink is not
// read again: the sink stays live, since it is filled only once. The age is measured by the wall clock, because the
// monotonic clock of a frozen Lambda function stands still.
func (s *stagedSink) currentBirth(ctx context.Context) (state.Birth, error) {
	select {
	case <-s.free:
	case <-ctx.Done():
		return state.Birth{}, context.Cause(ctx)
	}
	defer func() { s.free <- struct{}{} }()
	now := s.now().Round(0)
	age := now.Sub(s.readAt)
	isRecent := age >= 0 && age < maxStageAge
	if isRecent || s.birth.Stage == state.Live {
		return s.birth, nil
	}
	birth, ok, err := state.FindBirth(ctx, s.births, s.birth.Sink, s.birth.Target)
	switch {
	case err != nil:
		return birth, pipeline.Transient(errs.Errorf("the stage of the sink's backfill cannot be read: %w", err))
	case !ok || birth.ID != s.birth.ID:
		return birth, state.BirthMismatch(s.birth.Sink, "the state", birth.ID, s.birth.ID)
	}
	s.birth, s.readAt = birth, now
	return birth, nil
}

// Plan plans the change. If that fails, Write decides by the stage of the sink whether the change is a dead letter.
func (s *stagedSink) Plan(d *pipeline.Delivery) error {
	err := s.forwarder.Plan(d)
	if err == nil || pipeline.IsFatal(err) {
		return err
	}
	d.Ops, d.Outcome, d.Reason = append(d.Ops[:0], unplanned{err}), pipeline.Written, ""
	return nil
}

// unplanned is the op of a change whose plan failed.
type unplanned struct{ err error }

// String returns a text with the redacted error.
func (u unplanned) String() string { return "cannot be planned: " + redact.LogText(u.err) }

// Write writes the deliveries that the stage lets through.
func (s *stagedSink) Write(ctx context.Context, ds []pipeline.Delivery) error {
	birth, err := s.currentBirth(ctx)
	if err != nil {
		return err
	}
	var failed pipeline.BatchError
	var selected []int
	for i := range ds {
		write, err := s.letsThrough(birth, &ds[i])
		failed.Add(i, err)
		if write {
			selected = append(selected, i)
		}
	}
	return s.writeSelected(ctx, ds, selected, failed)
}

// letsThrough reports whether the stage lets a delivery be written. If not, it sets the outcome, or returns the error
// that the delivery fails with.
func (s *stagedSink) letsThrough(birth state.Birth, d *pipeline.Delivery) (bool, error) {
	created := d.Change.Time
	isBeforeFloor := !created.IsZero() && created.Before(birth.Floor) && !d.Change.FromSnapshot()
	switch {
	case birth.Stage == state.Waiting && s.redrive:
		return false, errWaits
	case birth.Stage == state.Waiting:
		d.Outcome, d.Reason = pipeline.NoEffect, ReasonWaiting
		return false, nil
	case isBeforeFloor:
		d.Outcome, d.Reason = pipeline.NoEffect, ReasonBeforeFloor
		return false, nil
	}
	op, isUnplanned := firstOp[unplanned](d)
	return !isUnplanned, op.err
}

// firstOp returns the first op of a delivery as a T. ok is false if it is another op, or if there is none.
func firstOp[T pipeline.Op](d *pipeline.Delivery) (op T, ok bool) {
	if len(d.Ops) > 0 {
		op, ok = d.Ops[0].(T)
	}
	return op, ok
}
