package worker

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
func (p *assignment) enter(to phase) {
	if p.phase != draining {
		p.phase = to
	}
	if to == reading || to == stopped || to == ended {
		p.gap = nil
	}
}

// assignment is one shard while its lease is this consumer's, from open to close.
type assignment struct {
	name  string // of the partition
	row   *row
	phase phase
	why   string      // why the shard is stopped; "": it is not
	gap   *record.Gap // in probing, afterGap and stoppedAtGap: the gap whose first record after it is unknown

	// Requests.
	poll     pollState
	iterator string
	expect   int64         // expected size of the next page, in bytes
	paused   bool          // the pipeline requested a pause
	attempt  tries         // failed calls in a row
	notFound int           // those of them that say that there is no such shard
	failing  failing       // since when calls fail, and why
	answered time.Duration // when the last answer came; before the first one, when the shard was opened

	// How far the shard is read.
	pos   leases.Checkpoint // after the last record delivered
	time  time.Time         // creation time of that record, to the second; zero: unknown
	start startState
	empty emptyPages

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
	queued            // in Worker.ready
	waiting           // a timer will queue it
	calling           // a call is in flight
)

// startState is how reading began.
type startState struct {
	opened   bool // an answer came, with records or not
	refused  bool // the stream refused the start position: an unread shard begins at the oldest record left
	atLatest bool // reading began at LATEST: no record is too old
	reached  bool // a page had a record that is not too old, or no record at all
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

// meanEmpty reports whether an empty page means that the shard has no record now: the first ones do not.
func (e *emptyPages) meanEmpty() bool { return e.record || e.count > eagerPages }

// enough reports whether the last endPages pages in a row were empty.
func (e *emptyPages) enough() bool { return e.sent[0] > 0 }

// pages are what the pipeline has of an assignment.
type pages struct {
	inFlight []pageInFlight    // delivered and not acknowledged
	sizes    []int64           // bytes of the last of these, those that the pipeline has not taken
	records  int64             // in inFlight
	untaken  int64             // bytes read that the pipeline has not taken, also of a page that waits for the lease
	last     leases.Checkpoint // of the last delivered page
	repeated int               // pages in a row that have last too
	flushed  bool              // the pipeline was told to write its incomplete batches, as no record came since
}

// pageInFlight is a page in flight in the pipeline.
type pageInFlight struct {
	pos     pipeline.Position
	at      leases.Checkpoint // of the lease once the page is acknowledged
	time    time.Time         // creation time of its last record
	oldest  time.Time         // and of its first one
	records int64
	end     bool // it is the last page of the shard
}

// endPosition is the position of a shard's last page.
const endPosition pipeline.Position = "END"

// open begins to read a shard from its checkpoint.
func (w *Worker) open(r *row) {
	if r.Ended() {
		panic("worker: the lease of a shard that has ended is opened")
	}
	w.opened++
	p := &assignment{
		name:     fmt.Sprintf("%s~%d", r.Shard, w.opened),
		row:      r,
		pos:      r.Checkpoint,
		time:     second(r.Time),
		expect:   1 << 20,
		answered: w.now,
		durable:  durable{at: r.Checkpoint, time: second(r.Time), saved: w.now},
		load:     load{rate: r.Load, measured: w.now},
	}
	r.assignment = p
	w.assignments[p.name] = p
	w.resumeStop(p)
	w.want(p)
}

// close forgets an assignment and drops its pages.
func (w *Worker) close(p *assignment) {
	w.addUntaken(p, -p.pages.untaken)
	p.pages = pages{}
	p.row.assignment = nil
	p.row.fresh = false
	delete(w.assignments, p.name)
	w.do(Forget{p.name})
}

// addUntaken adds to the bytes of an assignment that the pipeline has not taken.
func (w *Worker) addUntaken(p *assignment, bytes int64) {
	p.pages.untaken += bytes
	w.untaken += bytes
	if p.paused {
		w.pausedUntaken += bytes
	}
}

// handle pauses the reading of an assignment, or resumes it. The pages of a paused assignment that were read ahead do
// not count against Options.Prefetch.
func (e Paused) handle(w *Worker) {
	p := w.assignments[e.Partition]
	if p == nil {
		return
	}
	untaken := p.pages.untaken
	w.addUntaken(p, -untaken)
	p.paused = e.Paused
	w.addUntaken(p, untaken)
	w.want(p)
}

// current reports whether p is still the shard's assignment.
func (p *assignment) current() bool { return p.row.assignment == p }

// stays reports whether p is still the shard's assignment, and is not handed over.
func (p *assignment) stays() bool { return p.current() && p.phase != draining }

// halt stops a shard.
func (w *Worker) halt(p *assignment, why string, attrs ...slog.Attr) {
	p.enter(stopped)
	w.tellStop(p, why, attrs...)
}

// tellStop logs why a shard is stopped, and writes it into the lease.
func (w *Worker) tellStop(p *assignment, why string, attrs ...slog.Attr) {
	if p.why == why {
		return
	}
	p.why = why
	w.tell(slog.LevelError, why, append([]slog.Attr{shardAttr(p.row.Shard)}, attrs...)...)
	w.noteStop(p, why)
}

// handle notes that the pipeline took a page.
func (e Taken) handle(w *Worker) {
	p := w.assignments[e.Partition]
	if p == nil || len(p.pages.sizes) == 0 {
		return
	}
	w.addUntaken(p, -p.pages.sizes[0])
	if p.pages.sizes = p.pages.sizes[1:]; len(p.pages.sizes) == 0 {
		p.pages.sizes = nil // most shards have no page in flight most of the time
	}
	w.want(p)
}

// handle notes the position up to which the pipeline is finished.
func (e Acked) handle(w *Worker) {
	p := w.assignments[e.Partition]
	if p == nil {
		return
	}
	n := 1 + slices.IndexFunc(p.pages.inFlight, func(page pageInFlight) bool { return page.pos == e.Position })
	if n == 0 {
		return
	}
	for _, page := range p.pages.inFlight[:n] {
		p.pages.records -= page.records
		p.durable.at = page.at
		p.durable.time = cmp.Or(page.time, p.durable.time)
		p.durable.end = p.durable.end || page.end
	}
	if p.pages.inFlight = p.pages.inFlight[n:]; len(p.pages.inFlight) == 0 {
		p.pages.inFlight = nil
	}
	w.save(p)
}

// drop takes back the pages that the pipeline did not take.
func (w *Worker) drop(p *assignment) {
	g := &p.pages
	if len(g.sizes) == 0 {
		return
	}
	for _, n := range g.sizes {
		w.addUntaken(p, -n)
	}
	kept := len(g.inFlight) - len(g.sizes)
	for _, page := range g.inFlight[kept:] {
		g.records -= page.records
	}
	g.inFlight, g.sizes = g.inFlight[:kept], nil
	if kept == 0 || !g.inFlight[kept-1].end {
		p.search = nil
	}
	w.do(Drop{p.name})
}

// drained reports whether the pipeline has nothing more of an assignment.
func (p *assignment) drained() bool { return len(p.pages.inFlight) == 0 }
