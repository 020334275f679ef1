package coordinator

import (
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline/redact"
)

const (
	// endPages is the number of empty pages in a row after which a shard counts as read to its end: the
	// service returns some empty pages before records.
	endPages = 5

	// keptHeartbeats is the number of heartbeats whose times are kept: endPages empty pages take fewer.
	keptHeartbeats = 600

	relistAfter = 30 * time.Second // an endCheck that waits for other consumers lists the streams again
	endRetry    = 2 * time.Second  // after a listing that failed
)

// endCheck checks whether everything is read. It uses only results of calls that were sent after it began: the listed
// streams, the lease table, and the empty pages of each shard, whichever consumer reads it.
type endCheck struct {
	began      time.Duration    // when it began
	tableRead  time.Duration    // when the read of the lease table with these heartbeats was sent
	heartbeats map[string]int64 // last heartbeat of each consumer in that read
	listedAt   time.Duration    // when the last listing ended; 0: none did yet
	streams    map[string]*listing
	found      map[string]*listing // by the listing in flight; nil: none is
}

// pastHeartbeat is a written heartbeat, and when its write was confirmed.
type pastHeartbeat struct {
	number int64
	at     time.Duration
}

// atEnd returns when the first of the last endPages empty pages was requested, if all of the shard is
// checkpointed. For a stopped shard it returns now. It returns false if there is, or may be, more to do.
func (a *assignment) atEnd(now time.Duration) (time.Duration, bool) {
	switch {
	case !a.drained() || a.row.busy || !a.isSaved():
		return 0, false
	case a.phase == stopped || a.phase == stoppedAtGap:
		return now, a.row.Stopped != ""
	case a.phase != reading && a.phase != afterGap, a.paused, !a.emptyPages.enoughForEnd(), !a.emptyPages.shardIsEmpty():
		return 0, false
	}
	return a.emptyPages.sent[0], true
}

// endCheckWaits reports whether the check for the end waits for empty pages of a shard. Those pages are few, and the
// budget does not count them.
func (c *Coordinator) endCheckWaits(a *assignment) bool {
	if c.o.Idle == 0 || c.leaving || !c.isQuiet() || a.phase == stoppedAtGap {
		return false
	}
	return !a.emptyPages.enoughForEnd() || !a.emptyPages.shardIsEmpty() || c.endCheck != nil && a.emptyPages.sent[0] < c.endCheck.began
}

// isQuiet reports whether no record came for Options.Idle.
func (c *Coordinator) isQuiet() bool { return c.now-max(c.lastRecord, c.firstRefresh) >= c.o.Idle }

// shardEnds is how far this consumer's shards are checkpointed.
type shardEnds struct {
	all   int64    // heartbeat: all records that were in the shards before it are checkpointed; 0: there is none
	quiet int64    // the same without the busy shards
	busy  []string // shards that are not read and checkpointed to their ends, sorted
}

func (c *Coordinator) shardEnds() (e shardEnds) {
	// A lease can belong to this consumer although the result of its write was lost: only a read of the table shows it.
	since := c.refreshSent
	if !c.refreshed || c.taking > 0 || len(c.creating) > 0 {
		return shardEnds{}
	}
	for _, r := range c.rows.all() {
		switch {
		case r.assignment != nil:
			if at, ok := r.assignment.atEnd(c.now); ok {
				since = min(since, at)
			} else {
				e.busy = append(e.busy, r.Shard)
			}
		case c.isOwn(r) && c.isActive(r):
			e.busy = append(e.busy, r.Shard)
		}
	}
	if len(e.busy) > maxReported {
		return shardEnds{}
	}
	slices.Sort(e.busy)
	if e.quiet = c.heartbeatBefore(since); len(e.busy) == 0 {
		e.all = e.quiet
	}
	return e
}

// heartbeatBefore returns the newest heartbeat that was confirmed at that time or before; 0 if none is known.
func (c *Coordinator) heartbeatBefore(at time.Duration) int64 {
	for _, b := range slices.Backward(c.pastHeartbeats) {
		if b.at <= at {
			return b.number
		}
	}
	return 0
}

// checkEnd checks for the end after each read of the lease table, if Options.Idle is set.
func (c *Coordinator) checkEnd() {
	if c.o.Idle == 0 || c.leaving {
		return
	}
	if c.endCheck != nil && c.lastRecord >= c.endCheck.began {
		c.endCheck = nil
	}
	if c.endCheck == nil {
		if !c.isQuiet() {
			c.unreadReason = "records came a moment ago"
			return
		}
		c.flushIdle()
		if c.unreadReason = c.newUnreadSearch(nil).leases(); c.unreadReason != "" || c.now < c.nextEndCheck {
			return
		}
		c.beginEndCheck()
		return
	}
	e := c.endCheck
	switch {
	case e.listedAt == 0:
		return
	case e.heartbeats == nil:
		e.tableRead, e.heartbeats = c.refreshSent, make(map[string]int64, len(c.consumers))
		for id, consumer := range c.consumers {
			e.heartbeats[id] = consumer.Heartbeat
		}
	}
	c.flushIdle()
	s := c.newUnreadSearch(e)
	why := s.all()
	c.unreadReason = why
	switch {
	case s.moved:
		c.endCheck = nil // the heartbeat of the lease's owner may be older than the move: the check begins again
	case why != "" && c.now-e.listedAt < relistAfter:
	case why != "":
		e.list(c)
	default:
		c.endCheck, c.nextEndCheck = nil, c.now+c.o.Idle
		c.emit(AtEnd{Before: e.began, Stopped: s.stopped})
	}
}

// flushIdle drains the shards that have an empty page or are stopped: the sinks write their incomplete batches.
func (c *Coordinator) flushIdle() {
	for a := range c.allAssignments() {
		if !a.drained() && !a.pages.flushed && (a.emptyPages.enoughForEnd() || a.stopReason != "") {
			a.pages.flushed = true
			c.emit(Drain{a.name})
		}
	}
}

// beginEndCheck begins an endCheck: only requests from now on count.
func (c *Coordinator) beginEndCheck() {
	c.endCheck = &endCheck{began: max(1, c.now)}
	for a := range c.allAssignments() {
		if a.poll == waiting {
			c.wake(a) // the check does not wait for the timer
		}
	}
	c.endCheck.list(c)
}

// list lists the streams, then reads the lease table.
func (e *endCheck) list(c *Coordinator) {
	if e.found != nil {
		return
	}
	e.found = make(map[string]*listing)
	e.listSource(c, 0)
}

func (e *endCheck) wanted(c *Coordinator) bool { return c.endCheck == e && c.staying() }

// listSource lists the streams of the sources, from the n-th on.
func (e *endCheck) listSource(c *Coordinator, n int) {
	if n == len(c.sources) {
		c.afterRefresh(func() {
			if e.wanted(c) {
				e.streams, e.listedAt, e.found = e.found, max(1, c.now), nil
			}
		})
		return
	}
	c.findStreams(c.sources[n], func(err error) {
		if err != nil {
			e.fail(c, err)
			return
		}
		e.listStream(c, n, 0)
	})
}

// listStream lists the streams of the n-th source from the i-th on, and those of the later sources.
func (e *endCheck) listStream(c *Coordinator, n, i int) {
	if !e.wanted(c) {
		return
	}
	streams := c.sources[n].streams
	for i < len(streams) && streams[i].gone {
		i++
	}
	if i == len(streams) {
		e.listSource(c, n+1)
		return
	}
	arn := streams[i].arn
	c.list(arn, func() bool { return e.wanted(c) }, func(l *listing, err error) {
		if err != nil {
			e.fail(c, err)
			return
		}
		e.found[arn] = l
		e.listStream(c, n, i+1)
	})
}

func (e *endCheck) fail(c *Coordinator, err error) {
	if c.endCheck == e {
		c.endCheck, c.nextEndCheck = nil, c.now+endRetry
		c.unreadReason = "a stream cannot be listed: " + redact.LogText(err)
	}
}
