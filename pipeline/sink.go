package pipeline

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/tablewake/tablewake/pipeline/record"
)

// Outcome is what became of a delivery. The zero Outcome is Written.
type Outcome uint8

// What can become of a delivery.
const (
	Written      Outcome = iota // the sink holds what the change says
	Superseded                  // a newer version was there
	NoEffect                    // the change means nothing to this sink; see Delivery.Reason
	Coalesced                   // a later change of the same batch wrote for it
	Suppressed                  // held back on purpose, as notify is in a replay
	DeadLettered                // set by the pipeline
	Quarantined                 // set by the pipeline
	Revoked                     // set by the pipeline: its partition was taken away; see Control
)

// String is written, superseded, no_effect, coalesced, suppressed, dead_lettered, quarantined or revoked.
func (o Outcome) String() string {
	if int(o) >= len(outcomeNames) {
		return "unknown"
	}
	return outcomeNames[o]
}

var outcomeNames = [...]string{"written", "superseded", "no_effect", "coalesced", "suppressed", "dead_lettered", "quarantined", "revoked"}

// Delivery is one change on its way to one sink.
type Delivery struct {
	Change  *record.Change
	Events  []Event // what the detectors raised, in order; see EventIgnorer
	Ops     []Op    // what the sink's Plan made of the change: there until Write returns
	Outcome Outcome // set by Plan or Write
	Reason  string  // why, where the outcome is NoEffect or Suppressed: "sparse", ...

	arena *planArena // while it is planned
}

// Op is one thing that a sink does to its store: as text, a line of `explain`
// such as `put row PK="STATUS#paid" SK="2026-01-02#..."`. It never shows a
// sensitive value.
type Op interface {
	fmt.Stringer
}

// Sink writes changes to one destination. Write blocks until every delivery is
// durable or has failed, or ctx is done; it sets Outcome and Reason of each. A
// *BatchError names those that failed, and an unlisted one succeeded; any other
// error fails them all.
//
// A failed delivery is retried only when its error is marked with Transient or
// RetryAfter (or is a timeout), and is dead-lettered otherwise; an error marked
// with Fatal stops the pipeline. A permanent error or a panic that fails a Write of
// several deliveries as a whole is not believed of them all: each is written
// once more by itself, and those that fail again are dead-lettered.
//
// ds is the sink's until Write returns, and so are the Ops in it and what its Plan made by
// [Alloc] and [Delivery.Bytes]: they are another page's afterwards. Who keeps a Delivery
// takes what it needs of them before.
//
// The pipeline never has two Writes in flight that share a key, and one Write never holds
// two changes of a key unless the sink is a [KeyOrderer].
type Sink interface {
	Write(ctx context.Context, ds []Delivery) error
}

// SinkFunc makes a function a Sink.
type SinkFunc func(ctx context.Context, ds []Delivery) error

// Write calls f.
func (f SinkFunc) Write(ctx context.Context, ds []Delivery) error { return f(ctx, ds) }

// KeyOrderer is implemented by sinks whose Write takes several changes of one key,
// in order. Where KeepsKeyOrder is true, the sink promises that a change which
// fails does no harm by coming again after a later one of the same Write that
// succeeded: because writes carry their version and an older one loses, because a
// Write succeeds or fails as a whole, or because it fails the later ones of the key too.
type KeyOrderer interface {
	KeepsKeyOrder() bool
}

// Guarded is implemented by sinks to which versions decide: where Guarded is true,
// a change that is delivered after later ones of its key does no harm. Behind a
// permanent error such a sink goes on with the key; any other sink's key is
// quarantined, where the pipeline has a Quarantine.
type Guarded interface {
	Guarded() bool
}

// SortedWriter is implemented by sinks whose batches may be larger than the memory of a
// pipeline. When memory is short, the pipeline compresses the changes that wait for such a batch
// to fill, if the sink is a [KeyOrderer], [Guarded] and an [EventIgnorer] too.
//
// WriteSorted is Write for a compressed batch. all yields its deliveries, planned, in the order
// of their keys and versions; a pulled error ends the sequence. WriteSorted may range over it
// several times, and should keep none: memory is that of a few deliveries. It leaves Outcome at
// Written, or sets it to Coalesced, in one of the ranges. After an error of any kind, none of the batch counts as
// written: the pipeline gives the same changes to Write, whose errors count.
type SortedWriter interface {
	WriteSorted(ctx context.Context, all iter.Seq2[*Delivery, error]) error
}

// EventIgnorer is implemented by sinks that look at no events: where IgnoresEvents is
// true, the sink's deliveries have none. What no sink of a pipeline looks at is counted
// in its ledger all the same.
type EventIgnorer interface {
	IgnoresEvents() bool
}

// Planner is implemented by sinks that decide ahead of Write what they would do.
// Plan is pure: no I/O, no clock; it is called concurrently. It fills d.Ops, or
// sets d.Outcome to NoEffect with a Reason and leaves d.Ops empty: such a delivery
// is finished without a Write. An error is permanent.
type Planner interface {
	Plan(d *Delivery) error
}

// Requirer is implemented by sinks, filters and detectors that need images. The
// pipeline refuses a stream whose view type lacks them when it sees its first record.
type Requirer interface {
	Requires() Needs
}

// Needs names the images that a stage cannot work without.
type Needs struct {
	Old, New bool
}

// Flusher is implemented by sinks that keep something open between Writes. Flush
// is called at the end of a Run, after the last Write. Durability may not wait for
// it: that is Write's promise.
type Flusher interface {
	Flush(ctx context.Context) error
}

// BatchError names the deliveries of a Write that failed.
type BatchError struct {
	Failed map[int]error // by index into the slice given to Write
}

// Add notes that delivery i failed with err; a nil err is ignored.
func (e *BatchError) Add(i int, err error) {
	if err == nil {
		return
	}
	if e.Failed == nil {
		e.Failed = make(map[int]error)
	}
	e.Failed[i] = err
}

// OrNil is e as an error, or nil when nothing failed.
func (e *BatchError) OrNil() error {
	if len(e.Failed) == 0 {
		return nil
	}
	return e
}

// Error counts the failures and shows the first by index.
func (e *BatchError) Error() string {
	first := -1
	for i := range e.Failed {
		if first < 0 || i < first {
			first = i
		}
	}
	if first < 0 {
		return "no delivery failed"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d deliveries failed; delivery %d: %v", len(e.Failed), first, e.Failed[first])
	return b.String()
}
