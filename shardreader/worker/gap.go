package worker

import (
	"errors"
	"log/slog"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// Why a shard is read no further, as status has it.
const (
	StoppedAtGap    = "records were lost before they were read, and the shard is read no further (on_gap: stop)"
	StoppedGone     = "the shard disappeared before it was read to its end, and its descendants are not read (on_gap: stop)"
	StoppedUnbegun  = "its parent is gone and was never read to its end, and nobody knows whether records were lost (on_gap: stop)"
	StoppedBetween  = "its stream follows one that was read, and what was written to the table between them is in neither (on_gap: stop)"
	StoppedBroken   = "its row in the lease table is damaged"
	StoppedBelow    = "a child shard starts at a sequence number that is not above its parent's last: newer records would pass for older ones, so the child is not read"
	StoppedContrary = "the shard holds a sequence number below the one that it starts with: its records may be older than its parent's, so it is read no further"
)

// PassedGap is what a lease bears instead where reading goes on behind a gap (on_gap: continue) and no
// record was found there yet: the gap is noted and told, and whoever reads the shard next says nothing of it.
const PassedGap = "records were lost before they were read, and reading goes on behind them (on_gap: continue)"

// trimmed handles a position that the stream refuses as older than what it keeps.
//
// Of a shard that was read, records are lost. Of an unread one nobody can tell: the sequence number
// that it starts with need not be that of a record, so that it may be refused though nothing is lost.
func (w *Worker) trimmed(p *assignment, at time.Time) {
	unread := p.pos.Kind != leases.Sequence
	if p.gap != nil || unread && (p.row.First == "" || w.young(p.row, at)) {
		// A gap is noted already, or nothing is lost. What is left of the shard comes behind the position.
		p.startRefused = true
		w.wantIn(p, w.backoff(p.attempt, maxRetry, 0))
		p.attempt++
		return
	}
	g := w.gapOf(p)
	g.UnknownExtent = unread
	if !p.row.From.IsZero() && unread {
		p.undecided = true
		w.seekAfterGap(p, g)
		return
	}
	w.lost(p, g)
}

// young reports whether a shard is younger than what the stream keeps, so that nothing of it can be
// dropped: by the time in its id, or, where that has none, by a listing that lacked the shard. at is the
// time now, zero if it is unknown.
func (w *Worker) young(r *row, at time.Time) bool {
	keeps := w.o.Retention - w.o.Retention/24 // clocks differ, and a listing lags behind
	if made, ok := shardreader.ShardTime(r.Shard); ok {
		return !at.IsZero() && at.Sub(made) < keeps
	}
	l := w.lists[r.Stream]
	if l == nil {
		return false
	}
	lacked, ok := l.lacked[r.Shard]
	return ok && w.now-lacked < keeps
}

// lost notes a gap and tells of it, whether or not there is a record behind it: none may ever come.
// Then it looks for one, to read on there, or to know up to where records are lost.
func (w *Worker) lost(p *assignment, g Gap) {
	w.noteGap(p, g, func() {
		w.tell(slog.LevelError, "records were lost: the stream dropped them before they were read", gapAttrs(g)...)
		if w.o.OnGap == Stop {
			w.halt(p, StoppedAtGap)
		} else {
			w.noteStop(p, PassedGap)
		}
		w.seekAfterGap(p, g)
	})
}

// resumeStop goes on with a shard where its lease says that it stopped, or that a gap was told.
func (w *Worker) resumeStop(p *assignment) {
	why := p.row.Stopped
	atGap := why == StoppedAtGap || why == PassedGap
	switch {
	case why == "", w.o.OnGap == Stop && why == PassedGap, w.o.OnGap == Continue && why == StoppedGone:
		return // reading finds out what is the case now
	case w.o.OnGap == Continue && atGap:
		w.noteStop(p, PassedGap)
	default:
		p.halted = why
		w.noteStop(p, why)
		w.tell(slog.LevelWarn, "a shard is read no further: it stopped before, and was not reset since", shardAttr(p.row.Shard), slog.String("why", why))
	}
	if atGap {
		// What was behind it when its end was noted may be gone since: the gap is open again.
		g := w.gapOf(p)
		g.UnknownExtent = p.pos.Kind != leases.Sequence
		p.confirming = true
		w.note(NoteGap{Gap: g, Again: true}, p.current, func() {
			p.confirming = false
			w.seekAfterGap(p, g)
		})
	}
}

// noteStop has the lease bear why its shard stopped where it is read to, as soon as all before that is durable.
func (w *Worker) noteStop(p *assignment, why string) {
	p.stop, p.stopAt = why, p.pos
	w.save(p)
}

// seekAfterGap looks for the first record behind a gap, from the oldest that is left.
func (w *Worker) seekAfterGap(p *assignment, g Gap) {
	p.gap = &g
	p.empties, p.anything, p.behindFrom = 0, false, max(1, w.now)
	p.emptySent = [endPages]time.Duration{}
	w.want(p)
}

// detectGap sees, by the oldest record that is left, whether what was dropped would have
// been passed over anyway. Where none is left, it would not. It is true where the page is to be read.
func (w *Worker) detectGap(p *assignment, page *pipeline.Page) bool {
	g := *p.gap
	p.gap, p.undecided = nil, false
	if len(page.Changes) > 0 && page.Changes[0].Time.Before(p.row.From) {
		return true
	}
	p.iterator = ""
	w.lost(p, g)
	return false
}

// vanished notes that a shard is gone of which not all was read.
func (w *Worker) vanished(p *assignment) {
	if w.descendantPast(p.row.Shard) {
		w.endsHere(p) // whoever read its descendants had read it
		return
	}
	p.confirming = true
	w.list(p.row.Stream, p.current, func(l *listing, err error) {
		switch {
		case !p.current():
		case err != nil && !errors.Is(err, shardreader.ErrNotFound), err == nil && l.has(p.row.Shard):
			// It is listed, or nobody can tell: it may be found again.
			p.confirming, p.notFound = false, 0
			w.wantIn(p, w.backoff(p.attempt, maxRetry, 0))
			p.attempt++
		default:
			w.gone(p)
		}
	})
}

// gone notes that a shard is listed no more of which not all was read.
func (w *Worker) gone(p *assignment) {
	g := w.gapOf(p)
	g.Whole, g.UnknownExtent = true, true
	w.noteGap(p, g, func() {
		w.tell(slog.LevelError, "records were lost: a shard disappeared before it was read to its end", gapAttrs(g)...)
		if w.o.OnGap == Stop {
			w.halt(p, StoppedGone)
			return
		}
		w.endsHere(p)
	})
}

func (w *Worker) gapOf(p *assignment) Gap {
	g := Gap{Stream: p.row.Stream, Shard: p.row.Shard, From: p.time}
	if p.pos.Kind == leases.Sequence {
		g.After = p.pos.Sequence
	}
	return g
}

// endsHere ends a shard without a last page of the stream's.
func (w *Worker) endsHere(p *assignment) {
	p.gap, p.undecided, p.halted = nil, false, ""
	w.deliver(p, &pipeline.Page{}, true)
	w.reachedEnd(p)
}

// passedGap completes a gap with the first record behind it, or with the shard's end.
func (w *Worker) passedGap(p *assignment, page *pipeline.Page) {
	g := *p.gap
	p.gap = nil
	g.Before = firstSequence(page)
	if len(page.Changes) > 0 && !page.Changes[0].Time.IsZero() {
		g.To = page.Changes[0].Time.Unix()
	}
	if g.Before == "" && g.To == 0 {
		return // there is nothing behind it
	}
	// That there is one is durable already, so the page need not wait.
	w.noteGap(p, g, func() {
		w.tell(slog.LevelInfo, "the extent of a gap is known", gapAttrs(g)...)
		w.want(p)
	})
}

// noteGap makes a gap durable, however long that takes; nothing more is read of the
// shard until then.
func (w *Worker) noteGap(p *assignment, g Gap, then func()) {
	p.confirming = true
	w.note(NoteGap{Gap: g}, p.current, func() {
		p.confirming = false
		then()
	})
}

// note makes a gap durable, for as long as insist says so.
func (w *Worker) note(a NoteGap, insist func() bool, then func()) {
	attempt := 0
	var send func()
	send = func() {
		a.Call = on(w, func(e Done) {
			switch {
			case !insist():
			case e.Err == nil:
				then()
			default:
				w.tellOnce("gap "+a.Gap.Shard, slog.LevelError, "a gap cannot be noted: nothing behind it is read until it is", shardAttr(a.Gap.Shard), errAttr(e.Err))
				after, _ := pipeline.Retryable(e.Err)
				w.after(w.backoff(attempt, maxRetry, after), func() {
					if insist() {
						send()
					}
				})
				attempt++
			}
		})
		w.do(a)
	}
	send()
}

// Seconds is how long the lost records were written for, at least: 0 where that is
// not known. Creation times are cut to the second, so two of them are up to one closer than they look.
func (g Gap) Seconds() int64 {
	if g.From == 0 || g.To <= g.From {
		return 0
	}
	return g.To - g.From - 1
}

func gapAttrs(g Gap) []slog.Attr {
	attrs := []slog.Attr{slog.String("stream", g.Stream), shardAttr(g.Shard), slog.String("after", g.After)}
	if g.Before != "" {
		attrs = append(attrs, slog.String("before", g.Before))
	}
	if s := g.Seconds(); s > 0 {
		attrs = append(attrs, slog.Int64("seconds_at_least", s))
	}
	return attrs
}
