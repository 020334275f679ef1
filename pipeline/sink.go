package pipeline

import (
	"context"
	"fmt"
	"strings"
)

// Outcome is what became of a delivery. The zero Outcome is Written.
type Outcome uint8

const (
	Written      Outcome = iota // the sink holds what the change says
	Superseded                  // a newer version was there
	NoEffect                    // the change means nothing to this sink; see Delivery.Reason
	Coalesced                   // a later change of the same batch wrote for it
	Suppressed                  // held back on purpose, as notify is in a replay
	DeadLettered                // set by the pipeline
	Quarantined                 // set by the pipeline
)

// String is written, superseded, no_effect, coalesced, suppressed, dead_lettered or quarantined.
func (o Outcome) String() string {
	return [...]string{"written", "superseded", "no_effect", "coalesced", "suppressed", "dead_lettered", "quarantined"}[o]
}

// Delivery is one change on its way to one sink.
type Delivery struct {
	Change  *Change
	Events  []Event // what the detectors raised, in order
	Ops     []Op    // what the sink's Plan made of the change
	Outcome Outcome // set by Plan or Write
	Reason  string  // why, where the outcome is NoEffect or Suppressed: "sparse", ...
}

// Op is one thing that a sink does to its store: as text, a line of `explain`
// such as `put row PK="STATUS#paid" SK="2026-01-02#..."`. It never shows a
// sensitive value.
type Op interface {
	fmt.Stringer
}

// Sink writes changes to one destination. Write blocks until every delivery is
// durable or has failed; it sets Outcome and Reason of each. A *BatchError names
// those that failed, and an unlisted one succeeded; any other error fails them
// all. Failed deliveries are retried only when their error is marked with
// Transient or RetryAfter (or is a timeout), are dead-lettered otherwise, and
// stop the pipeline when it is marked with Fatal. ds is the sink's until Write
// returns and holds the changes of a key in order. The pipeline never has two
// Writes in flight that share a key.
type Sink interface {
	Write(ctx context.Context, ds []Delivery) error
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

// Flusher is implemented by sinks that keep something open between Writes.
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
