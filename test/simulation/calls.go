package simulation

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// timeout is how long a caller waits for an answer.
const timeout = 5 * time.Second

// do executes an action of the worker.
func (p *process) do(a coordinator.Action) {
	switch a := a.(type) {
	case coordinator.ListStreams:
		p.ask("ListStreams", a.Call, "list "+a.Table, func() coordinator.Event {
			page, err := p.w.server.ListStreams(context.Background(), a.Table, a.After)
			return coordinator.ListStreamsResult{Call: a.Call, Page: page, Err: err}
		}, func(err error) coordinator.Event { return coordinator.ListStreamsResult{Call: a.Call, Err: err} })
	case coordinator.DescribeStream:
		p.w.countDescribe(p)
		p.ask("DescribeStream", a.Call, "describe "+a.Query.StreamARN, func() coordinator.Event {
			d, err := p.w.server.DescribeStream(context.Background(), a.Query)
			return coordinator.DescribeStreamResult{Call: a.Call, Description: d, Err: err}
		}, func(err error) coordinator.Event { return coordinator.DescribeStreamResult{Call: a.Call, Err: err} })
	case coordinator.GetShardIterator:
		p.ask("GetShardIterator", a.Call, p.reading(a.At.Shard), func() coordinator.Event {
			it, err := p.w.server.GetShardIterator(context.Background(), a.At)
			p.w.notePosition(p, a.At, err)
			return coordinator.GetShardIteratorResult{Call: a.Call, Iterator: it, Err: err, WallTime: p.w.wall()}
		}, func(err error) coordinator.Event { return coordinator.GetShardIteratorResult{Call: a.Call, Err: err} })
	case coordinator.GetRecords:
		p.getRecords(a)
	case coordinator.ReadTable:
		p.readTable(a)
	case coordinator.CreateLease:
		p.write(a.Call, "lease "+a.Lease.Shard, func() error { return p.w.create(p, a.Lease) })
	case coordinator.SwapLease:
		p.w.checkTaking(p, a.Old, a.Next)
		p.write(a.Call, "lease "+a.Old.Shard, func() error { return p.w.swap(p, a.Old, a.Next) })
	case coordinator.DeleteLease:
		p.write(a.Call, "lease "+a.Old.Shard, func() error { return p.w.remove(p, a.Old) })
	case coordinator.WriteHeartbeat:
		p.write(a.Call, "beat", func() error { return p.w.beat(p, a.Member) })
	case coordinator.RemoveMember:
		p.write(a.Call, "leave "+a.Consumer, func() error { return p.w.leave(a.Consumer) })
	case coordinator.NoteGap:
		if !a.WasNoted {
			p.w.checkNotedOnce(p, a.Gap)
		}
		p.write(a.Call, "gap, "+p.reading(cmp.Or(a.Gap.Shard, a.Gap.StreamARN)), func() error { p.w.noteGap(p, a.Gap); return nil })
	case coordinator.MarkBegun:
		p.write(a.Call, "begin "+a.Stream, func() error { return p.w.beginStream(a.Stream) })
	case coordinator.ReserveCall:
		p.reserve(a)
	case coordinator.Deliver:
		p.pipe.deliver(a.Page)
	case coordinator.Drop:
		p.pipe.drop(a.Partition)
	case coordinator.Drain:
		shard, _, _ := strings.Cut(a.Partition, "~")
		p.drained[shard] = true
		p.pipe.drain(a.Partition)
	case coordinator.Forget:
		p.forget(a.Partition)
	case coordinator.Revoke:
		shard, _, _ := strings.Cut(a.Partition, "~")
		p.revoked[shard]++
		p.pipe.revoke(a.Partition)
	case coordinator.Log:
		p.noteLog(a)
	case coordinator.AtEnd:
		p.checkAtEnd(a)
	case coordinator.Stopped:
		p.stoppedCleanly()
	}
}

// begin notes a call in flight. about is the subject of the call. A worker must not make two calls with the same
// subject at one time.
func (p *process) begin(c coordinator.Call, about string) {
	if c <= p.last {
		p.w.broken("calls have names of their own", "%s uses call %d twice", p.id, c)
	}
	p.last = c
	p.calls[c] = p.w.now
	p.busy[about]++
	if p.busy[about] > 1 {
		p.w.broken("one call of a lease at a time", "%s has two calls under way: %s", p.id, about)
	}
}

// reading returns the subject of a call that reads a shard. The subject changes when the partition is revoked. So a
// call for the revoked partition may still be in flight when the worker takes the shard again and reads it.
func (p *process) reading(shard string) string {
	return "read " + shard + " " + strconv.Itoa(p.revoked[shard])
}

// answer gives the answer of a call to the worker.
func (p *process) answer(c coordinator.Call, about string, e coordinator.Event) {
	p.inside(func() {
		written, isWrite := e.(coordinator.WriteResult)
		if isWrite && written.Err == nil && about == "beat" {
			p.heard = p.calls[c]
		}
		delete(p.calls, c)
		p.busy[about]--
		if _, ok := e.(coordinator.GetRecordsResult); ok {
			p.reads--
		}
		p.noteAnswer(about, e)
		p.step(e)
	})
}

// send sends a request after a short delay. If the process is paused meanwhile, the request leaves it later.
func (p *process) send(do func()) { p.later(p.w.between(0, 200*time.Microsecond), do) }

// ask makes a call of the Streams API. serve makes the server's answer, and fail makes the answer for an error.
func (p *process) ask(op string, c coordinator.Call, about string, serve func() coordinator.Event, fail func(error) coordinator.Event) {
	w := p.w
	p.begin(c, about)
	p.send(func() {
		out, back := w.latency(StreamSlow, 0), w.latency(StreamSlow, 0)
		if err := w.streamTrouble(op); err != nil {
			w.after(out+back, func() { p.answer(c, about, fail(err)) })
			return
		}
		if w.trouble(StreamLost, 0) {
			w.after(timeout, func() {
				p.answer(c, about, fail(&shardreader.Error{Op: op, Err: pipeline.Transient(context.DeadlineExceeded)}))
			})
			return
		}
		w.after(out, func() {
			e := serve()
			w.after(back, func() { p.answer(c, about, e) })
		})
	})
}

// streamTrouble returns the error of a call that the server refuses without serving it; nil if it serves the call.
func (w *world) streamTrouble(op string) error {
	switch {
	case w.trouble(StreamThrottled, 0):
		return &shardreader.Error{Op: op, Err: pipeline.Transient(errors.New("ThrottlingException"))}
	case w.trouble(StreamFails, 0):
		return &shardreader.Error{Op: op, Err: pipeline.Transient(errors.New("InternalServerError"))}
	case w.trouble(StreamDenied, 0):
		return &shardreader.Error{Op: op, Kind: shardreader.ErrDenied, Err: errors.New("AccessDeniedException")}
	case op == "GetRecords" && w.trouble(StreamExpired, 0):
		return &shardreader.Error{Op: op, Kind: shardreader.ErrExpiredIterator, Err: errors.New("ExpiredIteratorException")}
	}
	return nil
}

// getRecords makes a call of GetRecords.
func (p *process) getRecords(a coordinator.GetRecords) {
	w := p.w
	p.reads++
	if p.reads > maxCalls {
		w.broken("calls at once are bounded", "%s has %d GetRecords calls under way, of %d", p.id, p.reads, maxCalls)
	}
	p.checkPaused(a.Query.Shard)
	p.ask("GetRecords", a.Call, p.reading(a.Query.Shard), func() coordinator.Event {
		w.noteReader(p, a.Query.Shard)
		if w.trouble(StreamCut, 0) {
			w.server.Fail("GetRecords", w.cut())
		}
		answer, err := w.server.GetRecords(context.Background(), a.Query)
		if errors.Is(err, shardreader.ErrExpiredIterator) {
			w.tally.Expired++
		}
		return coordinator.GetRecordsResult{Call: a.Call, Records: answer, Err: err, WallTime: w.wall()}
	}, func(err error) coordinator.Event { return coordinator.GetRecordsResult{Call: a.Call, Err: err} })
}

// maxCalls is coordinator.Options.MaxCalls of all workers.
const maxCalls = 16

// cut returns a random fault that damages an answer.
func (w *world) cut() streamtest.Fault {
	switch w.rand.IntN(5) {
	case 0:
		return streamtest.Fault{Cut: streamtest.ErrReset}
	case 1:
		return streamtest.Fault{Body: func(b []byte) []byte { return b[:len(b)/2] }}
	case 2:
		return streamtest.Fault{Body: func([]byte) []byte { return nil }}
	case 3:
		return streamtest.Fault{Body: func([]byte) []byte { return []byte("{}") }}
	}
	return streamtest.Fault{Body: func(b []byte) []byte { return append(b, `{"Records":[]}`...) }}
}
