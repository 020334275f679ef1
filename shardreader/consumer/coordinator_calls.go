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

// minReadTableTimeout is the shortest timeout of a read of the whole lease table.
const minReadTableTimeout = 10 * time.Second

// makeCall starts a call that the coordinator requested. The coordinator limits the number of calls in flight.
func (c *Consumer) makeCall(a coordinator.Action) {
	api, table := c.options.API, c.options.Table
	shortTimeout := c.options.Coordinator.Lease / 3
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
			return coordinator.GetShardIteratorResult{Call: a.Call, Iterator: iterator, Err: err, WallTime: time.Now()}
		})
	case coordinator.GetRecords:
		callStreams(c, "GetRecords", a.Query.StreamARN, func(ctx context.Context) (record.GetRecordsPage, error) {
			page, err := api.GetRecords(ctx, a.Query)
			if err == nil {
				c.tel.countRecords(ctx, a.Query.StreamARN, page.Page)
			}
			return page, err
		}, func(page record.GetRecordsPage, err error) coordinator.Event {
			return coordinator.GetRecordsResult{Call: a.Call, Records: page, Err: err, WallTime: time.Now()}
		})
	case coordinator.ReadTable:
		timeout := max(2*c.options.Coordinator.Lease, minReadTableTimeout)
		startCall(c, "reading the lease table", "", neededAtStart, timeout, table.Read,
			func(s leases.Snapshot, err error) coordinator.Event {
				return coordinator.ReadTableResult{Call: a.Call, Snapshot: s, Err: err}
			})
	case coordinator.ReserveCall:
		startCall(c, "reserving a call", "", neededLater, shortTimeout,
			func(ctx context.Context) (r coordinator.ReserveCallResult, err error) {
				r.Count, r.OK, err = table.ReserveCall(ctx, a.Quota, a.Seen)
				return r, err
			}, func(r coordinator.ReserveCallResult, err error) coordinator.Event {
				r.Call, r.Err = a.Call, err
				return r
			})
	case coordinator.MarkBegun:
		c.writeTable("storing that a stream was begun", neededLater, a.Call, shortTimeout,
			func(ctx context.Context) error { return table.MarkBegun(ctx, a.Stream) })
	case coordinator.WriteHeartbeat:
		// If a heartbeat hangs, two more of them must fit into two thirds of the lease time.
		c.writeTable("writing the heartbeat", neededAtStart, a.Call, c.options.Coordinator.Lease/6,
			func(ctx context.Context) error { return table.Heartbeat(ctx, a.Member) })
	case coordinator.RemoveMember:
		c.writeTable("removing a consumer's row", cleanupOnly, a.Call, shortTimeout,
			func(ctx context.Context) error { return table.RemoveMember(ctx, a.Consumer) })
	case coordinator.CreateLease:
		c.writeTable("creating a lease", neededLater, a.Call, shortTimeout,
			func(ctx context.Context) error { return table.Create(ctx, a.Lease) })
	case coordinator.SwapLease:
		c.writeTable("writing a lease", neededLater, a.Call, shortTimeout,
			func(ctx context.Context) error { return table.Swap(ctx, a.Old, a.Next) })
	case coordinator.DeleteLease:
		c.writeTable("removing a lease", cleanupOnly, a.Call, shortTimeout,
			func(ctx context.Context) error { return table.Delete(ctx, a.Old) })
	case coordinator.NoteGap:
		c.writeTable("storing a gap", neededLater, a.Call, c.options.CallTimeout, func(ctx context.Context) error {
			err := c.options.Gaps.AddGap(ctx, a.Gap)
			if err == nil && !a.WasNoted {
				c.tel.countGap(ctx, a.Gap)
			}
			return err
		})
	}
}

// writeTable makes a call that returns only an error.
func (c *Consumer) writeTable(
	name string, importance callImportance, call coordinator.Call, timeout time.Duration, f func(context.Context) error,
) {
	startCall(c, name, "", importance, timeout, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) },
		func(_ struct{}, err error) coordinator.Event { return coordinator.WriteResult{Call: call, Err: err} })
}

// callStreams makes a call of the Streams API; target is the table or the stream.
func callStreams[T any](
	c *Consumer, op, target string, f func(context.Context) (T, error), newEvent func(T, error) coordinator.Event,
) {
	startCall(c, op, target, neededAtStart, c.options.CallTimeout, func(ctx context.Context) (T, error) {
		got, err := f(ctx)
		c.tel.countCall(ctx, op, err)
		return got, err
	}, newEvent)
}

// startCall calls f in a goroutine, and sends the coordinator one event, which newEvent makes of the result. The result
// is that of f, a panic of f as an error, or a transient error after the timeout. The timeout applies even if f ignores
// its context: what f returns later is dropped.
func startCall[T any](
	c *Consumer, name, target string, importance callImportance, timeout time.Duration, f func(context.Context) (T, error),
	newEvent func(T, error) coordinator.Event,
) {
	c.goPooled(func() {
		timedOut := pipeline.Transient(&timeoutError{name, timeout})
		ctx, cancel := context.WithTimeoutCause(c.ctx, timeout, timedOut)
		defer cancel()
		var sent atomic.Bool
		sendOnce := func(got T, err error) { // the result of f or the timeout, whichever comes first
			if isFirst := sent.CompareAndSwap(false, true); isFirst {
				c.sendEvent(newEvent(got, err))
			}
		}
		// A timer costs less than context.AfterFunc. A consumer of thousands of shards makes thousands of calls a
		// second.
		timer := time.AfterFunc(timeout, func() {
			var zero T
			sendOnce(zero, timedOut)
		})
		defer timer.Stop()
		got, err := recoverPanic(ctx, c, name, f)
		c.noteCallResult(name, target, importance, err)
		sendOnce(got, err)
	})
}

// recoverPanic calls f. It returns a panic of f as a transient error, and logs it with its stack.
func recoverPanic[T any](
	ctx context.Context, c *Consumer, name string, f func(context.Context) (T, error),
) (got T, err error) {
	defer func() {
		if v := recover(); v != nil {
			p := &redact.PanicError{Stage: name, Value: v, Stack: debug.Stack()}
			c.log.LogAttrs(ctx, slog.LevelError, "a call panicked and is tried again", slog.String("call", name),
				slog.String("panic", fmt.Sprintf("a %T", v)), slog.String("stack", string(p.Stack)))
			var zero T
			got, err = zero, pipeline.Transient(p)
		}
	}()
	return f(ctx)
}

// timeoutError is the error of a call that returned nothing within its limit.
type timeoutError struct {
	call  string
	limit time.Duration
}

var _ redact.Redacted = (*timeoutError)(nil)

func (e *timeoutError) Error() string                   { return fmt.Sprintf("%s: no answer within %v", e.call, e.limit) }
func (e *timeoutError) Redacted() string                { return e.Error() }
func (e *timeoutError) Describe() (class, field string) { return "timeout", "" }
