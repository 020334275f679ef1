package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/tablewake/tablewake/pipeline/record"
)

// Outcome is the result of a delivery. The zero Outcome is Written.
type Outcome uint8

// The outcomes of a delivery.
const (
	Written      Outcome = iota // the sink has the change
	Superseded                  // the sink already had a newer version
	NoEffect                    // the sink has nothing to write for the change; see Delivery.Reason
	Coalesced                   // a later change of the same batch replaced it
	Suppressed                  // not written on purpose, for example notify in a replay
	DeadLettered                // set by the pipeline
	Quarantined                 // set by the pipeline
	Revoked                     // set by the pipeline: its partition was revoked, or it returned to the source (nack)
)

// String returns one of these texts: written, superseded, no_effect, coalesced, suppressed, dead_lettered, quarantined,
// revoked.
func (o Outcome) String() string {
	if int(o) >= len(outcomeNames) {
		return "unknown"
	}
	return outcomeNames[o]
}

var outcomeNames = [...]string{"written", "superseded", "no_effect", "coalesced", "suppressed", "dead_lettered",
	"quarantined", "revoked"}

// Delivery is one change for one sink.
type Delivery struct {
	Change  *record.Change
	Events  []Event // events of the detectors, in order; see EventIgnorer
	Ops     []Op    // set by the Plan of the sink; valid until Write returns
	Outcome Outcome // set by Plan or Write
	Reason  string  // for NoEffect and Suppressed: "sparse", ...

	arena *planArena // only during Plan
}

// Op is one operation of a sink on its store. Its text is a line in the output of `explain`, for example `put row
// PK="STATUS#paid" SK="2026-01-02#..."`. It never shows a sensitive value.
type Op interface {
	fmt.Stringer
}

// Sink writes changes to one destination. Write blocks until every delivery is durable or has failed, or ctx is done.
// It sets Outcome and Reason of each delivery. If some deliveries failed, Write returns a *BatchError that names them;
// the deliveries that it does not name succeeded. Any other error means that all deliveries failed.
//
// A failed delivery is retried if its error is marked with Transient or RetryAfter, or is a timeout. Otherwise it is
// dead-lettered. An error marked with Fatal stops the pipeline. If a Write of several deliveries fails as a whole with
// a permanent error or a panic, each delivery is written once more, alone. A delivery that fails again is
// dead-lettered.
//
// ds belongs to the sink until Write returns. The same holds for the Ops in ds, and for the memory that Plan got from
// [Alloc] and [Delivery.Bytes]. After Write, other pages use that memory. So a sink that keeps something of a Delivery
// must copy it.
//
// The pipeline never has two Writes in flight that share a key. One Write has several changes of a key only if the sink
// is a [KeyOrderer].
type Sink interface {
	Write(ctx context.Context, ds []Delivery) error
}

// SinkFunc adapts a function to a Sink.
type SinkFunc func(ctx context.Context, ds []Delivery) error

// Write calls f.
func (f SinkFunc) Write(ctx context.Context, ds []Delivery) error { return f(ctx, ds) }

// KeyOrderer is implemented by sinks whose Write takes several changes of one key, in order. If KeepsKeyOrder returns
// true, the sink promises that a failed change can safely come again. This must hold even if a later change of its key
// succeeded in the same Write. A sink can make this promise in three cases. Its writes carry a version, and an older
// version loses. Or a Write succeeds or fails as a whole. Or, after a failed change, the later changes of the same key
// fail too.
type KeyOrderer interface {
	KeepsKeyOrder() bool
}

// Guarded is implemented by sinks that compare versions. If Guarded returns true, a change is safe to deliver after
// later changes of its key. At such a sink, the later changes of a key are written after a permanent error. At any
// other sink the key is quarantined, if the pipeline has a Quarantine.
type Guarded interface {
	Guarded() bool
}

// SortedWriter is implemented by sinks whose batches can be larger than the memory of a pipeline. When memory runs
// short, the pipeline compresses changes that wait for such a batch to fill. The sink must also be a [KeyOrderer],
// [Guarded] and an [EventIgnorer], and each of these methods must return true.
//
// WriteSorted is Write for a compressed batch. The sequence all yields the deliveries of the batch with their plans, in
// the order of their keys and versions. After an error, the sequence yields nothing more. WriteSorted can range over
// the sequence several times. It should keep no delivery, because only a few deliveries are in memory at a time. It
// returns the number of deliveries that later changes of the batch replaced; the ledger counts them as Coalesced. After
// any error, no delivery of the batch counts as written: the pipeline gives the same changes to Write, and the errors
// of Write decide. Changes of a paused partition ([Pauser]) stay compressed until the partition is resumed, and can
// come in a later WriteSorted.
type SortedWriter interface {
	WriteSorted(ctx context.Context, all iter.Seq2[*Delivery, error]) (coalesced int, err error)
}

// EventIgnorer is implemented by sinks that do not use events. If IgnoresEvents returns true, the deliveries have no
// events. The ledger still counts all events.
type EventIgnorer interface {
	IgnoresEvents() bool
}

// Planner is implemented by sinks that decide before Write what they will do. Plan must be pure (no I/O, no clock) and
// is called concurrently. It sets d.Ops. Or it sets d.Outcome to NoEffect or Suppressed with a Reason, and leaves d.Ops
// empty: such a delivery is finished without a Write. An error is permanent.
type Planner interface {
	Plan(d *Delivery) error
}

// Requirer is implemented by sinks, filters and detectors that need images. The pipeline refuses a stream whose view
// type lacks these images, before the stream's first record is delivered.
type Requirer interface {
	Requires() Needs
}

// Needs names the images that a stage needs.
type Needs struct {
	Old, New bool
}

// Flusher is implemented by sinks that keep something open between Writes. Flush is called at the end of a Run, after
// the last Write. Deliveries must be durable without Flush.
type Flusher interface {
	Flush(ctx context.Context) error
}

// BatchError has an error for each delivery that failed in a Write.
type BatchError struct {
	Failed map[int]error // by index into the slice given to Write
}

// Add sets err as the error of delivery i. It ignores a nil err.
func (e *BatchError) Add(i int, err error) {
	if err == nil {
		return
	}
	if e.Failed == nil {
		e.Failed = make(map[int]error)
	}
	e.Failed[i] = err
}

// OrNil returns e, or nil if no delivery failed.
func (e *BatchError) OrNil() error {
	if len(e.Failed) == 0 {
		return nil
	}
	return e
}

// FailuresOf returns which of n deliveries failed. err is the result of their Write. If err is a [*BatchError], failed
// has an error for each delivery that failed, by index, and batchErr is nil. If err is another error, or if an index is
// out of range, failed is nil, and all deliveries failed with batchErr. If err is nil, both results are nil.
func FailuresOf(err error, n int) (failed map[int]error, batchErr error) {
	partial, ok := errors.AsType[*BatchError](err)
	if !ok {
		return nil, err
	}
	if partial == nil {
		return nil, nil
	}
	failed = make(map[int]error, len(partial.Failed))
	for i, cause := range partial.Failed {
		failed[i] = cmp.Or(cause, errNoCause)
		if i < 0 || i >= n {
			return nil, fmt.Errorf("the sink's BatchError names delivery %d of %d: %w", i, n, failed[i])
		}
	}
	return failed, nil
}

var errNoCause = errs.New("the sink returned an error without a cause")

// Error reports the number of failures, and the failure with the lowest index.
func (e *BatchError) Error() string {
	if len(e.Failed) == 0 {
		return "no delivery failed"
	}
	first := slices.Min(slices.Collect(maps.Keys(e.Failed)))
	return fmt.Sprintf("%d deliveries failed; delivery %d: %v", len(e.Failed), first, e.Failed[first])
}
