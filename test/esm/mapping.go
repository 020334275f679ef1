// Package esm imitates how AWS Lambda's event source mapping of a DynamoDB stream handles records and the answers of
// a function. It covers batches, retries from the lowest reported failure, bisection, limits of attempts and age,
// parallel batches with the order of each item kept, tumbling windows, and the record of an abandoned batch.
//
// It follows the Lambda Developer Guide ("Using AWS Lambda with Amazon DynamoDB", with its pages on batching, error
// handling, partial responses and windows). If the documentation leaves a case open, it makes the choice that is
// harder for a function: a retry keeps the attempts that a batch had before a part of it was done.
package esm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Function is the function that a mapping invokes: one environment, which takes one event at a time. An error means
// that the whole invocation failed.
type Function interface {
	Invoke(ctx context.Context, event []byte) ([]byte, error)
}

// Mapping is an event source mapping. A zero field means Lambda's default, except for MaxRetries and Pause.
type Mapping struct {
	Functions []Function // maximum number of concurrent environments; at least one

	BatchSize       int           // records. Default: 100
	BatchBytes      int           // of an event. Default: 6 MiB
	BatchWindow     time.Duration // time during which records are gathered, as if each arrived when it was created. Default: no end
	Parallelization int           // batches of a shard at once, each item in one of them. Default: 1
	TumblingWindow  time.Duration // Default: none. It excludes Parallelization

	ReportFailures bool // FunctionResponseTypes: [ReportBatchItemFailures]
	Bisect         bool // BisectBatchOnFunctionError

	MaxRetries int                             // MaximumRetryAttempts: 0 tries a batch once, Lambda's own default is -1: without end
	MaxAge     time.Duration                   // MaximumRecordAgeInSeconds. Default: unlimited
	Pause      func(attempt int) time.Duration // between two attempts; the first is 1. Default: none

	// Filter reports for each record whether it matches FilterCriteria. Default: all match.
	Filter func(records [][]byte) ([]bool, error)
	// Discard receives an abandoned batch, as an on-failure destination does. Default: the batch is lost.
	Discard func(ctx context.Context, d Discarded) error
}

// Shard holds the stream records of one shard as Lambda delivers them, in order.
type Shard struct {
	ID      string
	Records [][]byte
}

// Report counts the work of a mapping.
type Report struct {
	Invocations int
	Errors      int // invocations that failed completely
	Partial     int // answers that reported a failure
	Halved      int // batches that were split
	Filtered    int // records that did not match
	Discarded   int // abandoned records
}

// run is a running mapping.
type run struct {
	*Mapping
	free chan Function // environments without an event now

	mu     sync.Mutex
	report Report
}

// Run delivers all records of the shards to the function, and returns when each record is done or abandoned. It
// returns an error if it cannot continue: for an invalid record, when ctx ends, or if a destination fails.
func (m *Mapping) Run(ctx context.Context, shards ...Shard) (Report, error) {
	with := *m
	with.BatchSize = cmp.Or(m.BatchSize, 100)
	with.BatchBytes = cmp.Or(m.BatchBytes, 6<<20)
	with.Parallelization = cmp.Or(m.Parallelization, 1)
	if err := with.check(); err != nil {
		return Report{}, err
	}
	r := &run{Mapping: &with, free: make(chan Function, len(m.Functions))}
	for _, f := range m.Functions {
		r.free <- f
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var all sync.WaitGroup
	for _, shard := range shards {
		lanes, err := r.lanes(shard)
		if err != nil {
			stop(err)
			break
		}
		for _, lane := range lanes {
			all.Go(func() {
				if err := lane.work(ctx); err != nil {
					stop(err)
				}
			})
		}
	}
	all.Wait()
	return r.report, context.Cause(ctx)
}

// check returns an error if a field is out of its range. The fields have their defaults.
func (m *Mapping) check() error {
	switch {
	case len(m.Functions) == 0:
		return errors.New("esm: Functions is empty")
	case m.BatchSize < 1 || m.BatchSize > 10_000:
		return errors.New("esm: BatchSize is 1 to 10,000")
	case m.Parallelization < 1 || m.Parallelization > 10:
		return errors.New("esm: Parallelization is 1 to 10")
	case m.Parallelization > 1 && m.TumblingWindow > 0:
		return errors.New("esm: a tumbling window excludes Parallelization")
	}
	return nil
}

// count changes the report under the lock.
func (r *run) count(do func(*Report)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	do(&r.report)
}

// lanes returns the lanes of a shard. Each of them has at most one batch in flight.
func (r *run) lanes(s Shard) ([]*lane, error) {
	matches := make([]bool, len(s.Records))
	for i := range matches {
		matches[i] = true
	}
	if r.Filter != nil {
		var err error
		if matches, err = r.Filter(s.Records); err != nil {
			return nil, fmt.Errorf("esm: filter: %w", err)
		}
	}
	lanes := make([]*lane, r.Parallelization)
	for i := range lanes {
		lanes[i] = &lane{run: r, shard: s.ID}
	}
	for i, b := range s.Records {
		if !matches[i] {
			r.count(func(r *Report) { r.Filtered++ })
			continue
		}
		rec, err := parse(b)
		if err != nil {
			return nil, fmt.Errorf("esm: record %d of shard %s: %w", i, s.ID, err)
		}
		l := lanes[rec.laneIndex(len(lanes))]
		l.records = append(l.records, rec)
	}
	return lanes, nil
}
