package worker

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// assignment is one assignment of a shard to this consumer, from open to close.
type assignment struct {
	name string
	row  *row

	// The progress of reading.
	iterator     string
	pos          leases.Checkpoint       // after the last record delivered
	time         int64                   // creation time of that record, Unix seconds; 0: unknown
	opened       bool                    // an answer came, with records or not
	startRefused bool                    // the stream refused the start position: an unread shard begins at the oldest record left
	polling      bool                    // a call is in flight
	expect       int64                   // expected size of the next page, in bytes
	queued       bool                    // in Worker.ready
	waiting      bool                    // a timer will call want
	empties      int                     // empty pages in a row
	anything     bool                    // a record was read
	emptySent    [endPages]time.Duration // when the requests of the last empty pages in a row were sent, the oldest first; 0: fewer came
	attempt      int                     // failed calls in a row
	failing      failing                 // since when calls fail, and why
	answered     time.Duration           // when the last answer came; before the first one, when the shard was opened
	notFound     int                     // of the failed calls: those that say that there is no such shard
	paused       bool                    // the pipeline asked for no more of it
	untaken      int64                   // bytes read that the pipeline has not taken
	halted       string                  // why the shard is stopped; "": it is not
	stop         string                  // what Lease.Stopped becomes
	stopAt       leases.Checkpoint       // once this position is durable
	gap          *Gap                    // gap whose first record after it is unknown. A halted shard is read only to find that record
	undecided    bool                    // the gap is not one if all lost records are older than the start position
	confirming   bool                    // a gap or the first record is being made durable, or a listing is in flight: no reads until then
	atLatest     bool                    // reading began at LATEST: no record is too old
	started      bool                    // a page had a record that is not too old, or no record at all

	// What the pipeline has.
	inFlight []pageInFlight    // pages delivered and not acknowledged
	lastPos  leases.Checkpoint // of the last delivered page
	flushed  bool              // the pipeline was told to write its incomplete batches, as no record came since
	repeated int               // pages in a row that have lastPos too
	sizes    []int64           // bytes of the last of these pages, those that the pipeline has not taken
	held     int64             // bytes of a page that is delivered after the lease is written
	pending  int64             // records in marks
	ended    bool              // the last page is delivered

	// What is durable.
	acked     leases.Checkpoint
	ackedTime int64         // creation time of the last acknowledged record, Unix seconds
	endAcked  bool          // the last page is acknowledged
	savedAt   time.Duration // when the lease was last written
	saveTimer bool          // a timer will call save
	due       time.Duration // since when the lease lags behind acked; 0: it does not
	draining  bool          // it is read no further, and its lease is handed over once the pipeline has finished it
	successor string        // consumer id of the successor; "": any

	childSearch childSearch

	// Load and lag.
	bytes      int64 // read since measuredAt
	measuredAt time.Duration
	load       float64       // bytes a second, smoothed
	lastRecord time.Duration // when the last page with records came
	lag        time.Duration // age of the last record when it was read
	lagKnown   bool
	behindFrom time.Duration // since when it is behind; 0: it is not
}

// pageInFlight is a page in flight in the pipeline.
type pageInFlight struct {
	pos     pipeline.Position
	at      leases.Checkpoint // of the lease once the page is acknowledged
	time    int64             // creation time of its last record
	oldest  int64             // and of its first one
	records int64
	end     bool // it is the last page of the shard
}

// endPosition is the position of a shard's last page.
const endPosition pipeline.Position = "END"

// open begins to read a shard from its checkpoint.
func (w *Worker) open(r *row) {
	w.opened++
	p := &assignment{
		name:       fmt.Sprintf("%s~%d", r.Shard, w.opened),
		row:        r,
		pos:        r.Checkpoint,
		acked:      r.Checkpoint,
		expect:     1 << 20,
		savedAt:    w.now,
		measuredAt: w.now,
		load:       r.Load,
		answered:   w.now,
	}
	if !r.Time.IsZero() {
		p.time, p.ackedTime = r.Time.Unix(), r.Time.Unix()
	}
	r.assignment = p
	w.assignments[p.name] = p
	if r.Ended() {
		panic("worker: the lease of a shard that has ended is opened")
	}
	w.resumeStop(p)
	w.want(p)
}

// close forgets a partition and drops its pages.
func (w *Worker) close(p *assignment) {
	w.addUntaken(p, -p.untaken)
	p.sizes, p.inFlight, p.pending = nil, nil, 0
	p.row.assignment = nil
	w.forgetFailures(p)
	p.row.fresh = false
	delete(w.assignments, p.name)
	w.do(Forget{p.name})
}

// hold counts bytes of a page that is not delivered yet as untaken; 0 ends that.
func (w *Worker) hold(p *assignment, bytes int64) {
	w.addUntaken(p, bytes-p.held)
	p.held = bytes
}

// addUntaken adds to the bytes of a partition that the pipeline has not taken.
func (w *Worker) addUntaken(p *assignment, bytes int64) {
	p.untaken += bytes
	w.untaken += bytes
	if p.paused {
		w.pausedUntaken += bytes
	}
}

// pause pauses the reading of a partition, or resumes it. The pages that were read ahead wait, and use no room
// that other partitions could use.
func (w *Worker) pause(p *assignment, paused bool) {
	untaken := p.untaken
	w.addUntaken(p, -untaken)
	p.paused = paused
	w.addUntaken(p, untaken)
	w.want(p)
}

// current reports whether p is still the shard's partition.
func (p *assignment) current() bool { return p.row.assignment == p }

// isStopped reports whether a partition is stopped and not even read to find the end of a gap.
func (p *assignment) isStopped() bool { return p.halted != "" && p.gap == nil }

// halt stops a shard, logs why, and has the lease record it.
func (w *Worker) halt(p *assignment, why string, attrs ...slog.Attr) {
	p.gap, p.undecided = nil, false
	if p.halted == why {
		return
	}
	p.halted = why
	w.tell(slog.LevelError, why, append([]slog.Attr{shardAttr(p.row.Shard)}, attrs...)...)
	w.noteStop(p, why)
}

// taken notes that the pipeline took a page.
func (w *Worker) taken(e Taken) {
	p := w.assignments[e.Partition]
	if p == nil || len(p.sizes) == 0 {
		return
	}
	w.addUntaken(p, -p.sizes[0])
	if p.sizes = p.sizes[1:]; len(p.sizes) == 0 {
		p.sizes = nil // most shards have no page in flight most of the time
	}
	w.want(p)
}

// acked notes the position up to which the pipeline is finished.
func (w *Worker) acked(e Acked) {
	p := w.assignments[e.Partition]
	if p == nil {
		return
	}
	n := 0
	for i, m := range p.inFlight {
		if m.pos == e.Position {
			n = i + 1
			break
		}
	}
	if n == 0 {
		return
	}
	for _, m := range p.inFlight[:n] {
		p.pending -= m.records
		if m.time > 0 {
			p.ackedTime = m.time
		}
		p.acked = m.at
		p.endAcked = p.endAcked || m.end
	}
	if p.inFlight = p.inFlight[n:]; len(p.inFlight) == 0 {
		p.inFlight = nil
	}
	w.save(p)
}
