package coordinator

import (
	"errors"
	"log/slog"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/leases"
)

const (
	firstPause = 50 * time.Millisecond // pause after the first empty page
	// number of empty pages at the start of a shard that do not prove yet that the shard has no record
	inconclusiveEmptyPages = 20
	maxBackoff             = 20 * time.Second // longest backoff of a failing call
	minExpectedBytes       = 16 << 10         // smallest expected size of the next page
	maxUntakenPages        = 2                // maximum number of pages of a shard that the pipeline has not taken
	// number of "not found" results in a row after which a listing decides whether the shard exists. Some servers list
	// a new shard before it can be read
	maxNotFoundCalls = 4
)

// queueCall queues an assignment for its next call, if the assignment may call now. dispatch makes the call once memory
// is free.
func (c *Coordinator) queueCall(a *assignment) {
	if a.poll != pollIdle || !c.canCall(a) {
		return
	}
	a.poll = pollQueued
	c.callQueue = append(c.callQueue, a)
}

// canCall reports whether an assignment may request an iterator or a page now.
func (c *Coordinator) canCall(a *assignment) bool {
	return a.isOpen() && a.phase.allowsRequests() && !a.paused && len(a.inFlight.untakenSizes) < maxUntakenPages
}

// queueCallIn calls queueCall after d.
func (c *Coordinator) queueCallIn(a *assignment, d time.Duration) {
	if a.poll != pollIdle {
		return
	}
	a.poll = pollScheduled
	c.after(d, func() { c.pollNow(a) })
}

// dispatch makes the queued calls that fit into Options.MaxCalls, Options.Prefetch and the budget, in the order of the
// queue. If the budget is used up, an assignment that is about to lose records comes first.
func (c *Coordinator) dispatch() {
	for len(c.callQueue) > 0 && c.streamCalls < c.options.MaxCalls && c.heartbeatFresh() {
		switch a := c.callQueue[0]; {
		case !c.canCall(a):
			c.dequeue()
		case !c.hasRoom(a):
			return // the next taken page or completed call frees memory
		case a.iterator == "":
			c.dequeue()
			c.requestIterator(a)
		case c.takeCallToken(a):
			c.dequeue()
			c.requestPage(a)
		default: // the budget is used up
			if hasEndangered := c.moveEndangeredFirst(); !hasEndangered {
				return
			}
		}
	}
}

// dequeue removes the first assignment of the call queue.
func (c *Coordinator) dequeue() {
	c.callQueue[0].poll = pollIdle
	c.callQueue = withoutFirst(c.callQueue, 1)
}

// hasRoom reports whether the next page of an assignment fits into Options.Prefetch.
func (c *Coordinator) hasRoom(a *assignment) bool {
	usedBytes := c.untakenBytes - c.pausedBytes + c.reservedBytes
	return usedBytes <= 0 || usedBytes+a.expectedBytes <= c.options.Prefetch
}

// requestIterator requests an iterator at the position from which reading continues.
func (c *Coordinator) requestIterator(a *assignment) {
	at := a.iteratorPosition()
	// If the stream refuses LATEST, reading that began at LATEST continues at the oldest record.
	continuesLatest := a.start.atLatest && a.start.position == startAtOldest
	a.start.atLatest = at.Type == shardreader.Latest || continuesLatest
	c.beginCall(a)
	c.emit(GetShardIterator{newCall(c, func(e GetShardIteratorResult) { c.handleIterator(a, at.Type, e) }), at})
}

// iteratorPosition returns the position from which reading continues.
func (a *assignment) iteratorPosition() shardreader.ShardPosition {
	r := a.row
	at := shardreader.ShardPosition{StreamARN: r.Stream, Shard: r.Shard, Type: shardreader.TrimHorizon}
	startsAtLatest := a.position.Kind == leases.Latest && (r.mayStartAtLatest || r.From.IsZero())
	startsAtTime := !r.From.IsZero() && a.start.position == startOfLease
	switch {
	case a.phase != reading: // the oldest record left is sought
	case a.position.Kind == leases.Sequence:
		at.Type, at.Sequence = shardreader.AfterSequence, a.position.Sequence
	case a.start.position == startAtOldest:
	case startsAtLatest:
		at.Type = shardreader.Latest
	case startsAtTime:
		// The time is one second earlier, because the records of one second are not ordered by their times.
		at.Type, at.Time = shardreader.AtTimestamp, r.From.Add(-time.Second)
	case r.First != "":
		// TRIM_HORIZON would start at the oldest record left, and hide the loss of older records.
		at.Type, at.Sequence = shardreader.AtSequence, r.First
	}
	return at
}

// handleIterator handles the result of a request for an iterator of type kind.
func (c *Coordinator) handleIterator(a *assignment, kind shardreader.IteratorType, e GetShardIteratorResult) {
	c.endCall(a)
	if !a.isOpen() {
		return
	}
	if e.Err == nil && e.Iterator == "" {
		e.Err = pipeline.Transient(errNoIterator)
	}
	if e.Err != nil {
		c.handleIteratorError(a, kind, e)
		return
	}
	switch {
	case kind == shardreader.AtTimestamp && !c.streamHasStart(a, e.WallTime):
		// The stream may have dropped records of the start time. The iterator hides that, but the first sequence number
		// of the shard shows it.
		a.start.position = startWithoutTime
		c.queueCall(a)
	case kind == shardreader.TrimHorizon && a.phase == reading && !c.streamHasUnread(a, e.WallTime):
		// The calls failed for so long that the stream may have dropped unread records. The iterator hides that.
		c.noteUnreadLost(a)
	default:
		c.useIterator(a, e.Iterator)
	}
}

// useIterator queues the call for the first page of a new iterator.
func (c *Coordinator) useIterator(a *assignment, iterator string) {
	a.iterator = iterator
	a.emptyPages.requestedAt = [emptyPagesAtEnd]time.Duration{} // a new iterator may return empty pages before records
	if a.start.atLatest {
		// Reading has begun: a second LATEST, after an expired iterator, would skip records.
		a.row.mayStartAtLatest = false
	}
	c.queueCall(a)
}

// handleIteratorError handles a failed request for an iterator of type kind. If the stream refuses the start position,
// reading starts at the next position.
func (c *Coordinator) handleIteratorError(a *assignment, kind shardreader.IteratorType, e GetShardIteratorResult) {
	refused := isInvalid(e.Err)
	switch {
	case refused && kind == shardreader.AtTimestamp:
		// The server does not know iterators at a time, or refuses a time in the future. Without the time, the records
		// that were created before it are read and dropped.
		a.start.position = startWithoutTime
		c.queueCall(a)
	case refused && kind == shardreader.AtSequence:
		// A trimmed stream refuses the first sequence number of the shard.
		a.start.position = startAtOldest
		c.queueCall(a)
	default:
		c.handleReadError(a, e.Err, e.WallTime)
	}
}

var errNoIterator = errs.New("the answer holds no iterator")

// isInvalid reports whether err means that the stream refuses a position as invalid: err has no kind and is not
// transient.
func isInvalid(err error) bool {
	return !transient(err) && !errors.Is(err, shardreader.ErrTrimmed) && !errors.Is(err, shardreader.ErrNotFound) &&
		!errors.Is(err, shardreader.ErrDenied)
}

// requestPage requests the next page.
func (c *Coordinator) requestPage(a *assignment) {
	c.beginCall(a)
	c.reservedBytes += a.expectedBytes
	c.budget.countCall(c.now)
	reserved, sent := a.expectedBytes, c.now
	c.emit(GetRecords{
		newCall(c, func(e GetRecordsResult) {
			c.reservedBytes -= reserved
			c.handlePage(a, sent, e)
		}),
		shardreader.RecordsQuery{Iterator: a.iterator, StreamARN: a.row.Stream, Shard: a.row.Shard},
	})
}

// handlePage handles the result of a request for a page; sent is when the request was sent.
func (c *Coordinator) handlePage(a *assignment, sent time.Duration, e GetRecordsResult) {
	c.endCall(a)
	if !a.isOpen() || !a.phase.allowsRequests() {
		return
	}
	if e.Err != nil {
		c.handleReadError(a, e.Err, e.WallTime)
		return
	}
	if a.failedCalls > 0 {
		delete(c.logged, "read "+a.name)
	}
	a.failedCalls, a.notFoundCalls = 0, 0
	a.start.gotPage, a.lastPageAt = true, c.now
	c.noteReadSuccess(a)
	a.lag.setAge(e)
	c.receive(a, &receivedPage{e.Records, sent})
}

// beginCall counts a call of an assignment as in flight. A shard is opened again only after the calls of its former
// assignment have returned. Otherwise the shard could have more readers than the two that a stream allows.
func (c *Coordinator) beginCall(a *assignment) {
	a.poll = pollInFlight
	a.row.callsInFlight++
	c.streamCalls++
}

// endCall counts a call of an assignment as returned. If the assignment was closed meanwhile, endCall tries to open the
// shard again.
func (c *Coordinator) endCall(a *assignment) {
	a.poll = pollIdle
	a.row.callsInFlight--
	c.streamCalls--
	if !a.isOpen() {
		c.tryOpen(a.row)
	}
}

// handleReadError handles a failed call. wallTime is as in GetRecordsResult.
func (c *Coordinator) handleReadError(a *assignment, err error, wallTime time.Time) {
	if !a.phase.allowsRequests() {
		return
	}
	if errors.Is(err, shardreader.ErrTrimmed) {
		a.iterator = ""
		c.handleTrimmed(a, wallTime)
		return
	}
	c.noteReadFailure(a, err, wallTime)
	isExpired, isNotFound := errors.Is(err, shardreader.ErrExpiredIterator), errors.Is(err, shardreader.ErrNotFound)
	if isExpired || isNotFound {
		a.iterator = ""
	}
	if isNotFound {
		a.notFoundCalls++
	}
	switch {
	case isExpired:
		c.renewIterator(a)
	case isNotFound && a.notFoundCalls >= maxNotFoundCalls:
		c.checkMissing(a)
	default:
		c.retryRead(a, err)
	}
}

// renewIterator queues the call for another iterator: at once, unless calls failed before.
func (c *Coordinator) renewIterator(a *assignment) {
	a.failedCalls++
	if a.failedCalls == 1 {
		c.queueCall(a)
	} else {
		c.queueCallIn(a, c.backoff(int(a.failedCalls), maxBackoff, 0))
	}
}

// retryRead queues the failed call again, after a backoff.
func (c *Coordinator) retryRead(a *assignment, err error) {
	requestedWait, isTransient := pipeline.Retryable(err)
	if !isTransient {
		c.logOnce("read "+a.name, slog.LevelError, "a shard cannot be read and is tried again",
			shardAttr(a.row.Shard), errAttr(err))
	}
	c.queueCallIn(a, c.backoff(int(a.failedCalls)+2, maxBackoff, requestedWait))
	a.failedCalls++
}

// pollAfterRecords queues the next call at once, after a page with records.
func (c *Coordinator) pollAfterRecords(a *assignment) {
	a.emptyPages.reset(true)
	a.lag.noteRecords(c.now)
	c.queueCall(a)
}

// pollAfterEmptyPage plans the next call after an empty page; sent is when the page was requested. The call comes after
// a pause, which grows with the number of empty pages in a row.
func (c *Coordinator) pollAfterEmptyPage(a *assignment, sent time.Duration) {
	a.emptyPages.add(sent)
	if a.emptyPages.shardIsEmpty() {
		a.lag.behindSince = 0
	}
	c.queueCallIn(a, c.jitter(c.pauseAfterEmptyPage(a)))
}

// pauseAfterEmptyPage returns the longest pause before the next call after an empty page.
func (c *Coordinator) pauseAfterEmptyPage(a *assignment) time.Duration {
	pause := c.options.MaxIdle
	if n := a.emptyPages.count; n < 16 {
		pause = min(pause, firstPause<<(n-1)) // doubles with each empty page
	}
	if !a.emptyPages.shardIsEmpty() {
		pause = min(pause, 2*firstPause)
	}
	if c.endCheckWaits(a) {
		pause = min(pause, firstPause)
	}
	return pause
}

// lag is how late the records of an assignment are read.
type lag struct {
	lastRecordsAt time.Duration // when the last page with records came
	age           time.Duration // age of the newest record read, at the time when its page came
	ageKnown      bool          // age is known
	behindSince   time.Duration // since when records may be unread; 0 if all records are read
}

// setAge stores the age of the newest record of a page, if it is known.
func (l *lag) setAge(e GetRecordsResult) {
	if e.Records.Page == nil || e.WallTime.IsZero() {
		return
	}
	if newest := lastTime(e.Records.Page); !newest.IsZero() {
		l.age, l.ageKnown = max(0, e.WallTime.Sub(newest)), true
	}
}

// noteRecords notes a page with records.
func (l *lag) noteRecords(now time.Duration) {
	l.lastRecordsAt = now
	if l.behindSince == 0 {
		l.behindSince = now
	}
}

// delay returns the age of the records that are read now. If the age is unknown, delay returns the time for which
// records may have been unread.
func (l *lag) delay(now time.Duration) time.Duration {
	switch {
	case l.behindSince == 0:
		return 0
	case l.ageKnown:
		return l.age + now - l.lastRecordsAt
	}
	return now - l.behindSince
}
