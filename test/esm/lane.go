package esm

import (
	"context"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline"
)

// lane delivers the batches of a shard, or of a part of its items, one after the other.
type lane struct {
	*run
	shard   string
	records []*record
	window  *window // nil if there are none
}

// envelope is the size of an event without its records, which also counts.
const envelope = len(`{"Records":[]}`)

func (l *lane) work(ctx context.Context) error {
	for len(l.records) > 0 {
		n := l.nextSize()
		batch := l.records[:n]
		l.records = l.records[n:]
		if l.TumblingWindow > 0 {
			if err := l.openWindow(ctx, batch[0]); err != nil {
				return err
			}
		}
		if err := l.deliver(ctx, batch, 0); err != nil {
			return err
		}
	}
	return l.closeWindow(ctx)
}

// nextSize returns the number of records in the next batch.
func (l *lane) nextSize() int {
	bytes := envelope
	first := l.records[0]
	window := windowOf(first, l.TumblingWindow)
	for i, r := range l.records {
		bytes += len(r.raw) + 1
		isFull := i >= l.BatchSize || bytes > l.BatchBytes
		isLate := l.BatchWindow > 0 && r.created.Sub(first.created) > l.BatchWindow
		isOfNextWindow := l.TumblingWindow > 0 && !windowOf(r, l.TumblingWindow).Equal(window)
		if i > 0 && (isFull || isLate || isOfNextWindow) {
			return i
		}
	}
	return len(l.records)
}

// deliver invokes the function with a batch until the batch is done or abandoned. attempts is the number of failed
// invocations of the batch.
func (l *lane) deliver(ctx context.Context, batch []*record, attempts int) error {
	invoked := attempts
	for {
		done, failed, err := l.try(ctx, batch)
		if err != nil {
			return err
		}
		invoked++
		batch = batch[done:]
		if len(batch) == 0 {
			return nil
		}
		splits := failed && l.Bisect && len(batch) > 1
		if splits { // which does not count as an attempt
			l.count(func(r *Report) { r.Halved++ })
			half := len(batch) / 2
			if err := l.deliver(ctx, batch[:half], attempts); err != nil {
				return err
			}
			batch = batch[half:]
		} else {
			attempts++
			if l.MaxRetries >= 0 && attempts > l.MaxRetries {
				return l.abandon(ctx, batch, exhausted, invoked)
			}
		}
		if err := l.pause(ctx, attempts); err != nil {
			return err
		}
		if batch, err = l.abandonOld(ctx, batch, invoked); err != nil || len(batch) == 0 {
			return err
		}
	}
}

// try invokes the function once and returns the number of finished records. failed reports that the whole invocation
// failed.
func (l *lane) try(ctx context.Context, batch []*record) (done int, failed bool, err error) {
	var f Function
	select {
	case f = <-l.free:
	case <-ctx.Done():
		return 0, false, context.Cause(ctx)
	}
	answer, err := f.Invoke(ctx, l.event(batch))
	l.free <- f
	l.count(func(r *Report) { r.Invocations++ })
	if ctx.Err() != nil {
		return 0, false, context.Cause(ctx)
	}
	failed = err != nil
	if !failed {
		reply := readReply(answer)
		done, failed = reply.done(batch, l.ReportFailures)
		if !failed && l.window != nil {
			l.window.state = reply.State
		}
	}
	if failed {
		l.count(func(r *Report) { r.Errors++ })
		return 0, true, nil
	}
	if done < len(batch) {
		l.count(func(r *Report) { r.Partial++ })
	}
	return done, false, nil
}

// abandonOld abandons records that are too old for another try.
func (l *lane) abandonOld(ctx context.Context, batch []*record, invoked int) ([]*record, error) {
	if l.MaxAge <= 0 {
		return batch, nil
	}
	limit := time.Now().Add(-l.MaxAge)
	young := slices.IndexFunc(batch, func(r *record) bool { return !r.created.Before(limit) })
	if young < 0 {
		young = len(batch)
	}
	if young == 0 {
		return batch, nil
	}
	return batch[young:], l.abandon(ctx, batch[:young], tooOld, invoked)
}

func (l *lane) pause(ctx context.Context, attempt int) error {
	if l.Pause == nil {
		return context.Cause(ctx)
	}
	return pipeline.Sleep(ctx, l.Pause(attempt))
}
