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
	// number of empty pages at the start of a shard that do not prove that the shard has no record
	minEmptyPages    = 20
	maxBackoff       = 20 * time.Second // longest backoff of a failing call
	minExpectedBytes = 16 << 10         // smallest expected size of the next page
	maxUntakenPages  = 2                // maximum number of pages of a shard that the pipeline has not taken
	// number of "not found" results in a row after which a listing decides whether the shard exists. Some servers list
	// a new shard before it can be read
	maxNotFoundCalls = 4
)

// queueCall queues an assignment for its next call, if the assignment may call now. dispatch makes the call once memory
// is free.
func (c *Coordinator) queueCall(a *assignment) {
	if a.poll != idle || !c.canCall(a) {
		return
	}
	a.poll = queued
	c.callQueue = append(c.callQueue, a)
}

func (c *Coordinator) canCall(a *assignment) bool {
	return a.isOpen() && a.phase.allowsRequests() && !a.paused && len(a.pages.untakenSizes) < maxUntakenPages
}

// queueCallIn calls queueCall after d.
func (c *Coordinator) queueCallIn(a *assignment, d time.Duration) {
	if a.poll != idle {
		return
	}
	a.poll = waiting
	c.startTimer(d, &timer{assignment: a})
}

// dispatch makes the queued calls that fit into Options.MaxCalls, Options.Prefetch and the budget, in the order of the
// queue. If the budget is used up, an assignment that is about to lose records comes first.
func (c *Coordinator) dispatch() {
	for len(c.callQueue) > 0 && c.streamCalls < c.o.MaxCalls && c.heartbeatFresh() {
		a := c.callQueue[0]
		switch {
		case !c.canCall(a):
			c.dequeue()
			continue
		case !c.hasRoom(a):
			return // the next taken page or completed call frees memory
		case a.iterator != "" && !c.takeCallToken(a):
			if c.moveEndangeredFirst() {
				continue
			}
			return
		}
		c.dequeue()
		if a.iterator == "" {
			c.requestIterator(a)
		} else {
			c.requestPage(a)
		}
	}
	if len(c.callQueue) == 0 {
		c.callQueue = nil
	}
}

func (c *Coordinator) dequeue() {
	c.callQueue[0].poll = idle
	c.callQueue = c.callQueue[1:]
}

// hasRoom reports whether the next page of an assignment fits into Options.Prefetch.
func (c *Coordinator) hasRoom(a *assignment) bool {
	busy := c.untakenBytes - c.pausedBytes + c.reservedBytes
	return busy <= 0 || busy+a.expectedBytes <= c.o.Prefetch
}

// requestIterator requests an iterator at the position from which reading continues.
func (c *Coordinator) requestIterator(a *assignment) {
	at := shardreader.ShardPosition{StreamARN: a.row.Stream, Shard: a.row.Shard}
	a.start.atLatest = a.start.atLatest && a.start.position == startAtOldest
	switch {
	case a.phase != reading:
		at.Type = shardreader.TrimHorizon
	case a.pos.Kind == leases.Sequence:
		at.Type, at.Sequence = shardreader.AfterSequence, a.pos.Sequence
	case a.start.position == startAtOldest:
		at.Type = shardreader.TrimHorizon
	case a.pos.Kind == leases.Latest && (a.row.fresh || a.row.From.IsZero()):
		at.Type, a.start.atLatest = shardreader.Latest, true
	case !a.row.From.IsZero() && a.start.position == startOfLease:
		// The time is one second earlier, because the records of one second are not ordered by their times.
		at.Type, at.Time = shardreader.AtTimestamp, a.row.From.Add(-time.Second)
	case a.row.First != "":
		// TRIM_HORIZON would start at the oldest record left, and hide the loss of older records.
		at.Type, at.Sequence = shardreader.AtSequence, a.row.First
	default:
		at.Type = shardreader.TrimHorizon
	}
	c.beginCall(a)
	c.emit(GetShardIterator{newCall(c, func(e GetShardIteratorResult) { c.handleIterator(a, at.Type, e) }), at})
}

// handleIterator handles the result of a request for an iterator of type kind.
func (c *Coordinator) handleIterator(a *assignment, kind shardreader.IteratorType, e GetShardIteratorResult) {
	if c.endCall(a); !a.isOpen() {
		return
	}
	if e.Err == nil && e.Iterator == "" {
		e.Err = pipeline.Transient(errNoIterator)
	}
	refused := e.Err != nil && isInvalid(e.Err)
	switch {
	case kind == shardreader.AtTimestamp && (refused || e.Err == nil && !c.streamHasStart(a, e.At)):
		// Either the stream may have dropped records of the start time: the iterator hides that, but the first sequence
		// number of the shard shows it. Or the server does not know iterators at a time, or refuses a time in the
		// future. Without the time, the records that were created before it are read and dropped.
		a.start.position = startWithoutTime
		c.queueCall(a)
	case kind == shardreader.TrimHorizon && e.Err == nil && a.phase == reading && !c.streamHasUnread(a, e.At):
		// The calls failed for so long that the stream may have dropped unread records. The iterator hides that.
		c.noteUnreadLost(a)
	case e.Err == nil:
		a.iterator = e.Iterator
		a.emptyPages.requestTimes = [endPages]time.Duration{} // a new iterator may return empty pages before records
		if a.start.atLatest {
			a.row.fresh = false // reading has begun: a second LATEST, after an expired iterator, would skip records
		}
		c.queueCall(a)
	case kind == shardreader.AtSequence && refused:
		// A trimmed stream refuses the first sequence number of the shard.
		a.start.position = startAtOldest
		c.queueCall(a)
	default:
		c.handleReadError(a, e.Err, e.At)
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
	c.budget.count(c)
	expected, sent := a.expectedBytes, max(1, c.now)
	c.emit(GetRecords{
		newCall(c, func(e GetRecordsResult) {
			c.reservedBytes -= expected
			c.handlePage(a, sent, e)
		}),
		shardreader.RecordsQuery{Iterator: a.iterator, StreamARN: a.row.Stream, Shard: a.row.Shard},
	})
}

// handlePage handles the result of a request for a page; sent is when the request was sent.
func (c *Coordinator) handlePage(a *assignment, sent time.Duration, e GetRecordsResult) {
	if c.endCall(a); !a.isOpen() || !a.phase.allowsRequests() {
		return
	}
	if e.Err != nil {
		c.handleReadError(a, e.Err, e.At)
		return
	}
	if a.failures > 0 {
		delete(c.logged, "read "+a.name)
	}
	a.failures, a.notFoundCalls, a.start.gotPage, a.lastResult = 0, 0, true, c.now
	c.noteReadSuccess(a)
	a.lag.setAge(e)
	c.receive(a, &receivedPage{e.Records, sent})
}

// beginCall and endCall count the calls of a shard in flight. A shard is opened again only after the calls of its
// former assignment have returned. Otherwise it could have more readers than the two that a stream allows.
func (c *Coordinator) beginCall(a *assignment) {
	a.poll = calling
	a.row.calls++
	c.streamCalls++
}

func (c *Coordinator) endCall(a *assignment) {
	a.poll = idle
	a.row.calls--
	c.streamCalls--
	if !a.isOpen() {
		c.tryOpen(a.row)
	}
}

// handleReadError handles a failed call; at is when it failed.
func (c *Coordinator) handleReadError(a *assignment, err error, at time.Time) {
	if !a.phase.allowsRequests() {
		return
	}
	if errors.Is(err, shardreader.ErrTrimmed) {
		a.iterator = ""
		c.handleTrimmed(a, at)
		return
	}
	c.noteReadFailure(a, err, at)
	switch {
	case errors.Is(err, shardreader.ErrExpiredIterator):
		a.iterator = ""
		if a.failures++; a.failures == 1 {
			c.queueCall(a)
			return
		}
		c.queueCallIn(a, c.backoff(int(a.failures), maxBackoff, 0))
		return
	case errors.Is(err, shardreader.ErrNotFound):
		a.iterator = ""
		if a.notFoundCalls++; a.notFoundCalls >= maxNotFoundCalls {
			c.checkMissing(a)
			return
		}
	}
	after, ok := pipeline.Retryable(err)
	if !ok {
		c.logOnce("read "+a.name, slog.LevelError, "a shard cannot be read and is tried again",
			shardAttr(a.row.Shard), errAttr(err))
	}
	c.queueCallIn(a, c.backoff(int(a.failures)+2, maxBackoff, after))
	a.failures++
}

// scheduleNextCall plans the next call after a page. After records it comes at once. After an empty page it comes after
// a pause, which grows with the number of empty pages.
func (c *Coordinator) scheduleNextCall(a *assignment, records int) {
	if records > 0 {
		a.emptyPages.reset(true)
		a.lag.noteRecords(c.now)
		c.queueCall(a)
		return
	}
	a.emptyPages.count++
	longest := c.o.MaxIdle
	if a.emptyPages.shardIsEmpty() {
		a.lag.behindSince = 0
	} else {
		longest = min(longest, 2*firstPause)
	}
	pause := longest
	if a.emptyPages.count < 16 {
		pause = min(longest, firstPause<<(a.emptyPages.count-1))
	}
	if c.endCheckWaits(a) {
		pause = min(pause, firstPause)
	}
	c.queueCallIn(a, c.jitter(pause))
}

// lag is how late the records of an assignment are read.
type lag struct {
	lastRecordsAt time.Duration // when the last page with records came
	age           time.Duration // age of the newest record of the last page, when the page was read
	ageKnown      bool          // age is known
	behindSince   time.Duration // since when records may be unread; 0 if all records are read
}

// setAge stores the age of the newest record of a page.
func (l *lag) setAge(e GetRecordsResult) {
	if e.Records.Page == nil || e.At.IsZero() {
		return
	}
	if t := lastTime(e.Records.Page); !t.IsZero() {
		l.age, l.ageKnown = max(0, e.At.Sub(t)), true
	}
}

// noteRecords notes a page with records.
func (l *lag) noteRecords(now time.Duration) {
	l.lastRecordsAt = now
	if l.behindSince == 0 {
		l.behindSince = max(1, now)
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
