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
	firstPause = 50 * time.Millisecond // behind the first empty page
	eagerPages = 20                    // empty pages at the start of reading, which do not mean that there is nothing
	maxRetry   = 20 * time.Second      // longest pause between two tries of a call that fails
	leastPage  = 16 << 10              // bytes that a page is expected to bring at least
	aheadPages = 2                     // pages of a shard that were read and not taken
)

// want asks for the next page of a partition as soon as there is room for a call.
func (w *Worker) want(p *part) {
	if p.queued || p.waiting || !w.readable(p) {
		return
	}
	p.queued = true
	w.ready = append(w.ready, p)
}

func (w *Worker) readable(p *part) bool {
	return p.current() && !p.polling && !p.paused && !p.draining && !p.ended && !p.noting && !p.still() && len(p.sizes) < aheadPages
}

// wantIn does so in a while.
func (w *Worker) wantIn(p *part, d time.Duration) {
	if p.waiting {
		return
	}
	p.waiting = true
	w.later(d, &timer{poll: p})
}

// dispatch makes the calls that there is room for, of the partition that waits
// longest first.
func (w *Worker) dispatch() {
	for len(w.ready) > 0 && w.reading < w.o.MaxCalls && w.contact() && !w.suspended {
		p := w.ready[0]
		if !w.readable(p) {
			p.queued = false
			w.ready = w.ready[1:]
			continue
		}
		busy := w.untaken - w.pausedUntaken + w.reserved
		if busy > 0 && busy+p.expect > w.o.Prefetch {
			return // the next page that is taken, or call that is answered, makes room
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

// position asks for an iterator where reading goes on.
func (w *Worker) position(p *part) {
	at := shardreader.ShardPosition{StreamARN: p.row.Stream, Shard: p.row.Shard}
	checked := false
	p.newest = p.newest && p.plain
	switch {
	case p.gap != nil:
		at.Type = shardreader.TrimHorizon
	case p.pos.Kind == leases.Sequence:
		at.Type, at.Sequence = shardreader.AfterSequence, p.pos.Sequence
	case p.plain:
		at.Type = shardreader.TrimHorizon
	case p.pos.Kind == leases.Latest && (p.row.fresh || p.row.From.IsZero()):
		at.Type, p.newest = shardreader.Latest, true
	case p.row.First != "":
		// From the oldest record that is left, TRIM_HORIZON would not say that older ones are gone.
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
			if p.newest {
				p.row.fresh = false // reading has begun: should the iterator expire, nothing written since is passed over
			}
			w.want(p)
			return
		}
		if checked && !errors.Is(e.Err, shardreader.ErrTrimmed) && !errors.Is(e.Err, shardreader.ErrNotFound) && !errors.Is(e.Err, shardreader.ErrDenied) && !transient(e.Err) {
			p.plain = true
			w.want(p)
			return
		}
		w.readFailed(p, e.Err, e.At)
	}), at})
}

var errNoIterator = errs.New("the answer holds no iterator")

// read asks for the next page.
func (w *Worker) read(p *part) {
	w.callBegan(p)
	w.reserved += p.expect
	expected, sent := p.expect, max(1, w.now)
	w.budget.called(w)
	w.do(GetRecords{on(w, func(e Read) {
		w.reserved -= expected
		if w.callEnded(p); !p.current() || p.draining || p.still() {
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

// callBegan and callEnded count the calls of a shard. It is not opened again before those of
// the partition that it was are answered: two readers of it may be one too many.
func (w *Worker) callBegan(p *part) {
	p.polling = true
	p.row.calls++
	w.reading++
}

func (w *Worker) callEnded(p *part) {
	p.polling = false
	p.row.calls--
	w.reading--
	if !p.current() {
		w.tryOpen(p.row)
	}
}

// dated notes how old the newest record of an answer is.
func (w *Worker) dated(p *part, e Read) {
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

// readFailed sees what the failure of a call means that was answered at a time.
func (w *Worker) readFailed(p *part, err error, at time.Time) {
	switch {
	case p.draining || p.still():
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
		// What was listed a moment ago may not be found everywhere yet.
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

// next plans the call behind an answer: at once while there is something to read,
// later and later while there is not.
func (w *Worker) next(p *part, records int) {
	if records > 0 {
		p.empties, p.anything, p.lastRecord = 0, true, w.now
		p.calm = [calmPages]time.Duration{}
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
	if w.hurried(p) {
		d = min(d, firstPause)
	}
	w.wantIn(p, w.jitter(d))
}
