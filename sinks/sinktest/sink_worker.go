package sinktest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// worker delivers changes to a sink as a pipeline does.
type worker struct {
	sink    pipeline.Sink
	events  func(c *record.Change) []pipeline.Event
	refused func(err error) bool // reports whether a permanent error is correct; nil if no permanent error is
	dead    []letter             // permanent failures, in order
	carrier *carrier             // nil before the first batch

	isRedriving bool
}

// mayRefuse reports whether a permanent error is correct.
func (w *worker) mayRefuse(err error) bool { return w.refused != nil && w.refused(err) }

// letter is a dead letter: a change that failed permanently.
type letter struct {
	change  *record.Change
	refused bool // the sink refused the change, and may refuse it again
}

// attempts is the maximum number of tries of a delivery. After that many transient errors the suite fails the sink.
const attempts = 100

// deliver plans and writes one batch of changes, and retries transient failures. It returns an error if the sink is
// wrong, or [ErrCrash].
func (w *worker) deliver(ctx context.Context, changes []*record.Change) (err error) {
	if w.carrier == nil {
		if w.carrier, err = newCarrier(w); err != nil {
			return err
		}
	}
	return w.carrier.planAndWrite(ctx, changes, func(ds []pipeline.Delivery) error { return w.writeAll(ctx, ds) })
}

// writeAll writes the planned deliveries of one batch in one Write. If the sink does not keep the order of the changes
// of a key, writeAll makes several Writes, so that no Write has two changes of a key.
func (w *worker) writeAll(ctx context.Context, planned []pipeline.Delivery) error {
	if sink, ok := w.sink.(pipeline.KeyOrderer); ok && sink.KeepsKeyOrder() {
		return w.write(ctx, planned)
	}
	start, keys := 0, make(map[item.Key]bool) // of the next Write
	for i := range planned {
		key := planned[i].Change.Key
		if keys[key] {
			if err := w.write(ctx, planned[start:i:i]); err != nil {
				return err
			}
			start = i
			clear(keys)
		}
		keys[key] = true
	}
	return w.write(ctx, planned[start:])
}

// checkPlan returns an error if a plan is invalid.
func checkPlan(d *pipeline.Delivery) error {
	if d.Outcome == pipeline.NoEffect && (d.Reason == "" || len(d.Ops) > 0) {
		return fmt.Errorf("no effect for the reason %q, with %d ops: it needs a reason and no ops", d.Reason, len(d.Ops))
	}
	for _, op := range d.Ops {
		if op.String() == "" {
			return errors.New("an op says nothing")
		}
	}
	return nil
}

// write writes deliveries in one Write. It writes deliveries again if they fail with transient errors.
func (w *worker) write(ctx context.Context, ds []pipeline.Delivery) error {
	for try := 0; len(ds) > 0; try++ {
		if try == attempts {
			return fmt.Errorf("a delivery failed %d times, and each time its error was transient", attempts)
		}
		err := w.sink.Write(ctx, ds)
		if errors.Is(err, ErrCrash) {
			return ErrCrash
		}
		failures, batchFailure := pipeline.FailuresOf(err, len(ds))
		var retried []pipeline.Delivery
		for i, d := range ds {
			retry, err := w.applyResult(&d, cmp.Or(batchFailure, failures[i]))
			if err != nil {
				return err
			}
			if retry {
				d.Outcome, d.Reason = pipeline.Written, ""
				retried = append(retried, d)
			}
		}
		ds = retried
	}
	return nil
}

// applyResult checks a delivery that succeeded, and dead-letters one that failed permanently. It reports whether to
// retry the delivery. err is not nil if the sink is wrong, or if the process crashed.
func (w *worker) applyResult(d *pipeline.Delivery, failure error) (retry bool, err error) {
	_, retryable := pipeline.Retryable(failure)
	switch {
	case failure == nil:
		return false, checkOutcome(d)
	case errors.Is(failure, ErrCrash):
		return false, ErrCrash
	case retryable:
		return true, nil
	case w.dropsLetter(d):
		return false, nil
	case errors.Is(failure, errPermanent):
		w.dead = append(w.dead, letter{change: d.Change})
		return false, nil
	case w.mayRefuse(failure):
		w.dead = append(w.dead, letter{change: d.Change, refused: true})
		return false, nil
	}
	return false, fmt.Errorf("write of %s %s: %w", d.Change.EventName, d.Change.Key, failure)
}

// dropsLetter reports whether a redrive drops the letter of a delivery. It does if the sink has a newer version of the
// item, and no earlier letter of the item is left.
func (w *worker) dropsLetter(d *pipeline.Delivery) bool {
	isOfItem := func(l letter) bool { return l.change.Key == d.Change.Key }
	return w.isRedriving && d.Outcome == pipeline.Superseded && !slices.ContainsFunc(w.dead, isOfItem)
}

// checkOutcome returns an error if a Write set an invalid outcome.
func checkOutcome(d *pipeline.Delivery) error {
	switch d.Outcome {
	case pipeline.DeadLettered, pipeline.Quarantined:
		return fmt.Errorf("a Write set the outcome %s, which is the pipeline's to set", d.Outcome)
	case pipeline.NoEffect, pipeline.Suppressed:
		if d.Reason == "" {
			return fmt.Errorf("a Write set the outcome %s without a reason", d.Outcome)
		}
	}
	return nil
}

// flush ends a run.
func (w *worker) flush(ctx context.Context) error {
	if f, ok := w.sink.(pipeline.Flusher); ok {
		return f.Flush(ctx)
	}
	return nil
}

// redrive delivers the permanent failures again, one by one and in order.
func (w *worker) redrive(ctx context.Context) error {
	dead := w.dead
	w.dead, w.isRedriving = nil, true
	defer func() { w.isRedriving = false }()
	for _, l := range dead {
		if err := w.deliver(ctx, []*record.Change{l.change}); err != nil {
			return err
		}
	}
	return nil
}
