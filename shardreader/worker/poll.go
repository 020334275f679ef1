package worker

import (
	"errors"
	"log/slog"
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
	unknownFor = 4                     // calls in a row that do not find a shard: some servers list a shard before they know it
)

// want queues an assignment for its next call; dispatch makes the call once there is room.
func (w *Worker) want(p *assignment) {
	if p.poll != idle || !w.readable(p) {
		return
	}
	p.poll = queued
	w.ready = append(w.ready, p)
}

func (w *Worker) readable(p *assignment) bool {
	return p.current() && p.phase.requests() && !p.paused && len(p.pages.sizes) < aheadPages
}

// wantIn calls want after d.
func (w *Worker) wantIn(p *assignment, d time.Duration) {
	if p.poll != idle {
		return
	}
	p.poll = waiting
	w.later(d, &timer{poll: p})
}

// dispatch makes the calls that there is room for. The assignment that has waited longest is first,
// or one that is about to lose records if the budget is used up.
func (w *Worker) dispatch() {
	for len(w.ready) > 0 && w.reading < w.o.MaxCalls && w.heartbeatFresh() {
		p := w.ready[0]
		switch {
		case !w.readable(p):
			w.dequeue()
			continue
		case !w.hasRoom(p):
			return // the next taken page or answered call makes room
		case p.iterator != "" && !w.mayCall(p):
			if w.rescue() {
				continue
			}
			return
		}
		w.dequeue()
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

func (w *Worker) dequeue() {
	w.ready[0].poll = idle
	w.ready = w.ready[1:]
}

// hasRoom reports whether the next page of an assignment fits beside those that the pipeline has not taken.
func (w *Worker) hasRoom(p *assignment) bool {
	busy := w.untaken - w.pausedUntaken + w.reserved
	return busy <= 0 || busy+p.expect <= w.o.Prefetch
}

// positioning is a call of GetShardIterator.
type positioning struct {
	p       *assignment
	checked bool // at the sequence number that the shard starts with
}

// position requests an iterator at the position from which reading continues.
func (w *Worker) position(p *assignment) {
	at := shardreader.ShardPosition{StreamARN: p.row.Stream, Shard: p.row.Shard}
	op := positioning{p: p}
	p.start.atLatest = p.start.atLatest && p.start.refused
	switch {
	case p.phase != reading:
		at.Type = shardreader.TrimHorizon
	case p.pos.Kind == leases.Sequence:
		at.Type, at.Sequence = shardreader.AfterSequence, p.pos.Sequence
	case p.start.refused:
		at.Type = shardreader.TrimHorizon
	case p.pos.Kind == leases.Latest && (p.row.fresh || p.row.From.IsZero()):
		at.Type, p.start.atLatest = shardreader.Latest, true
	case p.row.First != "":
		// TRIM_HORIZON would start at the oldest record left, and hide that older ones are gone.
		at.Type, at.Sequence, op.checked = shardreader.AtSequence, p.row.First, true
	default:
		at.Type = shardreader.TrimHorizon
	}
	w.callBegan(p)
	w.do(GetShardIterator{w.begin(op), at})
}

func (op positioning) answered(w *Worker, e Positioned) {
	p := op.p
	if w.callEnded(p); !p.current() {
		return
	}
	if e.Err == nil && e.Iterator == "" {
		e.Err = pipeline.Transient(errNoIterator)
	}
	switch {
	case e.Err == nil:
		p.iterator = e.Iterator
		p.empty.sent = [endPages]time.Duration{} // empty pages before records begin anew with each iterator
		if p.start.atLatest {
			p.row.fresh = false // reading has begun: a second LATEST, after an expired iterator, would skip records
		}
		w.want(p)
	case op.checked && isInvalid(e.Err):
		p.start.refused = true
		w.want(p)
	default:
		w.readFailed(p, e.Err, e.At)
	}
}

var errNoIterator = errs.New("the answer holds no iterator")

// isInvalid reports whether the stream refuses a position for none of the usual reasons.
func isInvalid(err error) bool {
	return !transient(err) && !errors.Is(err, shardreader.ErrTrimmed) && !errors.Is(err, shardreader.ErrNotFound) &&
		!errors.Is(err, shardreader.ErrDenied)
}

// pageRequest is a call of GetRecords.
type pageRequest struct {
	p      *assignment
	expect int64 // bytes
	sent   time.Duration
}

// read requests the next page.
func (w *Worker) read(p *assignment) {
	w.callBegan(p)
	w.reserved += p.expect
	w.budget.called(w)
	w.do(GetRecords{
		w.begin(pageRequest{p, p.expect, max(1, w.now)}),
		shardreader.RecordsQuery{Iterator: p.iterator, StreamARN: p.row.Stream, Shard: p.row.Shard},
	})
}

func (op pageRequest) answered(w *Worker, e Read) {
	p := op.p
	w.reserved -= op.expect
	if w.callEnded(p); !p.current() || !p.phase.requests() {
		return
	}
	if e.Err != nil {
		w.readFailed(p, e.Err, e.At)
		return
	}
	if p.attempt > 0 {
		delete(w.told, "read "+p.name)
	}
	p.attempt, p.notFound, p.start.opened, p.answered = 0, 0, true, w.now
	w.readsWork(p)
	p.lag.dated(e)
	w.arrived(p, &heldPage{e.Answer, op.sent})
}

// callBegan and callEnded count the calls of a shard in flight. A shard is opened again only after the calls of
// its former assignment are answered: a stream allows two readers of a shard at most.
func (w *Worker) callBegan(p *assignment) {
	p.poll = calling
	p.row.calls++
	w.reading++
}

func (w *Worker) callEnded(p *assignment) {
	p.poll = idle
	p.row.calls--
	w.reading--
	if !p.current() {
		w.tryOpen(p.row)
	}
}

// readFailed handles a failed call; at is when it failed.
func (w *Worker) readFailed(p *assignment, err error, at time.Time) {
	if !p.phase.requests() {
		return
	}
	if errors.Is(err, shardreader.ErrTrimmed) {
		p.iterator = ""
		w.trimmed(p, at)
		return
	}
	w.readsFail(p, err, at)
	switch {
	case errors.Is(err, shardreader.ErrExpiredIterator):
		p.iterator = ""
		if p.attempt++; p.attempt == 1 {
			w.want(p)
			return
		}
		w.wantIn(p, w.backoff(int(p.attempt), maxRetry, 0))
		return
	case errors.Is(err, shardreader.ErrNotFound):
		p.iterator = ""
		if p.notFound++; p.notFound >= unknownFor {
			w.vanish(p)
			return
		}
	}
	after, ok := pipeline.Retryable(err)
	if !ok {
		w.tellOnce("read "+p.name, slog.LevelError, "a shard cannot be read and is tried again",
			shardAttr(p.row.Shard), errAttr(err))
	}
	w.wantIn(p, w.backoff(int(p.attempt)+2, maxRetry, after))
	p.attempt++
}

// next plans the next call after an answer: at once after records, and after an empty page with a pause
// that grows.
func (w *Worker) next(p *assignment, records int) {
	if records > 0 {
		p.empty.reset(true)
		p.lag.record(w.now)
		w.want(p)
		return
	}
	p.empty.count++
	most := w.o.MaxIdle
	if p.empty.meanEmpty() {
		p.lag.behindFrom = 0
	} else {
		most = min(most, 2*firstPause)
	}
	d := most
	if p.empty.count < 16 {
		d = min(most, firstPause<<(p.empty.count-1))
	}
	if w.endCheckWaits(p) {
		d = min(d, firstPause)
	}
	w.wantIn(p, w.jitter(d))
}

// lag is how far an assignment is behind.
type lag struct {
	lastRecord time.Duration // when the last page with records came
	age        time.Duration // of the newest record of the last page, when it was read
	known      bool          // age is known
	behindFrom time.Duration // since when records may be unread; 0: none are
}

// dated notes the age of the newest record of an answer.
func (l *lag) dated(e Read) {
	if e.Answer.Page == nil || e.At.IsZero() {
		return
	}
	if t := lastTime(e.Answer.Page); !t.IsZero() {
		l.age, l.known = max(0, e.At.Sub(t)), true
	}
}

// record notes a page with records.
func (l *lag) record(now time.Duration) {
	l.lastRecord = now
	if l.behindFrom == 0 {
		l.behindFrom = max(1, now)
	}
}

// late returns how old the records are that are read now. If that is unknown, it is how long the assignment is behind.
func (l *lag) late(now time.Duration) time.Duration {
	switch {
	case l.behindFrom == 0:
		return 0
	case l.known:
		return l.age + now - l.lastRecord
	}
	return now - l.behindFrom
}
