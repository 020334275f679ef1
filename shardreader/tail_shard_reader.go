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
	cursor   ShardCursor // of the API that does not retry, because readToEnd retries
	readAt   time.Time   // time of the last successful GetRecords call; at first, time of the reader's start
	failures int         // failed calls in a row
}

// newReader returns a reader of a shard. newest is an iterator after the newest record of the shard at the time start.
// If newest is "", the reader begins at the oldest record.
func (t *tailer) newReader(shard, newest string, start time.Time) *tailReader {
	at := ShardPosition{StreamARN: t.options.Stream, Shard: shard, Type: TrimHorizon}
	readAt := time.Now()
	if newest != "" {
		at.Type, readAt = AtTimestamp, start // updatePosition sets the time
	}
	return &tailReader{tailer: t, cursor: ShardCursor{API: t.options.API, Position: at, Iterator: newest}, readAt: readAt}
}

// readToEnd reads the shard to its end. It calls GetRecords at most once in readPause, also after a failure.
func (r *tailReader) readToEnd(ctx context.Context) error {
	for {
		calledAt, pause := time.Now(), readPause
		if err := r.updatePosition(); err != nil {
			return err
		}
		page, err := r.cursor.Next(ctx)
		if err != nil {
			r.failures++
			requestedWait, mayRetry := r.afterFailure(err)
			if !mayRetry || r.failures >= r.options.Attempts || ctx.Err() != nil {
				return err
			}
			pause = max(readPause, requestedWait)
		} else {
			r.failures, r.readAt = 0, calledAt
			if err := r.deliver(ctx, page.Page); err != nil || page.Ended {
				return err
			}
		}
		if err := pipeline.Sleep(ctx, time.Until(calledAt.Add(pause))); err != nil {
			return err
		}
	}
}

// updatePosition updates the position of a reader that has read no record and needs an iterator. All pages up to readAt
// were empty, so an iterator at readAt skips nothing. If readAt is too long ago, the result is an error.
func (r *tailReader) updatePosition() error {
	if r.cursor.Iterator != "" || r.cursor.hasRead() {
		return nil
	}
	unreadFor := time.Since(r.readAt)
	if unreadFor > safeRetention {
		return fmt.Errorf("shard %s could not be read for %s, and the stream may have dropped records of it: %w",
			r.cursor.Position.Shard, unreadFor.Round(time.Minute), ErrTrimmed)
	}
	if r.cursor.Position.Type == AtTimestamp {
		r.cursor.Position.Time = r.readAt.Truncate(time.Second)
	}
	return nil
}

// afterFailure reports whether to read again after err, and the minimum wait before that.
func (r *tailReader) afterFailure(err error) (requestedWait time.Duration, mayRetry bool) {
	switch {
	case errors.Is(err, ErrExpiredIterator): // the process was suspended
		return 0, true
	case errors.Is(err, ErrTrimmed) && !r.cursor.hasRead(): // all records left were written after the start
		r.cursor.Restart()
		return 0, true
	}
	return r.options.Retryable(err)
}

// deliver hands a page to the caller of Tail, unless it is empty.
func (r *tailReader) deliver(ctx context.Context, p *record.Page) error {
	if p.Len() == 0 {
		return nil
	}
	select {
	case r.pages <- p:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
