package coordinator

import (
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline/redact"
)

const (
	// endPages is the number of empty pages in a row after which a shard counts as read to its end. It is more than
	// one, because the service returns some empty pages before records.
	endPages = 5

	// keptHeartbeats is the number of heartbeats whose times are kept. A consumer sends fewer heartbeats than that
	// while it reads endPages empty pages.
	keptHeartbeats = 600

	relistAfter = 30 * time.Second // an endCheck that waits for other consumers lists the streams again after this time
	endRetry    = 2 * time.Second  // pause after a listing that failed
)

// endCheck checks whether the fleet has read everything. It uses only results of calls that were sent after it began.
// The calls are listings of the streams, reads of the lease table, and reads of pages. The empty pages of a shard count
// no matter which consumer reads the shard.
type endCheck struct {
	began      time.Duration    // when it began
	tableRead  time.Duration    // when the read of the lease table that returned heartbeats was sent
	heartbeats map[string]int64 // last heartbeat of each consumer
	listedAt   time.Duration    // when the last listing ended; 0 if no listing has ended
	streams    map[string]*listing
	listings   map[string]*listing // listings so far, by stream, while the streams are being listed; else nil
}

// pastHeartbeat is the number of a written heartbeat, and the time at which its write was confirmed.
type pastHeartbeat struct {
	number      int64
	confirmedAt time.Duration
}

// atEnd returns true if all records of the shard are checkpointed. It then also returns the time since which the shard
// had no more records: when the first of the last endPages empty pages was requested. For a stopped shard, the time is
// now. atEnd returns false if there may be more to read or to write.
func (a *assignment) atEnd(now time.Duration) (time.Duration, bool) {
	switch {
	case !a.drained() || a.row.busy || !a.isSaved():
		return 0, false
	case a.phase == stopped || a.phase == stoppedAtGap:
		return now, a.row.Stopped != ""
	case a.phase != reading && a.phase != afterGap, a.paused, !a.emptyPages.enoughForEnd(), !a.emptyPages.shardIsEmpty():
		return 0, false
	}
	return a.emptyPages.requestTimes[0], true
}

// endCheckWaits reports whether the check for the end waits for empty pages of a shard. The call budget does not limit
// the requests for these pages, because they are few.
func (c *Coordinator) endCheckWaits(a *assignment) bool {
	if c.o.Idle == 0 || !c.staying() || !c.isQuiet() || a.phase == stoppedAtGap {
		return false
	}
	return !a.emptyPages.enoughForEnd() || !a.emptyPages.shardIsEmpty() || c.endCheck != nil &&
		a.emptyPages.requestTimes[0] < c.endCheck.began
}

// isQuiet reports whether no record came for Options.Idle.
func (c *Coordinator) isQuiet() bool { return c.now-max(c.lastRecord, c.refresh.first) >= c.o.Idle }

// shardEnds describes how far this consumer's shards are checkpointed.
type shardEnds struct {
	allShards   int64    // number of a heartbeat: all records older than it are checkpointed; 0 if there is none
	quietShards int64    // as allShards, but ignores the shards of busy
	busy        []string // shards that are not read and checkpointed to their ends, sorted
}

func (c *Coordinator) shardEnds() (e shardEnds) {
	// This consumer may own a lease without knowing it, if the result of a write was lost. Only a read of the table
	// shows such a lease.
	since := c.refresh.sent
	if !c.refresh.succeeded || c.writes.taking > 0 || len(c.writes.creating) > 0 {
		return shardEnds{}
	}
	for _, r := range c.table.rows.all() {
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
	if e.quietShards = c.heartbeatBefore(since); len(e.busy) == 0 {
		e.allShards = e.quietShards
	}
	return e
}

// heartbeatBefore returns the number of the newest heartbeat that was confirmed at the time at or earlier; 0 if none is
// known.
func (c *Coordinator) heartbeatBefore(at time.Duration) int64 {
	for _, b := range slices.Backward(c.contact.past) {
		if b.confirmedAt <= at {
			return b.number
		}
	}
	return 0
}

// checkEnd checks for the end after each read of the lease table, if Options.Idle is set.
func (c *Coordinator) checkEnd() {
	if c.o.Idle == 0 || !c.staying() {
		return
	}
	if c.endCheck != nil && c.lastRecord >= c.endCheck.began {
		c.endCheck = nil
	}
	e := c.endCheck
	switch {
	case e == nil:
		c.tryBeginEndCheck()
		return
	case e.listedAt == 0:
		return
	case e.heartbeats == nil:
		e.tableRead, e.heartbeats = c.refresh.sent, make(map[string]int64, len(c.table.consumers))
		for id, consumer := range c.table.consumers {
			e.heartbeats[id] = consumer.Heartbeat
		}
	}
	c.flushIdle()
	s := c.newUnreadSearch(e)
	c.unreadReason = s.all()
	switch {
	case s.moved:
		c.endCheck = nil // the lease's owner may not have sent a heartbeat since the move: the check begins again
	case c.unreadReason != "" && c.now-e.listedAt < relistAfter:
	case c.unreadReason != "":
		e.list(c)
	default:
		c.endCheck, c.nextEndCheck = nil, c.now+c.o.Idle
		c.emit(AtEnd{Before: e.began, Stopped: s.stopped})
	}
}

// tryBeginEndCheck begins a check for the end, unless the leases show that it would fail.
func (c *Coordinator) tryBeginEndCheck() {
	if !c.isQuiet() {
		c.unreadReason = "records came a moment ago"
		return
	}
	c.flushIdle()
	if c.unreadReason = c.newUnreadSearch(nil).leases(); c.unreadReason == "" && c.now >= c.nextEndCheck {
		c.beginEndCheck()
	}
}

// flushIdle drains the shards that have no more records or are stopped, so that the sinks write incomplete batches.
func (c *Coordinator) flushIdle() {
	for a := range c.allAssignments() {
		if !a.drained() && !a.pages.flushed && (a.emptyPages.enoughForEnd() || a.stopReason != "") {
			a.pages.flushed = true
			c.emit(Drain{a.name})
		}
	}
}

// beginEndCheck begins an endCheck. Only requests that are sent from now on count.
func (c *Coordinator) beginEndCheck() {
	c.endCheck = &endCheck{began: max(1, c.now)}
	for a := range c.allAssignments() {
		if a.poll == waiting {
			c.pollNow(a) // the check does not wait for the timer
		}
	}
	c.endCheck.list(c)
}

// list lists the streams, then reads the lease table.
func (e *endCheck) list(c *Coordinator) {
	if e.listings != nil {
		return
	}
	e.listings = make(map[string]*listing)
	e.listSource(c, 0)
}

func (e *endCheck) isWanted(c *Coordinator) bool { return c.endCheck == e && c.staying() }

// listSource lists the streams of the n-th source and of the sources after it.
func (e *endCheck) listSource(c *Coordinator, n int) {
	if n == len(c.sources) {
		c.afterRefresh(func() {
			if e.isWanted(c) {
				e.streams, e.listedAt, e.listings = e.listings, max(1, c.now), nil
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

// listStream lists the streams of the n-th source from the i-th on, and then the streams of the later sources.
func (e *endCheck) listStream(c *Coordinator, n, i int) {
	if !e.isWanted(c) {
		return
	}
	streams := c.sources[n].streams
	for i < len(streams) && streams[i].unlisted {
		i++
	}
	if i == len(streams) {
		e.listSource(c, n+1)
		return
	}
	arn := streams[i].arn
	c.list(arn, func() bool { return e.isWanted(c) }, func(l *listing, err error) {
		if err != nil {
			e.fail(c, err)
			return
		}
		e.listings[arn] = l
		e.listStream(c, n, i+1)
	})
}

func (e *endCheck) fail(c *Coordinator, err error) {
	if c.endCheck == e {
		c.endCheck, c.nextEndCheck = nil, c.now+endRetry
		c.unreadReason = "a stream cannot be listed: " + redact.LogText(err)
	}
}
