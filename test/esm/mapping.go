// Package esm imitates how AWS Lambda's event source mapping of a DynamoDB stream handles records and a function's
// answers: batches, retries from the lowest reported failure, halves, limits of attempts and age, parallel batches with
// the order of each item kept, tumbling windows, and the record of a batch that it abandons.
//
// It does what the Lambda Developer Guide says ("Using AWS Lambda with Amazon DynamoDB", with its pages on batching,
// error handling, partial responses and windows). For the cases that the documentation leaves open it makes the harder
// choice for a function: a retry keeps the attempts that a batch had before some of it was done.
package esm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Function is what a mapping invokes: one environment, which takes one event at a time. An
// error is an invocation that failed as a whole.
type Function interface {
	Invoke(ctx context.Context, event []byte) ([]byte, error)
}

// Mapping is an event source mapping. A zero field is Lambda's default, but for
// MaxRetries and Pause.
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
	MaxAge     time.Duration                   // MaximumRecordAgeInSeconds. Default: without end
	Pause      func(attempt int) time.Duration // between two tries; the first is 1. Default: none

	// Filter tells which records match FilterCriteria. Default: all.
	Filter func(records [][]byte) ([]bool, error)
	// Discard receives an abandoned batch, as an on-failure destination. Default: it is lost.
	Discard func(ctx context.Context, d Discarded) error
}

// Shard is what was recorded of one: stream records as Lambda hands them on, in order.
type Shard struct {
	ID      string
	Records [][]byte
}

// Report is what a mapping did.
type Report struct {
	Invocations int
	Errors      int // invocations that failed as a whole
	Partial     int // answers that named a failure
	Halved      int // batches
	Filtered    int // records that did not match
	Discarded   int // records that were abandoned
}

// run is a mapping at work.
type run struct {
	*Mapping
	free chan Function // environments that take no event now

	mu     sync.Mutex
	report Report
}

// Run hands all records of the shards to the function, and returns when each is done or abandoned. The error says why
// it cannot continue: an invalid record, ctx, a destination that fails.
func (m *Mapping) Run(ctx context.Context, shards ...Shard) (Report, error) {
	with := *m
	with.BatchSize = cmp.Or(m.BatchSize, 100)
	with.BatchBytes = cmp.Or(m.BatchBytes, 6<<20)
	with.Parallelization = cmp.Or(m.Parallelization, 1)
	switch {
	case len(m.Functions) == 0:
		return Report{}, errors.New("esm: Functions is empty")
	case with.BatchSize < 1 || with.BatchSize > 10_000:
		return Report{}, errors.New("esm: BatchSize is 1 to 10,000")
	case with.Parallelization < 1 || with.Parallelization > 10:
		return Report{}, errors.New("esm: Parallelization is 1 to 10")
	case with.Parallelization > 1 && m.TumblingWindow > 0:
		return Report{}, errors.New("esm: a tumbling window excludes Parallelization")
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

// count changes the report.
func (r *run) count(do func(*Report)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	do(&r.report)
}

// lanes are the batches of a shard that may be in flight at once.
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
		l := lanes[rec.lane(len(lanes))]
		l.records = append(l.records, rec)
	}
	return lanes, nil
}
