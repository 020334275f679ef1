package coordinator

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// phase is what this consumer does with a shard that is assigned to it. Only the method enter changes it. In the table,
// the column requests says whether pages are requested in the phase. (open) is the start of the assignment, and
// (previous) is the phase before suspended.
//
//	phase         requests  next phase    when
//	(open)                  reading       Lease.Stopped is empty, or holds no longer, because on_gap was changed
//	                                      since: PassedGap (on_gap: stop), StoppedGone (on_gap: continue)
//	                        suspended     Lease.Stopped is StoppedAtGap, or PassedGap (on_gap: continue): the gap is
//	                                      noted again, because its end may have changed
//	                        stopped       Lease.Stopped is another reason, and no operator has reset it
//	reading       yes       suspended     records were lost; or the first record is found, and its sequence number is
//	                                      made durable; or the shard is not found
//	                        probing       the start of the shard may be dropped: the stream refuses the start position
//	                                      and reading starts at a time, or calls failed for too long
//	                        stopped       a record is below the shard's start
//	                        ended         the last page is delivered
//	probing       yes       reading       the oldest record left is older than the start: no record is lost
//	                        suspended     all records left are younger than the start: records were lost; or the shard
//	                                      is not found
//	                        stopped       a record is below the shard's start
//	suspended     no        reading       the first sequence number, or the extent of a gap, is durable
//	                        afterGap      a gap is durable (on_gap: continue)
//	                        stoppedAtGap  a gap is durable (on_gap: stop)
//	                        stopped       the extent of a gap, or the loss of the shard, is durable (on_gap: stop)
//	                        ended         the loss of the shard is durable (on_gap: continue); or the page that ends a
//	                                      gap is also the last page
//	                        (previous)    a listing has the shard that was not found, or the listing failed
//	                        suspended     a listing lacks the shard that was not found: its loss is made durable
//	afterGap      yes       suspended     the first record after the gap is found; or the shard is not found
//	                        reading       the shard ended, and no record follows the gap; then ended
//	                        stopped       a record is below the shard's start
//	stoppedAtGap  yes       suspended     the first record after the gap is found, and is not delivered; or the shard
//	                                      is not found
//	                        stopped       the shard ended, and no record follows the gap; or a record is below the
//	                                      shard's start
//	ended         no        stopped       a child starts at or below the last record
//	                        suspended     the shard is no longer listed, and its children are unknown
//	stopped       no
//	draining      no
//
// If a shard is not found, and a descendant of it was read, the shard becomes ended at once. Any phase becomes draining
// when another consumer requests the lease, when it is pinned to another consumer, or when this consumer leaves. A
// draining shard that had ended is released without SHARD_END, so the next owner reads its end again. closeAssignment
// ends any phase: the lease is lost or released, or has the checkpoint SHARD_END.
type phase uint8

const (
	reading phase = iota // pages are requested and delivered
	probing              // pages are requested from the oldest record left, to find whether records are lost
	// a gap, or the first sequence number, is being made durable; or a listing looks for a shard that was not found
	suspended
	// pages are requested from the oldest record left, and delivered: the first record ends the gap
	afterGap
	stoppedAtGap // like afterGap, but the pages are not delivered
	stopped      // the shard is read no further
	ended        // the last page is delivered
	draining     // the lease is handed over once the pipeline has finished
)

// allowsRequests reports whether pages are requested in a phase.
func (ph phase) allowsRequests() bool {
	return ph == reading || ph == probing || ph == afterGap || ph == stoppedAtGap
}

// enter changes the phase. A draining assignment keeps its phase until closeAssignment.
func (a *assignment) enter(to phase) {
	if a.phase == draining {
		return
	}
	a.phase = to
	if to == reading || to == stopped || to == ended {
		a.gap = nil
	}
}

// assignment is one shard while this consumer owns its lease, from openAssignment to closeAssignment.
type assignment struct {
	name       string // name of the partition
	row        *row
	phase      phase
	stopReason string      // why the shard is stopped; "" if it is not
	gap        *record.Gap // gap whose end is sought; nil in the phases reading, stopped and ended

	// Requests.
	poll          pollState
	iterator      string
	expectedBytes int64         // expected size of the next page, in bytes
	paused        bool          // the pipeline requested a pause
	failedCalls   tries         // failed calls in a row
	notFoundCalls int           // calls in a row that did not find the shard
	readFailure   readFailure   // since when calls fail, and why
	lastPageAt    time.Duration // when the last page came; before the first page, when the shard was opened

	// How far the shard is read.
	position     leases.Checkpoint // position after the last record delivered
	positionTime time.Time         // creation time of the last record delivered, to the second; zero: unknown
	start        startState
	emptyPages   emptyPages

	inFlight    pagesInFlight
	acked       ackedPosition
	childSearch *childSearch // search for the shard's children; nil until the last page is delivered
	successor   string       // in draining: consumer id of the successor; "" if any consumer may take the lease
	load        load
	lag         lag
}

// pollState is what an assignment does about its next call of the stream.
type pollState uint8

const (
	pollIdle      pollState = iota
	pollQueued              // in Coordinator.callQueue
	pollScheduled           // a timer will queue it
	pollInFlight            // a call is in flight
)

// startState describes how the reading of a shard began.
type startState struct {
	position startPosition
	atLatest bool // reading began at LATEST: no record is dropped as too old
	gotPage  bool // a page was received, with records or not
	reached  bool // a page had a record of the start time or later
}

// startPosition is the position at which the reading of a shard starts, if no record of the shard was read before. If
// the stream refuses a position, the reading starts at the next position of this list.
type startPosition uint8

const (
	startOfLease     startPosition = iota // the start that the lease has: LATEST, a time or the first sequence number
	startWithoutTime                      // the first sequence number: the time is refused, or may hide lost records
	startAtOldest                         // the oldest record left
)

// emptyPages describes the empty pages that came in a row, with no record between them.
type emptyPages struct {
	count       int
	afterRecord bool // a record was read before the empty pages
	// requestedAt has the times at which the last emptyPagesAtEnd empty pages were requested, the oldest first. The first
	// time is 0 if there were fewer empty pages
	requestedAt [emptyPagesAtEnd]time.Duration
}

// reset forgets the empty pages. afterRecord reports whether a record was read.
func (e *emptyPages) reset(afterRecord bool) { *e = emptyPages{afterRecord: afterRecord} }

// add notes an empty page; sent is when its request was sent.
func (e *emptyPages) add(sent time.Duration) {
	e.count++
	copy(e.requestedAt[:], e.requestedAt[1:])
	e.requestedAt[emptyPagesAtEnd-1] = sent
}

// shardIsEmpty reports whether the empty pages mean that the shard has no record now. Before the first record,
// inconclusiveEmptyPages empty pages in a row do not mean that yet.
func (e *emptyPages) shardIsEmpty() bool { return e.afterRecord || e.count > inconclusiveEmptyPages }

// enoughForEnd reports whether the last emptyPagesAtEnd pages in a row were empty.
func (e *emptyPages) enoughForEnd() bool { return e.requestedAt[0] > 0 }

// provesEnd reports whether the last pages were empty because the shard has no unread record now.
func (e *emptyPages) provesEnd() bool { return e.enoughForEnd() && e.shardIsEmpty() }

// pagesInFlight has the pages of an assignment that are delivered and not acknowledged.
type pagesInFlight struct {
	pages        []pageInFlight
	untakenSizes []int64           // sizes in bytes of the last pages, which the pipeline has not taken
	recordCount  int64             // number of records in these pages
	untakenBytes int64             // bytes that the pipeline has not taken; includes a page that waits for saveFirst
	lastPosition leases.Checkpoint // position of the last delivered page
	repeatCount  int               // number of pages in a row that repeat lastPosition
	drainSent    bool              // a Drain was sent after the last record
}

// pageInFlight is a page in flight in the pipeline.
type pageInFlight struct {
	position    pipeline.Position
	checkpoint  leases.Checkpoint // the lease's checkpoint once the page is acknowledged
	newestTime  time.Time         // creation time of the last record
	oldestTime  time.Time         // creation time of the first record
	recordCount int64
	isLast      bool // this is the last page of the shard
}

// endPosition is the position of a shard's last page.
const endPosition pipeline.Position = "END"

// openAssignment begins to read a shard from its checkpoint.
func (c *Coordinator) openAssignment(r *row) {
	if r.Ended() {
		panic("coordinator: the lease of an ended shard is opened")
	}
	c.openCount++
	a := &assignment{
		name:          fmt.Sprintf("%s~%d", r.Shard, c.openCount),
		row:           r,
		position:      r.Checkpoint,
		positionTime:  second(r.Time),
		expectedBytes: 1 << 20,
		lastPageAt:    c.now,
		acked:         ackedPosition{checkpoint: r.Checkpoint, time: second(r.Time), savedAt: c.now},
		load:          load{rate: r.Load, measuredAt: c.now},
	}
	r.assignment = a
	c.assignments[a.name] = a
	c.resumeStop(a)
	c.queueCall(a)
}

// closeAssignment forgets an assignment and drops its pages.
func (c *Coordinator) closeAssignment(a *assignment) {
	c.addUntaken(a, -a.inFlight.untakenBytes)
	a.inFlight = pagesInFlight{}
	a.row.assignment = nil
	a.row.mayStartAtLatest = false
	delete(c.assignments, a.name)
	c.emit(Forget{a.name})
}

// addUntaken changes the number of bytes of an assignment that the pipeline has not taken. bytes may be negative.
func (c *Coordinator) addUntaken(a *assignment, bytes int64) {
	a.inFlight.untakenBytes += bytes
	c.untakenBytes += bytes
	if a.paused {
		c.pausedBytes += bytes
	}
}

// handle pauses the reading of an assignment, or resumes it. The pages of a paused assignment that were read ahead do
// not count against Options.Prefetch.
func (e Paused) handle(c *Coordinator) {
	a := c.assignments[e.Partition]
	if a == nil {
		return
	}
	switch {
	case e.Paused && !a.paused:
		c.pausedBytes += a.inFlight.untakenBytes
	case a.paused && !e.Paused:
		c.pausedBytes -= a.inFlight.untakenBytes
	}
	a.paused = e.Paused
	c.queueCall(a)
}

// isOpen reports whether a is still the assignment of its shard.
func (a *assignment) isOpen() bool { return a.row.assignment == a }

// keepsLease reports whether a is still the assignment of its shard, and is not being handed over.
func (a *assignment) keepsLease() bool { return a.isOpen() && a.phase != draining }

// stopShard stops a shard.
func (c *Coordinator) stopShard(a *assignment, why string, attrs ...slog.Attr) {
	a.enter(stopped)
	c.logStop(a, why, attrs...)
}

// logStop logs why a shard is stopped, and writes it into the lease.
func (c *Coordinator) logStop(a *assignment, why string, attrs ...slog.Attr) {
	if a.stopReason == why {
		return
	}
	a.stopReason = why
	c.log(slog.LevelError, why, append([]slog.Attr{shardAttr(a.row.Shard)}, attrs...)...)
	c.saveStop(a, why)
}

// handle notes that the pipeline took a page.
func (e PageTaken) handle(c *Coordinator) {
	a := c.assignments[e.Partition]
	if a == nil || len(a.inFlight.untakenSizes) == 0 {
		return
	}
	c.addUntaken(a, -a.inFlight.untakenSizes[0])
	a.inFlight.untakenSizes = withoutFirst(a.inFlight.untakenSizes, 1)
	c.queueCall(a)
}

// handle notes the position up to which the pipeline has acknowledged a partition.
func (e Acked) handle(c *Coordinator) {
	a := c.assignments[e.Partition]
	if a == nil {
		return
	}
	p := &a.inFlight
	last := slices.IndexFunc(p.pages, func(page pageInFlight) bool { return page.position == e.Position })
	if last < 0 {
		return
	}
	for _, page := range p.pages[:last+1] {
		p.recordCount -= page.recordCount
		a.acked.checkpoint = page.checkpoint
		a.acked.time = cmp.Or(page.newestTime, a.acked.time)
		a.acked.shardEnd = a.acked.shardEnd || page.isLast
	}
	p.pages = withoutFirst(p.pages, last+1)
	c.save(a)
}

// withoutFirst returns a queue without its first n elements. An empty result is nil, because most of the many queues
// are empty most of the time.
func withoutFirst[E any](queue []E, n int) []E {
	if n == len(queue) {
		return nil
	}
	return queue[n:]
}

// dropUntaken removes the delivered pages that the pipeline did not take.
func (c *Coordinator) dropUntaken(a *assignment) {
	p := &a.inFlight
	if len(p.untakenSizes) == 0 {
		return
	}
	for _, size := range p.untakenSizes {
		c.addUntaken(a, -size)
	}
	takenCount := len(p.pages) - len(p.untakenSizes)
	for _, page := range p.pages[takenCount:] {
		p.recordCount -= page.recordCount
	}
	p.pages, p.untakenSizes = p.pages[:takenCount], nil

	lastPageTaken := takenCount > 0 && p.pages[takenCount-1].isLast
	if !lastPageTaken {
		a.childSearch = nil // the next owner reads the last page, and searches for the children
	}
	c.emit(Drop{a.name})
}

// allAcked reports whether all delivered pages of an assignment are acknowledged.
func (a *assignment) allAcked() bool { return len(a.inFlight.pages) == 0 }
