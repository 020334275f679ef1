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

// phase is what this consumer does with a shard that is assigned to it. Only enter changes it.
//
//	phase         requests  next phase    when
//	(open)                  reading       the lease bears no stop; or that a gap was passed (on_gap: stop) or the shard was
//	                                      gone (on_gap: continue)
//	                        confirming    it stopped at a gap, or passed one (on_gap: continue): the gap is noted again, as
//	                                      its end may have changed
//	                        stopped       it stopped for another reason, and was not reset since
//	reading       yes       confirming    records were lost; or the first record is found and is to become durable; or
//	                                      the shard is not found
//	                        probing       the stream refuses the start position, and old records were not to be read
//	                        stopped       a record is below the shard's start
//	                        ended         the last page is delivered
//	probing       yes       reading       the oldest record left is older than the start: none is lost
//	                        confirming    it is not, or there is none: records were lost; or the shard is not found
//	                        stopped       as for reading
//	confirming    no        reading       the first record, or the extent of a gap, is durable
//	                        afterGap      a gap is durable (on_gap: continue)
//	                        stoppedAtGap  a gap is durable (on_gap: stop)
//	                        stopped       the extent of a gap is durable, or that the shard is gone (on_gap: stop)
//	                        ended         that the shard is gone is durable (on_gap: continue); or the page that ends a
//	                                      gap is also the last one
//	                        (the former)  a shard that was not found is listed
//	                        confirming    it is not listed: that it is gone is to become durable
//	afterGap      yes       confirming    the first record after the gap is found; or the shard is not found
//	                        reading       the shard ended, and nothing follows the gap; then ended
//	                        stopped       as for reading
//	stoppedAtGap  yes       confirming    as for afterGap; the record is not delivered
//	                        stopped       the shard ended, and nothing follows the gap; or as for reading
//	ended         no        stopped       a child starts at or below the last record
//	                        confirming    the shard is listed no more, and its children are not known
//	stopped       no
//	draining      no
//
// A shard that is not found, and whose descendants were read further, becomes ended at once. Each phase becomes draining
// when another consumer gets the lease or this one leaves, and each ends with close: when the lease is lost or released,
// or says that the shard is read to its end.
type phase uint8

const (
	reading      phase = iota // pages are requested and delivered
	probing                   // pages are requested from the oldest record left, to find whether the gap is one
	confirming                // a gap or the first record is being made durable, or a shard that is not found is listed
	afterGap                  // pages are requested from the oldest record left, and delivered: the first one ends the gap
	stoppedAtGap              // pages are requested from there to find that record, and not delivered
	stopped                   // the shard is read no further
	ended                     // the last page is delivered
	draining                  // the lease is handed over once the pipeline has finished
)

// requests reports whether pages are requested in a phase.
func (ph phase) requests() bool {
	return ph == reading || ph == probing || ph == afterGap || ph == stoppedAtGap
}

// enter changes the phase. Nothing but close follows draining.
func (a *assignment) enter(to phase) {
	if a.phase != draining {
		a.phase = to
	}
	if to == reading || to == stopped || to == ended {
		a.gap = nil
	}
}

// assignment is one shard while its lease is this consumer's, from open to close.
type assignment struct {
	name       string // of the partition
	row        *row
	phase      phase
	stopReason string      // why the shard is stopped; "": it is not
	gap        *record.Gap // in probing, afterGap and stoppedAtGap: the gap whose first record after it is unknown

	// Requests.
	poll          pollState
	iterator      string
	expectedBytes int64         // expected size of the next page, in bytes
	paused        bool          // the pipeline requested a pause
	failures      tries         // failed calls in a row
	notFoundCalls int           // those of them that say that there is no such shard
	readFailure   readFailure   // since when calls fail, and why
	lastResult    time.Duration // when the last page came; before the first one, when the shard was opened

	// How far the shard is read.
	pos        leases.Checkpoint // after the last record delivered
	posTime    time.Time         // creation time of that record, to the second; zero: unknown
	start      startState
	emptyPages emptyPages

	pages     pages
	durable   durable
	search    *childSearch // nil until the last page is delivered
	successor string       // in draining: consumer id of the successor; "": any
	load      load
	lag       lag
}

// pollState is what an assignment does about its next call of the stream.
type pollState uint8

const (
	idle    pollState = iota
	queued            // in Coordinator.callQueue
	waiting           // a timer will queue it
	calling           // a call is in flight
)

// startState is how reading began.
type startState struct {
	answered bool // a page came, with records or not
	refused  bool // the stream refused the start position: an unread shard begins at the oldest record left
	noTime   bool // the stream takes no time as a position, or may have dropped records of that time
	atLatest bool // reading began at LATEST: no record is too old
	reached  bool // a page had a record that is not too old
}

// emptyPages are the empty pages in a row.
type emptyPages struct {
	count  int
	record bool                    // a record was read before them
	sent   [endPages]time.Duration // when the requests of the last ones were sent, the oldest first; 0: fewer came
}

// reset forgets the pages; record reports whether a record ended them.
func (e *emptyPages) reset(record bool) { *e = emptyPages{record: record} }

// add notes an empty page; sent is when its request was sent.
func (e *emptyPages) add(sent time.Duration) {
	copy(e.sent[:], e.sent[1:])
	e.sent[endPages-1] = sent
}

// shardIsEmpty reports whether an empty page means that the shard has no record now: the first ones do not.
func (e *emptyPages) shardIsEmpty() bool { return e.record || e.count > eagerPages }

// enoughForEnd reports whether the last endPages pages in a row were empty.
func (e *emptyPages) enoughForEnd() bool { return e.sent[0] > 0 }

// pages are what the pipeline has of an assignment.
type pages struct {
	inFlight     []pageInFlight    // delivered and not acknowledged
	untakenSizes []int64           // bytes of each page of inFlight that the pipeline has not taken: the last ones
	records      int64             // number of records in inFlight
	untakenBytes int64             // bytes read that the pipeline has not taken, also of a page that waits for the lease
	lastPos      leases.Checkpoint // position of the last delivered page
	repeated     int               // pages in a row with lastPos as their position
	flushed      bool              // a Drain was sent after the last record
}

// pageInFlight is a page in flight in the pipeline.
type pageInFlight struct {
	pos        pipeline.Position
	checkpoint leases.Checkpoint // the lease's checkpoint once the page is acknowledged
	newest     time.Time         // creation time of its last record
	oldest     time.Time         // and of its first one
	records    int64
	end        bool // the last page of the shard
}

// endPosition is the position of a shard's last page.
const endPosition pipeline.Position = "END"

// open begins to read a shard from its checkpoint.
func (c *Coordinator) open(r *row) {
	if r.Ended() {
		panic("coordinator: the lease of an ended shard is opened")
	}
	c.openCount++
	a := &assignment{
		name:          fmt.Sprintf("%s~%d", r.Shard, c.openCount),
		row:           r,
		pos:           r.Checkpoint,
		posTime:       second(r.Time),
		expectedBytes: 1 << 20,
		lastResult:    c.now,
		durable:       durable{checkpoint: r.Checkpoint, time: second(r.Time), savedAt: c.now},
		load:          load{rate: r.Load, measured: c.now},
	}
	r.assignment = a
	c.assignments[a.name] = a
	c.resumeStop(a)
	c.queueCall(a)
}

// close forgets an assignment and drops its pages.
func (c *Coordinator) close(a *assignment) {
	c.addUntaken(a, -a.pages.untakenBytes)
	a.pages = pages{}
	a.row.assignment = nil
	a.row.fresh = false
	delete(c.assignments, a.name)
	c.emit(Forget{a.name})
}

// addUntaken adds to the bytes of an assignment that the pipeline has not taken.
func (c *Coordinator) addUntaken(a *assignment, bytes int64) {
	a.pages.untakenBytes += bytes
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
	untaken := a.pages.untakenBytes
	c.addUntaken(a, -untaken)
	a.paused = e.Paused
	c.addUntaken(a, untaken)
	c.queueCall(a)
}

// isOpen reports whether a is still the assignment of its shard.
func (a *assignment) isOpen() bool { return a.row.assignment == a }

// keepsLease reports whether a is still the assignment of its shard, and is not handed over.
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
	if a == nil || len(a.pages.untakenSizes) == 0 {
		return
	}
	c.addUntaken(a, -a.pages.untakenSizes[0])
	if a.pages.untakenSizes = a.pages.untakenSizes[1:]; len(a.pages.untakenSizes) == 0 {
		a.pages.untakenSizes = nil // most shards have no page in flight most of the time
	}
	c.queueCall(a)
}

// handle notes the position up to which the pipeline is finished.
func (e Acked) handle(c *Coordinator) {
	a := c.assignments[e.Partition]
	if a == nil {
		return
	}
	n := 1 + slices.IndexFunc(a.pages.inFlight, func(page pageInFlight) bool { return page.pos == e.Position })
	if n == 0 {
		return
	}
	for _, page := range a.pages.inFlight[:n] {
		a.pages.records -= page.records
		a.durable.checkpoint = page.checkpoint
		a.durable.time = cmp.Or(page.newest, a.durable.time)
		a.durable.shardEnd = a.durable.shardEnd || page.end
	}
	if a.pages.inFlight = a.pages.inFlight[n:]; len(a.pages.inFlight) == 0 {
		a.pages.inFlight = nil
	}
	c.save(a)
}

// dropUntaken removes the delivered pages that the pipeline did not take.
func (c *Coordinator) dropUntaken(a *assignment) {
	g := &a.pages
	if len(g.untakenSizes) == 0 {
		return
	}
	for _, n := range g.untakenSizes {
		c.addUntaken(a, -n)
	}
	kept := len(g.inFlight) - len(g.untakenSizes)
	for _, page := range g.inFlight[kept:] {
		g.records -= page.records
	}
	g.inFlight, g.untakenSizes = g.inFlight[:kept], nil
	if kept == 0 || !g.inFlight[kept-1].end {
		a.search = nil
	}
	c.emit(Drop{a.name})
}

// drained reports whether all delivered pages of an assignment are acknowledged.
func (a *assignment) drained() bool { return len(a.pages.inFlight) == 0 }
