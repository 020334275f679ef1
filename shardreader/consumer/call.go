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
	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// leastRead is how long reading the whole lease table may take at least.
const minReadTable = 10 * time.Second

// call makes a call of the worker's. The worker bounds how many there are at once.
func (c *Consumer) makeCall(a coordinator.Action) {
	api, table := c.o.API, c.o.Table
	soon := c.o.Coordinator.Lease / 3
	switch a := a.(type) {
	case coordinator.ListStreams:
		callStreams(c, "ListStreams", a.Table, func(ctx context.Context) (shardreader.StreamPage, error) {
			return api.ListStreams(ctx, a.Table, a.After)
		}, func(page shardreader.StreamPage, err error) coordinator.Event {
			return coordinator.ListStreamsResult{Call: a.Call, Page: page, Err: err}
		})
	case coordinator.DescribeStream:
		callStreams(c, "DescribeStream", a.Query.StreamARN, func(ctx context.Context) (shardreader.StreamDescription, error) {
			return api.DescribeStream(ctx, a.Query)
		}, func(d shardreader.StreamDescription, err error) coordinator.Event {
			return coordinator.DescribeStreamResult{Call: a.Call, Description: d, Err: err}
		})
	case coordinator.GetShardIterator:
		callStreams(c, "GetShardIterator", a.At.StreamARN, func(ctx context.Context) (string, error) {
			return api.GetShardIterator(ctx, a.At)
		}, func(iterator string, err error) coordinator.Event {
			return coordinator.GetShardIteratorResult{Call: a.Call, Iterator: iterator, Err: err, At: time.Now()}
		})
	case coordinator.GetRecords:
		callStreams(c, "GetRecords", a.Query.StreamARN, func(ctx context.Context) (record.GetRecordsPage, error) {
			answer, err := api.GetRecords(ctx, a.Query)
			if err == nil {
				c.tel.countRecords(ctx, a.Query.StreamARN, answer.Page)
			}
			return answer, err
		}, func(answer record.GetRecordsPage, err error) coordinator.Event {
			return coordinator.GetRecordsResult{Call: a.Call, Records: answer, Err: err, At: time.Now()}
		})
	case coordinator.ReadTable:
		startCall(c, "reading the lease table", "", neededAtStart, max(2*c.o.Coordinator.Lease, minReadTable), table.Read, func(s leases.Snapshot, err error) coordinator.Event {
			return coordinator.ReadTableResult{Call: a.Call, Snapshot: s, Err: err}
		})
	case coordinator.ReserveCall:
		type reserved struct {
			count int64
			ok    bool
		}
		startCall(c, "reserving a call", "", neededLater, soon, func(ctx context.Context) (r reserved, err error) {
			r.count, r.ok, err = table.Reserve(ctx, a.Quota, a.Seen)
			return r, err
		}, func(r reserved, err error) coordinator.Event {
			return coordinator.ReserveCallResult{Call: a.Call, Count: r.count, OK: r.ok, Err: err}
		})
	case coordinator.MarkBegun:
		c.writeTable("noting that a stream was begun", neededLater, a.Call, soon, func(ctx context.Context) error { return table.Begin(ctx, a.Stream) })
	case coordinator.WriteHeartbeat:
		// One that hangs leaves time for two more before contact is lost, which is when two
		// thirds of a lease passed.
		c.writeTable("writing the worker's row", neededAtStart, a.Call, c.o.Coordinator.Lease/6, func(ctx context.Context) error { return table.Heartbeat(ctx, a.Member) })
	case coordinator.RemoveMember:
		c.writeTable("removing a worker's row", cleanupOnly, a.Call, soon, func(ctx context.Context) error { return table.Leave(ctx, a.Consumer) })
	case coordinator.CreateLease:
		c.writeTable("creating a lease", neededLater, a.Call, soon, func(ctx context.Context) error { return table.Create(ctx, a.Lease) })
	case coordinator.SwapLease:
		c.writeTable("writing a lease", neededLater, a.Call, soon, func(ctx context.Context) error { return table.Swap(ctx, a.Old, a.Next) })
	case coordinator.DeleteLease:
		c.writeTable("removing a lease", cleanupOnly, a.Call, soon, func(ctx context.Context) error { return table.Delete(ctx, a.Old) })
	case coordinator.NoteGap:
		c.writeTable("keeping a gap", neededLater, a.Call, c.o.CallTimeout, func(ctx context.Context) error {
			err := c.o.Gaps.AddGap(ctx, a.Gap)
			if err == nil && !a.Again {
				c.tel.countGap(ctx, a.Gap)
			}
			return err
		})
	}
}

// write is a call that answers nothing but that it is done.
func (c *Consumer) writeTable(what string, n callImportance, call coordinator.Call, timeout time.Duration, f func(context.Context) error) {
	startCall(c, what, "", n, timeout, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) },
		func(_ struct{}, err error) coordinator.Event { return coordinator.WriteResult{Call: call, Err: err} })
}

// ask is a call of the Streams API, of a table or a stream.
func callStreams[T any](c *Consumer, op, of string, f func(context.Context) (T, error), event func(T, error) coordinator.Event) {
	startCall(c, op, of, neededAtStart, c.o.CallTimeout, func(ctx context.Context) (T, error) {
		got, err := f(ctx)
		c.tel.countCall(ctx, op, err)
		return got, err
	}, event)
}

// begin starts a call in a goroutine of its own. It is answered once, whatever becomes of
// it: with what f returns, with f's panic as an error, and when its time is over with an error that
// is transient, though f may not heed its context. Once the consumer is closed nobody waits for an answer.
func startCall[T any](c *Consumer, what, of string, n callImportance, timeout time.Duration, f func(context.Context) (T, error), event func(T, error) coordinator.Event) {
	c.goPooled(func() {
		silence := pipeline.Transient(&timeoutError{what, timeout})
		ctx, cancel := context.WithTimeoutCause(c.ctx, timeout, silence)
		defer cancel()
		var answered atomic.Bool
		answer := func(got T, err error) {
			if answered.CompareAndSwap(false, true) {
				c.sendEvent(event(got, err))
			}
		}
		// A timer costs less than what context.AfterFunc hangs on a context, and a consumer of
		// thousands of shards makes thousands of calls a second.
		late := time.AfterFunc(timeout, func() {
			var none T
			answer(none, silence)
		})
		defer late.Stop()
		got, err := recoverPanic(ctx, c, what, f)
		c.noteCallResult(what, of, n, err)
		answer(got, err)
	})
}

// safely makes a panic of f a transient error, and logs it with its trace.
func recoverPanic[T any](ctx context.Context, c *Consumer, what string, f func(context.Context) (T, error)) (got T, err error) {
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
type timeoutError struct {
	call  string
	limit time.Duration
}

var _ redact.Redacted = (*timeoutError)(nil)

func (e *timeoutError) Error() string                   { return fmt.Sprintf("%s: no answer within %v", e.call, e.limit) }
func (e *timeoutError) Redacted() string                { return e.Error() }
func (e *timeoutError) Describe() (class, field string) { return "timeout", "" }
