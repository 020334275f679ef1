package worker

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// part is one incarnation of a lease of this worker: a shard that it reads.
type part struct {
	name string
	row  *row

	// Where reading stands.
	iterator string
	pos      leases.Checkpoint        // behind the last record delivered
	time     int64                    // creation time of that record, Unix seconds; 0 where none is known
	opened   bool                     // a page was had
	plain    bool                     // while nothing is read, reading begins at the oldest record that is left: the server refuses the position
	polling  bool                     // a call is under way
	expect   int64                    // bytes that a page is expected to bring
	queued   bool                     // in Worker.ready
	waiting  bool                     // a timer will want it
	empties  int                      // empty pages in a row
	anything bool                     // a record was read
	calm     [calmPages]time.Duration // when the calls of the last empty pages in a row were sent, the oldest first; 0: fewer came
	attempt  int                      // failures in a row
	failing  failing                  // of them
	answered time.Duration            // when a whole answer last came; before the first, when it was opened
	notFound int                      // of which say that there is no such shard
	paused   bool
	untaken  int64             // bytes delivered, or about to be, and not taken
	halted   string            // why it is read no further; "" while it is
	stop     string            // what the lease is to bear of that,
	stopAt   leases.Checkpoint // at this checkpoint
	gap      *Gap              // that is to be completed with the first record behind it; of a halted shard that one is looked at only
	maybe    bool              // that gap is none if what was lost is older than what reading starts at
	noting   bool              // that gap is not durable yet
	newest   bool              // reading began at the newest record, with nothing to pass over
	started  bool              // a record was read that was not passed over for its age

	// What the pipeline has.
	marks    []mark            // delivered and not acknowledged
	lastPos  leases.Checkpoint // of the page delivered last
	flushed  bool              // what waits for more of it is to be written, as nothing more came
	repeated int               // pages since that have the same
	sizes    []int64           // bytes of the last of these pages, which were not taken yet
	held     int64             // bytes of a page that waits for the lease to be written before it is delivered
	pending  int64             // records of marks
	ended    bool              // the last page is delivered

	// What is durable.
	acked     leases.Checkpoint
	ackedTime int64
	endAcked  bool // the last page is acknowledged
	savedAt   time.Duration
	saveTimer bool
	due       time.Duration // since when what is durable differs from what its lease says; 0 while it does not
	draining  bool
	heir      string

	family family

	// Load, in bytes since the last time it was measured.
	bytes      int64
	measuredAt time.Duration
	load       float64
	lastRecord time.Duration
	lag        time.Duration // how old the last record was when it was read
	lagKnown   bool
	behindFrom time.Duration // since when it is behind; 0 while it is not
}

// mark is a page on its way through the pipeline.
type mark struct {
	pos     pipeline.Position
	at      leases.Checkpoint
	time    int64 // of its last record
	oldest  int64 // of its first
	records int64
	end     bool
}

// endPosition is the position of a shard's last page.
const endPosition pipeline.Position = "END"

// open begins to read a shard from its checkpoint.
func (w *Worker) open(r *row) {
	w.opened++
	p := &part{
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
	r.part = p
	w.parts[p.name] = p
	if r.Ended() {
		panic("worker: the lease of a shard that has ended is opened")
	}
	w.resumeStop(p)
	w.want(p)
}

// close ends a partition, for whatever reason.
func (w *Worker) close(p *part) {
	w.addUntaken(p, -p.untaken)
	p.sizes, p.marks, p.pending = nil, nil, 0
	p.row.part = nil
	w.readsWork(p)
	p.row.fresh = false
	delete(w.parts, p.name)
	w.do(Forget{p.name})
}

// hold counts a page that is not delivered yet among those that were not taken; 0 ends that.
func (w *Worker) hold(p *part, bytes int64) {
	w.addUntaken(p, bytes-p.held)
	p.held = bytes
}

// addUntaken counts bytes of a partition that the pipeline has not taken.
func (w *Worker) addUntaken(p *part, bytes int64) {
	p.untaken += bytes
	w.untaken += bytes
	if p.paused {
		w.pausedUntaken += bytes
	}
}

// pause reads no more of a partition, or goes on. The pages that were read ahead wait; they must
// not use the room of the partitions that go on.
func (w *Worker) pause(p *part, paused bool) {
	untaken := p.untaken
	w.addUntaken(p, -untaken)
	p.paused = paused
	w.addUntaken(p, untaken)
	w.want(p)
}

// current tells whether a partition is still read by this worker.
func (p *part) current() bool { return p.row.part == p }

// still tells whether nothing more of a partition is looked at.
func (p *part) still() bool { return p.halted != "" && p.gap == nil }

// halt reads a shard no further, and says why.
func (w *Worker) halt(p *part, why string, attrs ...slog.Attr) {
	p.gap, p.maybe = nil, false
	if p.halted == why {
		return
	}
	p.halted = why
	w.tell(slog.LevelError, why, append([]slog.Attr{shardAttr(p.row.Shard)}, attrs...)...)
	w.mark(p, why)
}

// taken notes that the pipeline took a page.
func (w *Worker) taken(e Taken) {
	p := w.parts[e.Partition]
	if p == nil || len(p.sizes) == 0 {
		return
	}
	w.addUntaken(p, -p.sizes[0])
	if p.sizes = p.sizes[1:]; len(p.sizes) == 0 {
		p.sizes = nil // most shards have nothing on its way most of the time
	}
	w.want(p)
}

// acked notes how far the pipeline came.
func (w *Worker) acked(e Acked) {
	p := w.parts[e.Partition]
	if p == nil {
		return
	}
	n := 0
	for i, m := range p.marks {
		if m.pos == e.Position {
			n = i + 1
			break
		}
	}
	if n == 0 {
		return
	}
	for _, m := range p.marks[:n] {
		p.pending -= m.records
		if m.time > 0 {
			p.ackedTime = m.time
		}
		p.acked = m.at
		p.endAcked = p.endAcked || m.end
	}
	if p.marks = p.marks[n:]; len(p.marks) == 0 {
		p.marks = nil
	}
	w.save(p)
}
