package coordinator

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

// PassedGap is what a lease bears instead if reading continues after a gap (on_gap: continue or repair) and no
// record was found there yet: the gap is noted and logged, and the next reader of the shard does not log it again.
const PassedGap = "records were lost before they were read, and reading goes on behind them (on_gap: continue or repair)"

// handleTrimmed handles a position that the stream refuses as older than what it keeps.
//
// A shard that was read has lost records. An unread shard may have lost none: its first sequence number need not be
// that of a record.
func (c *Coordinator) handleTrimmed(a *assignment, at time.Time) {
	unread := a.pos.Kind != leases.Sequence
	if a.phase != reading || unread && (a.row.First == "" || c.isYoung(a.row, at) || c.keepsStart(a, at)) {
		// A gap is noted already, or nothing is lost: all records that are left come after the position.
		a.start.refused = true
		c.queueCallIn(a, a.failures.next(c, maxBackoff, nil))
		return
	}
	g := c.gapAfter(a)
	if unread && !a.row.From.IsZero() {
		c.seekOldest(a, g, probing)
		return
	}
	c.noteLost(a, g)
}

// isYoung reports whether a shard is so young that the stream still keeps all of its records. It goes by the time in the
// shard's id, or, if that has none, by a listing that lacked the shard. at is the time now, zero if it is unknown.
func (c *Coordinator) isYoung(r *row, at time.Time) bool {
	keeps := c.surelyKept()
	if made, ok := shardreader.ShardTime(r.Shard); ok {
		return !at.IsZero() && at.Sub(made) < keeps
	}
	l := c.listers[r.Stream]
	if l == nil {
		return false
	}
	lacked, ok := l.lacked[r.Shard]
	return ok && c.now-lacked < keeps
}

// surelyKept is the age up to which the stream keeps all records: less than the retention, because clocks differ and
// listings are late.
func (c *Coordinator) surelyKept() time.Duration { return c.o.Retention - c.o.Retention/24 }

// keepsStart reports whether the stream keeps all records that were created after the time at which the reading of a
// shard starts. at is the time now, zero if it is unknown.
func (c *Coordinator) keepsStart(a *assignment, at time.Time) bool {
	return !a.row.From.IsZero() && !at.IsZero() && at.Sub(a.row.From) < c.surelyKept()
}

// seekOldest reads from the oldest record that is left, to find the first one after a gap.
func (c *Coordinator) seekOldest(a *assignment, g record.Gap, ph phase) {
	a.enter(ph)
	a.gap = &g
	a.lag.behindFrom = max(1, c.now)
	a.emptyPages.reset(false)
	c.queueCall(a)
}

// seekGapEnd searches the first record after a durable gap.
func (c *Coordinator) seekGapEnd(a *assignment, g record.Gap) {
	if a.stopReason != "" {
		c.seekOldest(a, g, stoppedAtGap)
		return
	}
	c.seekOldest(a, g, afterGap)
}

// endProbe decides by the oldest record that is left whether the lost records belong to the requested range. If no
// record is left, they do. It reports whether the page is to be read.
func (c *Coordinator) endProbe(a *assignment, page *record.Page) bool {
	if len(page.Changes) > 0 && page.Changes[0].Time.Before(a.row.From) {
		a.enter(reading)
		return true
	}
	a.iterator = ""
	c.noteLost(a, *a.gap)
	return false
}

// resumeStop continues with a shard whose lease says that it stopped, or that a gap was logged.
func (c *Coordinator) resumeStop(a *assignment) {
	why := a.row.Stopped
	atGap := why == StoppedAtGap || why == PassedGap
	switch {
	case why == "", c.o.OnGap == Stop && why == PassedGap, c.o.OnGap == Continue && why == StoppedGone:
		return // it is read again, which finds a stop that still applies
	case c.o.OnGap == Continue && atGap:
		c.saveStop(a, PassedGap)
	default:
		if a.stopReason = why; !atGap {
			a.enter(stopped)
		}
		c.saveStop(a, why)
		c.log(slog.LevelWarn, "a shard is read no further: it stopped before, and was not reset since",
			shardAttr(a.row.Shard), slog.String("why", why))
	}
	if atGap {
		// The stream may have dropped the record after the gap: the end of the gap is unknown again.
		g := c.gapAfter(a)
		a.enter(confirming)
		c.noteGap(&gapNote{gap: g, again: true, wanted: a.isOpen, done: func() { c.seekGapEnd(a, g) }})
	}
}

// noteLost stores a gap and logs it at once, because a record after it may never come. Then the search for that record
// begins.
func (c *Coordinator) noteLost(a *assignment, g record.Gap) {
	c.noteGapOf(a, g, func() {
		c.log(slog.LevelError, "records were lost: the stream dropped them before they were read", gapAttrs(g)...)
		if c.o.OnGap == Stop {
			c.logStop(a, StoppedAtGap)
		} else {
			c.saveStop(a, PassedGap)
		}
		c.seekGapEnd(a, g)
	})
}

// completeGap completes a gap with the first record after it, or with the shard's end.
func (c *Coordinator) completeGap(a *assignment, page *record.Page) {
	g := *a.gap
	g.Before = firstSequence(page)
	if len(page.Changes) > 0 {
		g.To = page.Changes[0].Time.Truncate(time.Second)
	}
	if g.Before == "" && g.To.IsZero() {
		a.leaveGap()
		return
	}
	// The gap itself is durable already, so the page does not wait.
	c.noteGapOf(a, g, func() {
		c.log(slog.LevelInfo, "the extent of a gap is known", gapAttrs(g)...)
		if a.phase == confirming {
			a.leaveGap()
			c.queueCall(a)
		}
	})
}

// leaveGap enters the phase that follows once the end of a gap is known.
func (a *assignment) leaveGap() {
	if a.stopReason != "" {
		a.enter(stopped)
		return
	}
	a.enter(reading)
}

// checkMissing handles a shard that is not found and of which not all was read.
func (c *Coordinator) checkMissing(a *assignment) {
	if c.descendantWasRead(a.row.Shard) {
		c.endWithoutPage(a) // it was read before its descendants
		return
	}
	from := a.phase
	a.enter(confirming)
	c.list(a.row.Stream, a.isOpen, func(l *listing, err error) {
		if err == nil && !l.has(a.row.Shard) || errors.Is(err, shardreader.ErrNotFound) {
			c.noteGone(a)
			return
		}
		// It is listed, or that is unknown: it may be found again.
		a.notFoundCalls = 0
		a.enter(from)
		c.queueCallIn(a, a.failures.next(c, maxBackoff, nil))
	})
}

// noteGone notes that a shard is gone, and that its last records, or its children, were not read.
func (c *Coordinator) noteGone(a *assignment) {
	g := c.gapAfter(a)
	g.Whole, g.UnknownExtent = true, true
	c.noteGapOf(a, g, func() {
		c.log(slog.LevelError, "records were lost: a shard disappeared before it was read to its end", gapAttrs(g)...)
		if c.o.OnGap == Stop {
			c.stopShard(a, StoppedGone)
		} else {
			c.endWithoutPage(a)
		}
	})
}

// gapAfter returns the gap that begins at the position of an assignment.
func (c *Coordinator) gapAfter(a *assignment) record.Gap {
	g := record.Gap{StreamARN: a.row.Stream, Shard: a.row.Shard, After: a.pos.Sequence, From: a.posTime}
	if a.pos.Kind != leases.Sequence {
		g.From, g.UnknownExtent = a.row.From, true
	}
	return g
}

// endWithoutPage ends a shard without a last page from the stream.
func (c *Coordinator) endWithoutPage(a *assignment) {
	a.stopReason = ""
	switch {
	case a.phase == draining:
	case a.search != nil: // its last page is delivered, its children were sought
		a.enter(ended)
		a.search.found(c, a.search.severed)
	default:
		c.deliverLast(a, &record.Page{})
	}
}

// gapNote stores a gap, and retries until it is durable.
type gapNote struct {
	gap    record.Gap
	again  bool // it was noted before: the record that ended it may be gone
	wanted func() bool
	done   func() // continues once the gap is durable
	tries  tries
}

// noteGapOf makes a gap of a shard durable, and then calls done. Nothing more of the shard is read until then.
func (c *Coordinator) noteGapOf(a *assignment, g record.Gap, done func()) {
	a.enter(confirming)
	c.noteGap(&gapNote{gap: g, wanted: a.isOpen, done: done})
}

// noteGap makes a gap durable.
func (c *Coordinator) noteGap(n *gapNote) {
	c.emit(NoteGap{Call: newCall(c, func(e WriteResult) { n.answered(c, e.Err) }), Gap: n.gap, Again: n.again})
}

func (n *gapNote) answered(c *Coordinator, err error) {
	switch {
	case !n.wanted():
	case err == nil:
		n.done()
	default:
		c.logOnce("gap "+n.gap.Shard, slog.LevelError, "a gap cannot be stored: nothing after it is read until it is stored",
			shardAttr(n.gap.Shard), errAttr(err))
		c.after(n.tries.next(c, maxBackoff, err), func() {
			if n.wanted() {
				c.noteGap(n)
			}
		})
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
