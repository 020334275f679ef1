package consumer

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/shardreader/worker"
)

// leastRead is how long reading the whole lease table may take at least.
const leastRead = 10 * time.Second

// call makes a call of the worker's. The worker bounds how many there are at once.
func (c *Consumer) call(a worker.Action) {
	api, table := c.o.API, c.o.Table
	soon := c.o.Worker.Lease / 3
	switch a := a.(type) {
	case worker.ListStreams:
		ask(c, "ListStreams", a.Table, func(ctx context.Context) (shardreader.StreamPage, error) {
			return api.ListStreams(ctx, a.Table, a.After)
		}, func(page shardreader.StreamPage, err error) worker.Event {
			return worker.Listed{Call: a.Call, Page: page, Err: err}
		})
	case worker.DescribeStream:
		ask(c, "DescribeStream", a.Query.StreamARN, func(ctx context.Context) (shardreader.StreamDescription, error) {
			return api.DescribeStream(ctx, a.Query)
		}, func(d shardreader.StreamDescription, err error) worker.Event {
			return worker.Described{Call: a.Call, Description: d, Err: err}
		})
	case worker.GetShardIterator:
		ask(c, "GetShardIterator", a.At.StreamARN, func(ctx context.Context) (string, error) {
			return api.GetShardIterator(ctx, a.At)
		}, func(iterator string, err error) worker.Event {
			return worker.Positioned{Call: a.Call, Iterator: iterator, Err: err, At: time.Now()}
		})
	case worker.GetRecords:
		ask(c, "GetRecords", a.Query.StreamARN, func(ctx context.Context) (record.GetRecordsPage, error) {
			answer, err := api.GetRecords(ctx, a.Query)
			if err == nil {
				c.tel.read(ctx, a.Query.StreamARN, answer.Page)
			}
			return answer, err
		}, func(answer record.GetRecordsPage, err error) worker.Event {
			return worker.Read{Call: a.Call, Answer: answer, Err: err, At: time.Now()}
		})
	case worker.ReadTable:
		begin(c, "reading the lease table", "", needed, max(2*c.o.Worker.Lease, leastRead), table.Read, func(s leases.Snapshot, err error) worker.Event {
			return worker.Seen{Call: a.Call, Snapshot: s, Err: err}
		})
	case worker.Reserve:
		type reserved struct {
			count int64
			ok    bool
		}
		begin(c, "reserving a call", "", wanted, soon, func(ctx context.Context) (r reserved, err error) {
			r.count, r.ok, err = table.Reserve(ctx, a.Quota, a.Seen)
			return r, err
		}, func(r reserved, err error) worker.Event {
			return worker.Reserved{Call: a.Call, Count: r.count, OK: r.ok, Err: err}
		})
	case worker.Begin:
		c.write("noting that a stream was begun", wanted, a.Call, soon, func(ctx context.Context) error { return table.Begin(ctx, a.Stream) })
	case worker.Beat:
		// One that hangs leaves time for two more before contact is lost, which is when two
		// thirds of a lease passed.
		c.write("writing the worker's row", needed, a.Call, c.o.Worker.Lease/6, func(ctx context.Context) error { return table.Heartbeat(ctx, a.Member) })
	case worker.Leave:
		c.write("removing a worker's row", spared, a.Call, soon, func(ctx context.Context) error { return table.Leave(ctx, a.Worker) })
	case worker.Create:
		c.write("creating a lease", wanted, a.Call, soon, func(ctx context.Context) error { return table.Create(ctx, a.Lease) })
	case worker.Swap:
		c.write("writing a lease", wanted, a.Call, soon, func(ctx context.Context) error { return table.Swap(ctx, a.Old, a.Next) })
	case worker.Delete:
		c.write("removing a lease", spared, a.Call, soon, func(ctx context.Context) error { return table.Delete(ctx, a.Old) })
	case worker.NoteGap:
		c.write("keeping a gap", wanted, a.Call, c.o.CallTimeout, func(ctx context.Context) error {
			err := c.o.Gaps.AddGap(ctx, a.Gap)
			if err == nil && !a.Again {
				c.tel.noted(ctx, a.Gap)
			}
			return err
		})
	}
}

// write is a call that answers nothing but that it is done.
func (c *Consumer) write(what string, n need, call worker.Call, timeout time.Duration, f func(context.Context) error) {
	begin(c, what, "", n, timeout, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) },
		func(_ struct{}, err error) worker.Event { return worker.Done{Call: call, Err: err} })
}

// ask is a call of the Streams API, of a table or a stream.
func ask[T any](c *Consumer, op, of string, f func(context.Context) (T, error), event func(T, error) worker.Event) {
	begin(c, op, of, needed, c.o.CallTimeout, func(ctx context.Context) (T, error) {
		got, err := f(ctx)
		c.tel.called(ctx, op, err)
		return got, err
	}, event)
}

// begin starts a call in a goroutine of its own. It is answered once, whatever becomes of
// it: with what f returns, with f's panic as an error, and when its time is over with an error that
// is transient, though f may not heed its context. Once the consumer is closed nobody waits for an answer.
func begin[T any](c *Consumer, what, of string, n need, timeout time.Duration, f func(context.Context) (T, error), event func(T, error) worker.Event) {
	c.hand(func() {
		silence := pipeline.Transient(&silenceError{what, timeout})
		ctx, cancel := context.WithTimeoutCause(c.ctx, timeout, silence)
		defer cancel()
		var answered atomic.Bool
		answer := func(got T, err error) {
			if answered.CompareAndSwap(false, true) {
				c.send(event(got, err))
			}
		}
		// A timer costs less than what context.AfterFunc hangs on a context, and a consumer of
		// thousands of shards makes thousands of calls a second.
		late := time.AfterFunc(timeout, func() {
			var none T
			answer(none, silence)
		})
		defer late.Stop()
		got, err := safely(ctx, c, what, f)
		c.judge(what, of, n, err)
		answer(got, err)
	})
}

// safely makes a panic of f a transient error, and logs it with its trace.
func safely[T any](ctx context.Context, c *Consumer, what string, f func(context.Context) (T, error)) (got T, err error) {
	defer func() {
		if v := recover(); v != nil {
			p := &redact.PanicError{Stage: what, Value: v, Stack: debug.Stack()}
			c.log.LogAttrs(ctx, slog.LevelError, "a call panicked and is tried again", slog.String("call", what), slog.String("panic", fmt.Sprintf("a %T", v)), slog.String("stack", string(p.Stack)))
			var none T
			got, err = none, pipeline.Transient(p)
		}
	}()
	return f(ctx)
}

// silenceError is the end of a call that was not answered in time.
type silenceError struct {
	what string
	in   time.Duration
}

var _ redact.Redacted = (*silenceError)(nil)

func (e *silenceError) Error() string                   { return fmt.Sprintf("%s: no answer within %v", e.what, e.in) }
func (e *silenceError) Redacted() string                { return e.Error() }
func (e *silenceError) Describe() (class, field string) { return "timeout", "" }
