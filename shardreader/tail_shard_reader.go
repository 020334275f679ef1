package shardreader

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// tailReader reads one shard for [Tail].
type tailReader struct {
	*tailer
	shard        string
	start        IteratorType // Latest or TrimHorizon
	iterator     string       // iterator of the next page; "" if a new one must be requested at nextPosition()
	lastSequence string       // sequence number of the last record read; "" if there is none
	readAt       time.Time    // time of the last successful GetRecords call; at first, time of the reader's start
}

// readToEnd reads the shard to its end. It calls GetRecords at most once in readPause, also after a failure.
func (r *tailReader) readToEnd(ctx context.Context) error {
	failures := 0
	for {
		if err := r.ensureIterator(ctx); err != nil {
			return err
		}
		calledAt := time.Now()
		query := RecordsQuery{Iterator: r.iterator, StreamARN: r.options.Stream, Shard: r.shard}
		page, err := r.options.API.GetRecords(ctx, query)
		wait := readPause
		if err == nil {
			failures, r.readAt, r.iterator = 0, calledAt, page.NextIterator
			if err := r.deliver(ctx, page.Page); err != nil || page.Ended {
				return err
			}
		} else {
			failures++
			requestedWait, mayRetry := r.afterFailure(err)
			if !mayRetry || failures >= r.options.Attempts || ctx.Err() != nil {
				return err
			}
			wait = max(wait, requestedWait)
		}
		if err := pipeline.Sleep(ctx, time.Until(calledAt.Add(wait))); err != nil {
			return err
		}
	}
}

// ensureIterator requests an iterator at nextPosition if there is none.
func (r *tailReader) ensureIterator(ctx context.Context) (err error) {
	if r.iterator != "" {
		return nil
	}
	unreadFor := time.Since(r.readAt)
	if r.lastSequence == "" && unreadFor > safeRetention {
		return fmt.Errorf("shard %s could not be read for %s, and the stream may have dropped records of it: %w", r.shard,
			unreadFor.Round(time.Minute), ErrTrimmed)
	}
	r.iterator, err = r.api.GetShardIterator(ctx, r.nextPosition())
	return err
}

// nextPosition returns the position at which the next page begins.
func (r *tailReader) nextPosition() ShardPosition {
	at := ShardPosition{StreamARN: r.options.Stream, Shard: r.shard, Type: r.start}
	switch {
	case r.lastSequence != "":
		at.Type, at.Sequence = AfterSequence, r.lastSequence
	case r.start == Latest: // no record was written between the start and readAt
		at.Type, at.Time = AtTimestamp, r.readAt.Truncate(time.Second)
	}
	return at
}

// afterFailure reports whether to call GetRecords again after err, and the minimum wait before the next call. After
// some errors, the next call needs a new iterator.
func (r *tailReader) afterFailure(err error) (requestedWait time.Duration, mayRetry bool) {
	switch {
	case errors.Is(err, ErrExpiredIterator): // the process was suspended
		r.iterator = ""
		return 0, true
	case errors.Is(err, ErrTrimmed) && r.lastSequence == "": // all records left were written after the start
		r.iterator, r.start = "", TrimHorizon
		return 0, true
	}
	return r.options.Retryable(err)
}

// deliver hands a page to the caller of Tail, unless it is empty.
func (r *tailReader) deliver(ctx context.Context, p *record.Page) error {
	for line := range recordLines(p) {
		if line.sequence != "" {
			r.lastSequence = line.sequence
		}
	}
	if len(p.Changes)+len(p.Errors) == 0 {
		return nil
	}
	select {
	case r.pages <- p:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
