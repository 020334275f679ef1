package coordinator

import (
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline/redact"
)

const (
	// emptyPagesAtEnd is the number of empty pages in a row after which a shard counts as read to its end. It is more than
	// one, because the service returns some empty pages before records.
	emptyPagesAtEnd = 5

	// keptHeartbeats is the number of heartbeats whose times are kept. A consumer sends fewer heartbeats than that
	// while it reads emptyPagesAtEnd empty pages.
	keptHeartbeats = 600

	relistAfter = 30 * time.Second // an endCheck that waits for other consumers lists the streams again after this time
	endRetry    = 2 * time.Second  // pause after a listing that failed
)

// endCheck checks whether the fleet has read everything. It uses only results of calls that were sent after it began.
// The calls are listings of the streams, reads of the lease table, and reads of pages. The empty pages of a shard count
// no matter which consumer reads the shard.
type endCheck struct {
	c           *Coordinator
	began       time.Duration
	tableReadAt time.Duration    // when the read of the lease table was sent that returned heartbeats
	heartbeats  map[string]int64 // last heartbeat of each consumer
	listedAt    time.Duration    // when the last listing ended; 0 if no listing has ended
	streams     map[string]*listing
	listings    map[string]*listing // listings so far, by stream, while the streams are being listed; else nil
}

// atEnd reports whether the shard has no more records, and all of its records are checkpointed. quietSince is a time
// since when it had no more records: the oldest of the last emptyPagesAtEnd empty pages was requested then. For a
// stopped shard, quietSince is now.
func (a *assignment) atEnd(now time.Duration) (quietSince time.Duration, ok bool) {
	isCheckpointed := a.allAcked() && !a.row.busy && a.isSaved()
	if !isCheckpointed {
		return 0, false
	}
	if a.phase == stopped || a.phase == stoppedAtGap {
		return now, a.row.Stopped != ""
	}
	isDelivering := a.phase == reading || a.phase == afterGap
	if !isDelivering || a.paused || !a.emptyPages.provesEnd() {
		return 0, false
	}
	return a.emptyPages.requestedAt[0], true
}

// endCheckWaits reports whether the check for the end waits for empty pages of a shard. The call budget does not limit
// the requests for these pages, because they are few.
func (c *Coordinator) endCheckWaits(a *assignment) bool {
	mayCheck := c.options.Idle > 0 && c.isRunning() && c.isQuiet()
	if !mayCheck || a.phase == stoppedAtGap {
		return false
	}
	areTooOld := c.endCheck != nil && a.emptyPages.requestedAt[0] < c.endCheck.began
	return areTooOld || !a.emptyPages.provesEnd()
}

// isQuiet reports whether no record came for the time Options.Idle.
func (c *Coordinator) isQuiet() bool {
	return c.now-max(c.lastRecordAt, c.refresh.firstSuccess) >= c.options.Idle
}

// shardEnds describes how far this consumer's shards are checkpointed.
type shardEnds struct {
	allShards   int64    // number of a heartbeat: all records older than the heartbeat are checkpointed; 0 if unknown
	quietShards int64    // like allShards, but for the shards that are not in busyShards
	busyShards  []string // shards that are not read and checkpointed to their ends, sorted
}

// shardEnds returns how far this consumer's shards are checkpointed. It returns the zero shardEnds if that is unknown,
// or if too many shards are busy.
func (c *Coordinator) shardEnds() (e shardEnds) {
	// This consumer may own a lease without knowing it, if the result of a write was lost. Only a read of the table
	// shows such a lease.
	if !c.refresh.succeeded || c.writes.taking > 0 || len(c.writes.creating) > 0 {
		return shardEnds{}
	}
	quietSince := c.refresh.lastSent
	for _, r := range c.table.rows.all() {
		if r.assignment == nil {
			isUnopened := c.isOwn(r) && c.isActive(r)
			if isUnopened {
				e.busyShards = append(e.busyShards, r.Shard)
			}
			continue
		}
		since, isAtEnd := r.assignment.atEnd(c.now)
		if !isAtEnd {
			e.busyShards = append(e.busyShards, r.Shard)
			continue
		}
		quietSince = min(quietSince, since)
	}
	if len(e.busyShards) > maxReported {
		return shardEnds{}
	}
	slices.Sort(e.busyShards)
	e.quietShards = c.heartbeatBefore(quietSince)
	if len(e.busyShards) == 0 {
		e.allShards = e.quietShards
	}
	return e
}

// heartbeatBefore returns the number of the newest heartbeat that was confirmed no later than at; 0 if none is known.
func (c *Coordinator) heartbeatBefore(at time.Duration) int64 {
	for _, heartbeat := range slices.Backward(c.heartbeats.confirmed) {
		if heartbeat.confirmedAt <= at {
			return heartbeat.number
		}
	}
	return 0
}

// checkEnd checks for the end after each read of the lease table, if Options.Idle is set.
func (c *Coordinator) checkEnd() {
	if c.options.Idle == 0 || !c.isRunning() {
		return
	}
	if c.endCheck != nil && c.lastRecordAt >= c.endCheck.began {
		c.endCheck = nil
	}
	e := c.endCheck
	switch {
	case e == nil:
		c.tryBeginEndCheck()
		return
	case e.listedAt == 0:
		return // the listings are in flight
	}
	if e.heartbeats == nil {
		e.noteHeartbeats()
	}
	c.flushIdle()
	s := c.newUnreadSearch(e)
	c.unreadReason = s.findUnread()
	switch {
	case s.moved:
		c.endCheck = nil // the lease's owner may not have sent a heartbeat since the move: the check begins again
	case c.unreadReason == "":
		c.endCheck, c.nextEndCheck = nil, c.now+c.options.Idle
		c.emit(AtEnd{ReadUpTo: e.began, Stopped: s.stopped})
	case c.now-e.listedAt >= relistAfter:
		e.list()
	}
}

// noteHeartbeats notes the last heartbeat of each consumer, as the last refresh returned it.
func (e *endCheck) noteHeartbeats() {
	e.tableReadAt = e.c.refresh.lastSent
	e.heartbeats = make(map[string]int64, len(e.c.table.consumers))
	for id, consumer := range e.c.table.consumers {
		e.heartbeats[id] = consumer.Heartbeat
	}
}

// tryBeginEndCheck begins a check for the end, unless the leases show that it would fail.
func (c *Coordinator) tryBeginEndCheck() {
	if !c.isQuiet() {
		c.unreadReason = "records came a moment ago"
		return
	}
	c.flushIdle()
	c.unreadReason = c.newUnreadSearch(nil).unreadLeases()
	if c.unreadReason == "" && c.now >= c.nextEndCheck {
		c.beginEndCheck()
	}
}

// flushIdle drains the shards that have no more records or are stopped, so that the sinks write incomplete batches.
func (c *Coordinator) flushIdle() {
	for a := range c.allAssignments() {
		getsNoRecords := a.emptyPages.enoughForEnd() || a.stopReason != ""
		if getsNoRecords && !a.allAcked() && !a.inFlight.drainSent {
			a.inFlight.drainSent = true
			c.emit(Drain{a.name})
		}
	}
}

// beginEndCheck begins an endCheck. Only requests that are sent from now on count.
func (c *Coordinator) beginEndCheck() {
	c.endCheck = &endCheck{c: c, began: c.now}
	for a := range c.allAssignments() {
		if a.poll == pollScheduled {
			c.pollNow(a) // the check does not wait for the timer
		}
	}
	c.endCheck.list()
}

// list lists the streams, then reads the lease table.
func (e *endCheck) list() {
	if e.listings != nil {
		return
	}
	e.listings = make(map[string]*listing)
	e.listSource(0)
}

// isWanted reports whether e is still the running check.
func (e *endCheck) isWanted() bool { return e.c.endCheck == e && e.c.isRunning() }

// listSource lists the streams of a source and of the sources after it.
func (e *endCheck) listSource(sourceIndex int) {
	if sourceIndex == len(e.c.sources) {
		e.c.afterRefresh(func() {
			if e.isWanted() {
				e.streams, e.listedAt, e.listings = e.listings, e.c.now, nil
			}
		})
		return
	}
	e.c.findStreams(e.c.sources[sourceIndex], func(err error) {
		if err != nil {
			e.fail(err)
			return
		}
		e.listStream(sourceIndex, 0)
	})
}

// listStream lists the streams of a source from streamIndex on, and then the streams of the later sources.
func (e *endCheck) listStream(sourceIndex, streamIndex int) {
	if !e.isWanted() {
		return
	}
	streams := e.c.sources[sourceIndex].streams
	for streamIndex < len(streams) && streams[streamIndex].unlisted {
		streamIndex++
	}
	if streamIndex == len(streams) {
		e.listSource(sourceIndex + 1)
		return
	}
	arn := streams[streamIndex].arn
	e.c.list(arn, e.isWanted, func(l *listing, err error) {
		if err != nil {
			e.fail(err)
			return
		}
		e.listings[arn] = l
		e.listStream(sourceIndex, streamIndex+1)
	})
}

// fail ends the check, and begins another one later.
func (e *endCheck) fail(err error) {
	if e.c.endCheck == e {
		e.c.endCheck, e.c.nextEndCheck = nil, e.c.now+endRetry
		e.c.unreadReason = "a stream cannot be listed: " + redact.LogText(err)
	}
}
