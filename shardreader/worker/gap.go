package worker

import (
	"errors"
	"log/slog"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// Why a shard is read no further, as status shows it.
const (
	StoppedAtGap    = "records were lost before they were read, and the shard is read no further (on_gap: stop)"
	StoppedGone     = "the shard disappeared before it was read to its end, and its descendants are not read (on_gap: stop)"
	StoppedUnbegun  = "its parent is gone and was never read to its end, and nobody knows whether records were lost (on_gap: stop)"
	StoppedBetween  = "its stream follows one that was read, and what was written to the table between them is in neither (on_gap: stop)"
	StoppedBroken   = "its row in the lease table is damaged"
	StoppedBelow    = "a child shard starts at a sequence number that is not above its parent's last: newer records would pass for older ones, so the child is not read"
	StoppedContrary = "the shard holds a sequence number below the one that it starts with: its records may be older than its parent's, so it is read no further"
)

// PassedGap is what a lease bears instead if reading continues after a gap (on_gap: continue) and no
// record was found there yet: the gap is noted and logged, and the next reader of the shard does not log it again.
const PassedGap = "records were lost before they were read, and reading goes on behind them (on_gap: continue)"

// trimmed handles a position that the stream refuses as older than what it keeps.
//
// A shard that was read has lost records. An unread shard may have lost none: its first sequence number need not be
// that of a record.
func (w *Worker) trimmed(p *assignment, at time.Time) {
	unread := p.pos.Kind != leases.Sequence
	if p.phase != reading || unread && (p.row.First == "" || w.young(p.row, at)) {
		// A gap is noted already, or nothing is lost: all records that are left come after the position.
		p.start.refused = true
		w.wantIn(p, p.attempt.next(w, maxRetry, nil))
		return
	}
	g := w.gapOf(p)
	if unread && !p.row.From.IsZero() {
		w.seek(p, g, probing)
		return
	}
	w.lost(p, g)
}

// young reports whether a shard is so young that the stream still keeps all of its records. It goes by the time in the
// shard's id, or, if that has none, by a listing that lacked the shard. at is the time now, zero if it is unknown.
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

// seek reads from the oldest record that is left, to find the first one after a gap.
func (w *Worker) seek(p *assignment, g record.Gap, ph phase) {
	p.enter(ph)
	p.gap = &g
	p.lag.behindFrom = max(1, w.now)
	p.empty.reset(false)
	w.want(p)
}

// seekEnd is seek for a gap that is durable.
func (w *Worker) seekEnd(p *assignment, g record.Gap) {
	if p.why != "" {
		w.seek(p, g, stoppedAtGap)
		return
	}
	w.seek(p, g, afterGap)
}

// probed decides by the oldest record that is left whether the lost records were wanted. If none is left, they were.
// It reports whether the page is to be read.
func (w *Worker) probed(p *assignment, page *record.Page) bool {
	if len(page.Changes) > 0 && page.Changes[0].Time.Before(p.row.From) {
		p.enter(reading)
		return true
	}
	p.iterator = ""
	w.lost(p, *p.gap)
	return false
}

// resumeStop continues with a shard whose lease says that it stopped, or that a gap was logged.
func (w *Worker) resumeStop(p *assignment) {
	why := p.row.Stopped
	atGap := why == StoppedAtGap || why == PassedGap
	switch {
	case why == "", w.o.OnGap == Stop && why == PassedGap, w.o.OnGap == Continue && why == StoppedGone:
		return // it is read again, which finds a stop that still applies
	case w.o.OnGap == Continue && atGap:
		w.noteStop(p, PassedGap)
	default:
		if p.why = why; !atGap {
			p.enter(stopped)
		}
		w.noteStop(p, why)
		w.tell(slog.LevelWarn, "a shard is read no further: it stopped before, and was not reset since",
			shardAttr(p.row.Shard), slog.String("why", why))
	}
	if atGap {
		// The stream may have dropped the record after the gap: the end of the gap is unknown again.
		w.note(p, gapReopened, w.gapOf(p))
	}
}

// lost notes a gap and logs it at once: a record after it may never come. Then the search for that record begins.
func (w *Worker) lost(p *assignment, g record.Gap) { w.note(p, recordsLost, g) }

// passedGap completes a gap with the first record after it, or with the shard's end.
func (w *Worker) passedGap(p *assignment, page *record.Page) {
	g := *p.gap
	g.Before = firstSequence(page)
	if len(page.Changes) > 0 {
		g.To = page.Changes[0].Time.Truncate(time.Second)
	}
	if g.Before == "" && g.To.IsZero() {
		p.leaveGap()
		return
	}
	// The gap itself is durable already, so the page need not wait.
	w.note(p, extentKnown, g)
}

// leaveGap enters the phase that follows once the end of a gap is known.
func (p *assignment) leaveGap() {
	if p.why != "" {
		p.enter(stopped)
		return
	}
	p.enter(reading)
}

// vanished is a shard that is not found, while a listing decides whether it is gone.
type vanished struct {
	*assignment
	from phase
}

// vanish handles a shard that is not found and of which not all was read.
func (w *Worker) vanish(p *assignment) {
	if w.descendantPast(p.row.Shard) {
		w.endsHere(p) // it was read before its descendants
		return
	}
	v := vanished{p, p.phase}
	p.enter(confirming)
	w.list(p.row.Stream, v)
}

func (v vanished) listed(w *Worker, l *listing, err error) {
	p := v.assignment
	if err == nil && !l.has(p.row.Shard) || errors.Is(err, shardreader.ErrNotFound) {
		w.goneGap(p)
		return
	}
	// It is listed, or that is unknown: it may be found again.
	p.notFound = 0
	p.enter(v.from)
	w.wantIn(p, p.attempt.next(w, maxRetry, nil))
}

// goneGap notes that a shard is gone, and that its last records, or its children, were not read.
func (w *Worker) goneGap(p *assignment) {
	g := w.gapOf(p)
	g.Whole, g.UnknownExtent = true, true
	w.note(p, shardGone, g)
}

// gapOf is the gap that begins where a shard is read to.
func (w *Worker) gapOf(p *assignment) record.Gap {
	return record.Gap{
		StreamARN: p.row.Stream, Shard: p.row.Shard, After: p.pos.Sequence, From: p.time,
		UnknownExtent: p.pos.Kind != leases.Sequence,
	}
}

// endsHere ends a shard without a last page from the stream.
func (w *Worker) endsHere(p *assignment) {
	p.why = ""
	switch {
	case p.phase == draining:
	case p.search != nil: // its last page is delivered, its children were sought
		p.enter(ended)
		p.search.found(w, p.search.severed)
	default:
		w.deliverLast(p, &record.Page{})
	}
}

// noteReason is why a gap is noted. It decides what follows once it is durable.
type noteReason uint8

const (
	recordsLost    noteReason = iota // of a shard, before they were read
	extentKnown                      // the end of a gap that was noted before is found
	gapReopened                      // the record that ended a noted gap may be gone
	shardGone                        // a shard is gone before it was read to its end, or before its children were known
	parentUnread                     // a shard has no lease, and its parent is gone and was never read to its end
	shardUnbegun                     // a shard has no lease, and its children were not begun
	betweenStreams                   // a stream follows one that was read
)

// gapNote makes a gap durable, however long that takes.
type gapNote struct {
	why   noteReason
	gap   record.Gap
	by    noter
	lease leases.Lease // of parentUnread: the missing lease
	tries tries
}

// noter waits for a gap to be durable.
type noter interface {
	wanted(w *Worker) bool
	noted(w *Worker, op *gapNote)
}

// note makes a gap durable. Nothing more of the shard is read until then.
func (w *Worker) note(p *assignment, why noteReason, g record.Gap) {
	p.enter(confirming)
	w.sendNote(&gapNote{why: why, gap: g, by: p})
}

func (w *Worker) sendNote(op *gapNote) {
	w.do(NoteGap{Call: w.begin(op), Gap: op.gap, Again: op.why == gapReopened})
}

func (op *gapNote) answered(w *Worker, e Done) {
	switch {
	case !op.by.wanted(w):
	case e.Err == nil:
		op.by.noted(w, op)
	default:
		shard := op.gap.Shard
		w.tellOnce("gap "+shard, slog.LevelError, "a gap cannot be noted: nothing behind it is read until it is",
			shardAttr(shard), errAttr(e.Err))
		w.after(op.tries.next(w, maxRetry, e.Err), func() {
			if op.by.wanted(w) {
				w.sendNote(op)
			}
		})
	}
}

func (p *assignment) wanted(*Worker) bool { return p.current() }

// noted continues with a shard whose gap is durable.
func (p *assignment) noted(w *Worker, op *gapNote) {
	g := op.gap
	switch op.why {
	case recordsLost:
		w.tell(slog.LevelError, "records were lost: the stream dropped them before they were read", gapAttrs(g)...)
		if w.o.OnGap == Stop {
			w.tellStop(p, StoppedAtGap)
		} else {
			w.noteStop(p, PassedGap)
		}
		w.seekEnd(p, g)
	case gapReopened:
		w.seekEnd(p, g)
	case extentKnown:
		w.tell(slog.LevelInfo, "the extent of a gap is known", gapAttrs(g)...)
		if p.phase == confirming {
			p.leaveGap()
			w.want(p)
		}
	case shardGone:
		w.tell(slog.LevelError, "records were lost: a shard disappeared before it was read to its end", gapAttrs(g)...)
		if w.o.OnGap == Stop {
			w.halt(p, StoppedGone)
		} else {
			w.endsHere(p)
		}
	}
}

func gapAttrs(g record.Gap) []slog.Attr {
	attrs := []slog.Attr{slog.String("stream", g.StreamARN), shardAttr(g.Shard), slog.String("after", g.After)}
	if g.Before != "" {
		attrs = append(attrs, slog.String("before", g.Before))
	}
	if span := g.Span(); span > 0 {
		attrs = append(attrs, slog.Int64("seconds_at_least", int64(span/time.Second)))
	}
	return attrs
}
