package coordinator

import (
	"errors"
	"log/slog"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// The reasons why a shard is read no further, as status shows them. Leases and heartbeats store these texts, and
// consumers compare them. The texts never change, because a consumer of this version reads what an earlier version
// stored.
const (
	StoppedAtGap              = "records were lost before they were read, and the shard is read no further (on_gap: stop)"
	StoppedGone               = "the shard disappeared before it was read to its end, and its descendants are not read (on_gap: stop)"
	StoppedUnbegun            = "its parent is gone and was never read to its end, and nobody knows whether records were lost (on_gap: stop)"
	StoppedBetweenStreams     = "its stream follows one that was read, and what was written to the table between them is in neither (on_gap: stop)"
	StoppedDamaged            = "its row in the lease table is damaged"
	StoppedChildBelowParent   = "a child shard starts at a sequence number that is not above its parent's last: newer records would pass for older ones, so the child is not read"
	StoppedSequenceBelowStart = "the shard holds a sequence number below the one that it starts with: its records may be older than its parent's, so it is read no further"
)

// PassedGap is the value of Lease.Stopped while the reading of a shard continues after a gap (on_gap: continue or
// repair). It stays until a record after the gap is found. The value shows the next reader of the shard that the gap is
// already noted and logged. Like the reasons above, the text never changes.
const PassedGap = "records were lost before they were read, and reading goes on behind them (on_gap: continue or repair)"

// handleTrimmed handles a position that the stream refuses as older than its oldest record. wallTime is as in
// GetRecordsResult.
//
// If records of the shard were read before, later records are lost. If no record was read before, perhaps no record is
// lost: the start of a shard may be below its first record, so a refused start proves no loss.
func (c *Coordinator) handleTrimmed(a *assignment, wallTime time.Time) {
	readsFromOldest := a.phase != reading
	isUnread := a.position.Kind != leases.Sequence
	switch {
	case readsFromOldest, isUnread && c.streamHasUnread(a, wallTime):
		a.start.position = startAtOldest
		c.queueCallIn(a, a.failedCalls.nextBackoff(c, maxBackoff, nil))
	case isUnread:
		c.noteUnreadLost(a)
	default:
		c.noteLost(a, c.gapAfter(a))
	}
}

// streamHasUnread is called for a shard without a read record. It reports whether the stream still keeps all records of
// the shard that should be read. wallTime is as in GetRecordsResult.
func (c *Coordinator) streamHasUnread(a *assignment, wallTime time.Time) bool {
	return a.row.First == "" || c.isYoung(a.row, wallTime) || c.streamHasStart(a, wallTime)
}

// noteUnreadLost handles a shard without a read record whose records the stream may have dropped. If reading starts at
// a time, the oldest record left shows whether the dropped records are older than that time. If reading does not start
// at a time, the dropped records are lost.
func (c *Coordinator) noteUnreadLost(a *assignment) {
	startsAtTime := !a.row.From.IsZero()
	if startsAtTime {
		c.seekOldest(a, c.gapAfter(a), probing)
		return
	}
	c.noteLost(a, c.gapAfter(a))
}

// isYoung reports whether a shard is so young that the stream still keeps all of its records. Most shard ids have the
// time at which the shard was created. A shard whose id has no time was created after the last listing without it.
// wallTime is as in GetRecordsResult.
func (c *Coordinator) isYoung(r *row, wallTime time.Time) bool {
	if created, ok := shardreader.ShardTime(r.Shard); ok {
		return !wallTime.IsZero() && wallTime.Sub(created) < c.safeRetention()
	}
	lister := c.listers[r.Stream]
	if lister == nil {
		return false
	}
	lackedAt, ok := lister.lacked[r.Shard]
	return ok && c.now-lackedAt < c.safeRetention()
}

// safeRetention returns the age up to which the stream keeps all records. It is less than the retention, because clocks
// differ and listings are late.
func (c *Coordinator) safeRetention() time.Duration {
	return c.options.Retention - c.options.Retention/24
}

// streamHasStart reports whether the stream keeps all records that were created after the time at which the reading of
// a shard starts. wallTime is as in GetRecordsResult.
func (c *Coordinator) streamHasStart(a *assignment, wallTime time.Time) bool {
	return !a.row.From.IsZero() && !wallTime.IsZero() && wallTime.Sub(a.row.From) < c.safeRetention()
}

// seekOldest enters a phase that reads from the oldest record left, to find the first record after the gap g.
func (c *Coordinator) seekOldest(a *assignment, g record.Gap, to phase) {
	a.enter(to)
	a.gap = &g
	a.lag.behindSince = c.now
	a.emptyPages.reset(false)
	c.queueCall(a)
}

// seekGapEnd begins the search for the first record after a durable gap.
func (c *Coordinator) seekGapEnd(a *assignment, g record.Gap) {
	if a.stopReason != "" {
		c.seekOldest(a, g, stoppedAtGap)
		return
	}
	c.seekOldest(a, g, afterGap)
}

// staysStopped reports whether a shard must not be read because of its Lease.Stopped.
func (c *Coordinator) staysStopped(r *row) bool {
	switch r.Stopped {
	case "", PassedGap:
		return false
	case StoppedAtGap, StoppedGone:
		return c.options.OnGap == Stop
	}
	return true
}

// resumeStop enters the phase that follows from Lease.Stopped when an assignment is opened.
func (c *Coordinator) resumeStop(a *assignment) {
	reason := a.row.Stopped
	isAtGap := reason == StoppedAtGap || reason == PassedGap
	switch {
	case c.staysStopped(a.row):
		a.stopReason = reason
		if !isAtGap {
			a.enter(stopped)
		}
		c.saveStop(a, reason)
		c.log(slog.LevelWarn, "a shard is read no further: it stopped before, and was not reset since",
			shardAttr(a.row.Shard), slog.String("why", reason))
		if isAtGap {
			c.noteGapAgain(a)
		}
	case isAtGap && c.options.OnGap == Continue:
		c.saveStop(a, PassedGap)
		c.noteGapAgain(a)
	default: // if the reason still applies, reading finds it again
	}
}

// noteGapAgain stores the gap at the position of an assignment again, and then searches for its end. The stream may
// have dropped the record after the gap since.
func (c *Coordinator) noteGapAgain(a *assignment) {
	g := c.gapAfter(a)
	a.enter(suspended)
	c.noteGap(&gapNote{gap: g, again: true, wanted: a.isOpen, done: func() { c.seekGapEnd(a, g) }})
}

// noteLost stores and logs a gap. It does not wait for the first record after the gap, because that record may never
// come. Once the gap is stored, the search for the record begins.
func (c *Coordinator) noteLost(a *assignment, g record.Gap) {
	c.noteShardGap(a, g, func() {
		c.log(slog.LevelError, "records were lost: the stream dropped them before they were read", gapAttrs(g)...)
		if c.options.OnGap == Stop {
			c.logStop(a, StoppedAtGap)
		} else {
			c.saveStop(a, PassedGap)
		}
		c.seekGapEnd(a, g)
	})
}

// completeGap ends the search for the end of a gap. page has the first record after the gap, or is the last page of the
// shard and has no record. completeGap stores the sequence number and the time of the record, as far as they are known,
// and changes the phase.
func (c *Coordinator) completeGap(a *assignment, page *record.Page) {
	g := *a.gap
	g.Before = firstSequence(page)
	if len(page.Changes) > 0 {
		g.To = page.Changes[0].Time.Truncate(time.Second)
	}
	endIsKnown := g.Before != "" || !g.To.IsZero()
	if !endIsKnown {
		a.leaveGap()
		return
	}
	c.noteShardGap(a, g, func() {
		c.log(slog.LevelInfo, "the extent of a gap is known", gapAttrs(g)...)
		// The page did not wait, because the gap itself was durable already. So the phase may have changed.
		if a.phase == suspended {
			a.leaveGap()
			c.queueCall(a)
		}
	})
}

// leaveGap enters the phase that follows when the end of a gap is known.
func (a *assignment) leaveGap() {
	if a.stopReason != "" {
		a.enter(stopped)
		return
	}
	a.enter(reading)
}

// checkMissing handles a shard that the stream does not find, and that was not read to its end.
func (c *Coordinator) checkMissing(a *assignment) {
	if c.descendantWasRead(a.row.Shard) {
		c.endWithoutPage(a) // the shard was read to its end before its descendants
		return
	}
	previous := a.phase
	a.enter(suspended)
	c.list(a.row.Stream, a.isOpen, func(l *listing, err error) {
		isGone := errors.Is(err, shardreader.ErrNotFound) || err == nil && !l.has(a.row.Shard)
		if isGone {
			c.noteGone(a)
			return
		}
		// The shard is listed, or the listing failed: the shard may be found again.
		a.notFoundCalls = 0
		a.enter(previous)
		c.queueCallIn(a, a.failedCalls.nextBackoff(c, maxBackoff, nil))
	})
}

// noteGone notes the gap of a shard that is gone. The last records of the shard, or its children, were not read.
func (c *Coordinator) noteGone(a *assignment) {
	g := c.gapAfter(a)
	g.Whole, g.UnknownExtent = true, true
	c.noteShardGap(a, g, func() {
		c.log(slog.LevelError, "records were lost: a shard disappeared before it was read to its end", gapAttrs(g)...)
		if c.options.OnGap == Stop {
			c.stopShard(a, StoppedGone)
		} else {
			c.endWithoutPage(a)
		}
	})
}

// gapAfter returns the gap that begins at the position of an assignment.
func (c *Coordinator) gapAfter(a *assignment) record.Gap {
	g := record.Gap{StreamARN: a.row.Stream, Shard: a.row.Shard, After: a.position.Sequence, From: a.positionTime}
	if a.position.Kind != leases.Sequence {
		g.From, g.UnknownExtent = a.row.From, true
	}
	return g
}

// endWithoutPage ends a shard without a last page from the stream.
func (c *Coordinator) endWithoutPage(a *assignment) {
	a.stopReason = ""
	switch {
	case a.phase == draining: // the next owner ends the shard
	case a.childSearch != nil: // the last page was delivered, and the children were searched for
		a.enter(ended)
		a.childSearch.setChildren(a.childSearch.orphans)
	default:
		c.deliverLast(a, &record.Page{})
	}
}

// gapNote stores a gap, and retries until it is durable.
type gapNote struct {
	gap    record.Gap
	again  bool // the gap was noted before, and its end may have changed
	wanted func() bool
	done   func() // continues once the gap is durable
	tries  tries
}

// noteShardGap stores a gap of an assignment, and calls done once the gap is durable. The shard is not read meanwhile.
func (c *Coordinator) noteShardGap(a *assignment, g record.Gap, done func()) {
	a.enter(suspended)
	c.noteGap(&gapNote{gap: g, wanted: a.isOpen, done: done})
}

// noteGap stores a gap. The done function of the note is called once the gap is durable.
func (c *Coordinator) noteGap(n *gapNote) {
	c.emit(NoteGap{Call: newCall(c, func(e WriteResult) { n.handleResult(c, e.Err) }), Gap: n.gap, WasNoted: n.again})
}

// handleResult continues after a gap was stored, or tries again.
func (n *gapNote) handleResult(c *Coordinator, err error) {
	if !n.wanted() {
		return
	}
	topic := "gap " + n.gap.Shard
	if err == nil {
		delete(c.logged, topic)
		n.done()
		return
	}
	c.logOnce(topic, slog.LevelError, "a gap cannot be stored: nothing after it is read until it is stored",
		shardAttr(n.gap.Shard), errAttr(err))
	c.after(n.tries.nextBackoff(c, maxBackoff, err), func() {
		if n.wanted() {
			c.noteGap(n)
		}
	})
}

// gapAttrs returns the log attributes of a gap.
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
