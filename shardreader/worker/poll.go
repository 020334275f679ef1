package worker

import (
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/leases"
)

const (
	firstPause = 50 * time.Millisecond // after the first empty page
	eagerPages = 20                    // empty pages at the start of reading that do not mean an empty shard
	maxRetry   = 20 * time.Second      // longest backoff of a failing call
	leastPage  = 16 << 10              // least size that the next page is expected to have, in bytes
	aheadPages = 2                     // most pages of a shard that are read and that the pipeline has not taken
)

// want queues a partition for its next call; dispatch makes the call once there is room.
func (w *Worker) want(p *assignment) {
	if p.queued || p.waiting || !w.readable(p) {
		return
	}
	p.queued = true
	w.ready = append(w.ready, p)
}

func (w *Worker) readable(p *assignment) bool {
	return p.current() && !p.polling && !p.paused && !p.draining && !p.ended && !p.confirming && !p.isStopped() && len(p.sizes) < aheadPages
}

// wantIn calls want after d.
func (w *Worker) wantIn(p *assignment, d time.Duration) {
	if p.waiting {
		return
	}
	p.waiting = true
	w.later(d, &timer{poll: p})
}

// dispatch makes the calls that there is room for. The partition that has waited longest is first,
// or one that is about to lose records if the budget is used up.
func (w *Worker) dispatch() {
	for len(w.ready) > 0 && w.reading < w.o.MaxCalls && w.heartbeatFresh() && !w.suspended {
		p := w.ready[0]
		if !w.readable(p) {
			p.queued = false
			w.ready = w.ready[1:]
			continue
		}
		busy := w.untaken - w.pausedUntaken + w.reserved
		if busy > 0 && busy+p.expect > w.o.Prefetch {
			return // the next taken page or answered call makes room
		}
		if p.iterator != "" && !w.mayCall(p) {
			if w.rescue() {
				continue
			}
			return
		}
		p.queued = false
		w.ready = w.ready[1:]
		if p.iterator == "" {
			w.position(p)
		} else {
			w.read(p)
		}
	}
	if len(w.ready) == 0 {
		w.ready = nil
	}
}

// position requests an iterator at the position from which reading continues.
func (w *Worker) position(p *assignment) {
	at := shardreader.ShardPosition{StreamARN: p.row.Stream, Shard: p.row.Shard}
	checked := false
	p.atLatest = p.atLatest && p.startRefused
	switch {
	case p.gap != nil:
		at.Type = shardreader.TrimHorizon
	case p.pos.Kind == leases.Sequence:
		at.Type, at.Sequence = shardreader.AfterSequence, p.pos.Sequence
	case p.startRefused:
		at.Type = shardreader.TrimHorizon
	case p.pos.Kind == leases.Latest && (p.row.fresh || p.row.From.IsZero()):
		at.Type, p.atLatest = shardreader.Latest, true
	case p.row.First != "":
		// TRIM_HORIZON would start at the oldest record left, and hide that older ones are gone.
		at.Type, at.Sequence, checked = shardreader.AtSequence, p.row.First, true
	default:
		at.Type = shardreader.TrimHorizon
	}
	w.callBegan(p)
	w.do(GetShardIterator{on(w, func(e Positioned) {
		if w.callEnded(p); !p.current() {
			return
		}
		if e.Err == nil && e.Iterator == "" {
			e.Err = pipeline.Transient(errNoIterator)
		}
		if e.Err == nil {
			p.iterator = e.Iterator
			if p.atLatest {
				p.row.fresh = false // reading has begun: a second LATEST, after an expired iterator, would skip records
			}
			w.want(p)
			return
		}
		if checked && !errors.Is(e.Err, shardreader.ErrTrimmed) && !errors.Is(e.Err, shardreader.ErrNotFound) && !errors.Is(e.Err, shardreader.ErrDenied) && !transient(e.Err) {
			p.startRefused = true
			w.want(p)
			return
		}
		w.readFailed(p, e.Err, e.At)
	}), at})
}

var errNoIterator = errs.New("the answer holds no iterator")

// read requests the next page.
func (w *Worker) read(p *assignment) {
	w.callBegan(p)
	w.reserved += p.expect
	expected, sent := p.expect, max(1, w.now)
	w.budget.called(w)
	w.do(GetRecords{on(w, func(e Read) {
		w.reserved -= expected
		if w.callEnded(p); !p.current() || p.draining || p.isStopped() {
			return
		}
		if e.Err != nil {
			w.readFailed(p, e.Err, e.At)
			return
		}
		if p.attempt > 0 {
			delete(w.told, "read "+p.name)
		}
		p.attempt, p.notFound, p.opened, p.answered = 0, 0, true, w.now
		w.readsWork(p)
		w.dated(p, e)
		w.arrived(p, e.Answer, sent)
	}), shardreader.RecordsQuery{Iterator: p.iterator, StreamARN: p.row.Stream, Shard: p.row.Shard}})
}

// callBegan and callEnded count the calls of a shard in flight. A shard is opened again only after the calls of
// its former partition are answered: a stream allows two readers of a shard at most.
func (w *Worker) callBegan(p *assignment) {
	p.polling = true
	p.row.calls++
	w.reading++
}

func (w *Worker) callEnded(p *assignment) {
	p.polling = false
	p.row.calls--
	w.reading--
	if !p.current() {
		w.tryOpen(p.row)
	}
}

// dated notes the age of the newest record of an answer.
func (w *Worker) dated(p *assignment, e Read) {
	if e.Answer.Page == nil || e.At.IsZero() {
		return
	}
	for _, c := range slices.Backward(e.Answer.Page.Changes) {
		if !c.Time.IsZero() {
			p.lag, p.lagKnown = max(0, e.At.Sub(c.Time)), true
			return
		}
	}
}

// readFailed handles a failed call; at is when it failed.
func (w *Worker) readFailed(p *assignment, err error, at time.Time) {
	switch {
	case p.draining || p.isStopped():
		return
	case errors.Is(err, shardreader.ErrTrimmed):
	default:
		w.readsFail(p, err, at)
	}
	switch {
	case errors.Is(err, shardreader.ErrExpiredIterator):
		p.iterator = ""
		p.attempt++
		if p.attempt == 1 {
			w.want(p)
			return
		}
		w.wantIn(p, w.backoff(p.attempt, maxRetry, 0))
		return
	case errors.Is(err, shardreader.ErrTrimmed):
		p.iterator = ""
		w.trimmed(p, at)
		return
	case errors.Is(err, shardreader.ErrNotFound):
		// A shard that was just listed may be unknown to some servers for a moment.
		p.iterator = ""
		if p.notFound++; p.notFound >= 4 {
			w.vanished(p)
			return
		}
	}
	after, ok := pipeline.Retryable(err)
	if !ok {
		w.tellOnce("read "+p.name, slog.LevelError, "a shard cannot be read and is tried again", shardAttr(p.row.Shard), errAttr(err))
	}
	w.wantIn(p, w.backoff(p.attempt+2, maxRetry, after))
	p.attempt++
}

func transient(err error) bool {
	_, ok := pipeline.Retryable(err)
	return ok
}

// next plans the next call after an answer: at once after records, and after an empty page with a pause
// that grows.
func (w *Worker) next(p *assignment, records int) {
	if records > 0 {
		p.empties, p.anything, p.lastRecord = 0, true, w.now
		p.emptySent = [endPages]time.Duration{}
		if p.behindFrom == 0 {
			p.behindFrom = max(1, w.now)
		}
		w.want(p)
		return
	}
	p.empties++
	if p.anything || p.empties > eagerPages {
		p.behindFrom = 0
	}
	most := w.o.MaxIdle
	if !p.anything && p.empties <= eagerPages {
		most = min(most, 2*firstPause)
	}
	d := most
	if p.empties < 16 {
		d = min(most, firstPause<<(p.empties-1))
	}
	if w.endCheckWaits(p) {
		d = min(d, firstPause)
	}
	w.wantIn(p, w.jitter(d))
}
