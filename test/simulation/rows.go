package simulation

import (
	"context"
	"errors"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// row is the part of a lease in the table that the checks need.
type row struct {
	there      bool
	owner      string
	counter    int64
	checkpoint leases.Checkpoint
	began      leases.Kind // kind of the checkpoint with which the lease was created
	root       bool        // the fleet began the stream with this lease
	first      string      // sequence number at which the shard is known to start
	stopped    string      // why the shard is not read further; "" if it is
	// children are the shards that the lease names as children once the shard has ended. They are descendants if the
	// children were no longer listed.
	children []string
}

// covers reports whether a record is at or before the checkpoint.
func (r row) covers(rec *streamRecord) bool {
	switch r.checkpoint.Kind {
	case leases.ShardEnd:
		return true
	case leases.Sequence:
		return record.CompareSequence(rec.seq, r.checkpoint.Sequence) <= 0
	}
	return false
}

var (
	errThrottled = pipeline.Transient(errors.New("ProvisionedThroughputExceededException"))
	errNoAnswer  = pipeline.Transient(context.DeadlineExceeded)
	errNoAccess  = errors.New("AccessDeniedException")
)

// store sends a call to the lease table or the state table. change happens at most once, even if its answer is lost.
func (p *process) store(c coordinator.Call, about string, change func() coordinator.Event, fail func(error) coordinator.Event) {
	w := p.w
	p.begin(c, about)
	p.send(func() {
		out, back := w.latency(TableSlow, 0), w.latency(TableSlow, 0)
		refused := error(nil)
		switch {
		case w.trouble(TableThrottled, 0):
			refused = errThrottled
		case w.trouble(TableDenied, 0):
			refused = errNoAccess
		}
		if refused != nil {
			w.after(out+back, func() { p.answer(c, about, fail(refused)) })
			return
		}
		switch {
		case w.trouble(TableLost, 0):
			if w.chance(0.6) {
				w.after(out, func() { change() })
			}
			w.after(timeout, func() { p.answer(c, about, fail(errNoAnswer)) })
		case w.trouble(TableLate, 0):
			w.after(w.between(time.Second, 2*timeout), func() { change() })
			w.after(timeout, func() { p.answer(c, about, fail(errNoAnswer)) })
		default:
			w.after(out, func() {
				e := change()
				w.after(back, func() { p.answer(c, about, e) })
			})
		}
	})
}

// write sends a call that is answered by a WriteResult.
func (p *process) write(c coordinator.Call, about string, change func() error) {
	p.store(c, about, func() coordinator.Event {
		err := change()
		if _, ok := leases.AsConflict(err); ok {
			p.w.tally.Conflicts++
			if p.resumed > 0 && p.w.now < p.resumed+2*p.w.plan.Shape.Lease || p.paused {
				p.w.tally.ZombieSwaps++
			}
			p.w.tell("table", "%s: %s: %v", p.id, p.w.short(about), err)
		}
		return coordinator.WriteResult{Call: c, Err: err}
	}, func(err error) coordinator.Event { return coordinator.WriteResult{Call: c, Err: err} })
}

// reserve sends a call of Reserve.
func (p *process) reserve(a coordinator.ReserveCall) {
	p.store(a.Call, "quota "+a.Quota, func() coordinator.Event {
		count, ok, err := p.w.rows.ReserveCall(context.Background(), a.Quota, a.Seen)
		return coordinator.ReserveCallResult{Call: a.Call, Count: count, OK: ok, Err: err}
	}, func(err error) coordinator.Event { return coordinator.ReserveCallResult{Call: a.Call, Err: err} })
}

// readTable sends a call of ReadTable. Rows are read one after the other: some show the state at the beginning of the
// read, the others a later state.
func (p *process) readTable(a coordinator.ReadTable) {
	w := p.w
	var early *leases.Snapshot // state at the beginning of the read; nil if the read shows one state
	p.store(a.Call, "read table", func() coordinator.Event {
		read := w.snapshot()
		if early != nil {
			read = w.mixed(*early, read)
		}
		return coordinator.ReadTableResult{Call: a.Call, Snapshot: read}
	}, func(err error) coordinator.Event { return coordinator.ReadTableResult{Call: a.Call, Err: err} })
	if w.chance(0.2) {
		p.send(func() {
			s := w.snapshot()
			early = &s
		})
	}
}

// mixed returns a snapshot with the early state of the rows up to a random one, and the late state of the others.
func (w *world) mixed(early, late leases.Snapshot) leases.Snapshot {
	cut := w.rand.IntN(len(early.Leases) + 1)
	read := late
	read.Leases = append([]leases.Lease(nil), early.Leases[:cut]...)
	if cut < len(early.Leases) {
		firstLate := early.Leases[cut].Shard
		for _, l := range late.Leases {
			if l.Shard >= firstLate {
				read.Leases = append(read.Leases, l)
			}
		}
	}
	if w.chance(0.5) {
		read.Members = early.Members
	}
	if w.chance(0.5) {
		read.BegunStreams = early.BegunStreams
	}
	return read
}

func (w *world) snapshot() leases.Snapshot {
	s, err := w.rows.Read(context.Background())
	if err != nil {
		panic(err) // memory does not fail
	}
	return s
}

// create adds a lease on behalf of p.
func (w *world) create(p *process, l leases.Lease) error {
	if err := w.rows.Create(context.Background(), l); err != nil {
		return err
	}
	sh := w.shard(p, l.Shard)
	if sh == nil {
		return nil
	}
	w.tell("table", "%s makes the lease of %v at %v, owner %q", p.id, sh, l.Checkpoint, l.Owner)
	w.checkCreated(p, sh, l)
	sh.row = row{there: true, owner: l.Owner, counter: l.Counter, checkpoint: l.Checkpoint, began: l.Checkpoint.Kind, first: l.First}
	w.checkCheckpoint(p, sh)
	if w.unbegun(sh) {
		sh.row.root = true
		w.exemptBefore(sh, l)
	}
	sh.leased, sh.stream.table.leased = true, true
	return nil
}

// swap changes a lease on behalf of p.
func (w *world) swap(p *process, old, next leases.Lease) error {
	if err := w.rows.Swap(context.Background(), old, next); err != nil {
		return err
	}
	sh := w.shard(p, old.Shard)
	if sh == nil {
		return nil
	}
	was := sh.row
	sh.row.owner, sh.row.counter, sh.row.checkpoint, sh.row.children = next.Owner, next.Counter, next.Checkpoint, next.Children
	if old.Stopped != next.Stopped || old.Checkpoint != next.Checkpoint {
		sh.row.stopped = next.Stopped
	}
	if old.First != next.First {
		sh.row.first = next.First
	}
	if was.owner != next.Owner {
		w.tell("table", "%v goes from %q to %q at %v, by %s", sh, was.owner, next.Owner, next.Checkpoint, p.id)
	}
	if was.stopped != sh.row.stopped {
		w.tell("table", "%v bears %q, by %s", sh, sh.row.stopped, p.id)
	}
	if was.checkpoint != next.Checkpoint {
		w.tell("table", "%v is checkpointed at %v, by %s", sh, next.Checkpoint, p.id)
	}
	w.checkSwapped(p, sh, was, old, next)
	w.checkCheckpoint(p, sh)
	return nil
}

// remove deletes a lease on behalf of p.
func (w *world) remove(p *process, old leases.Lease) error {
	if err := w.rows.Delete(context.Background(), old); err != nil {
		return err
	}
	sh := w.shard(p, old.Shard)
	if sh == nil || !sh.row.there {
		return nil
	}
	w.tell("table", "the lease of %v is deleted by %s", sh, p.id)
	w.tally.Deleted++
	w.checkDeleted(p, sh)
	sh.row = row{}
	return nil
}

// beat writes p's member row.
func (w *world) beat(p *process, m leases.Member) error {
	if m.ID != p.id {
		w.broken("members are themselves", "%s beats for %s", p.id, m.ID)
	}
	if w.now-p.beatAt > w.plan.Shape.Lease*9/10 {
		p.silent = w.now
	}
	p.beatAt = w.now
	return w.rows.Heartbeat(context.Background(), m)
}

// beginStream notes in the lease table that the fleet has begun to read a stream.
func (w *world) beginStream(arn string) error {
	for _, t := range w.tables {
		for _, st := range t.streams {
			st.begun = st.begun || st.st.ARN() == arn
		}
	}
	return w.rows.MarkBegun(context.Background(), arn)
}

// leave removes a member row.
func (w *world) leave(id string) error {
	if p := w.live(id); p != nil {
		p.left = true
	}
	return w.rows.RemoveMember(context.Background(), id)
}

// shard returns the shard with an id.
func (w *world) shard(p *process, id string) *shard {
	sh := w.byID[id]
	if sh == nil {
		w.broken("shards are real", "%s writes a lease of %q", p.id, id)
	}
	return sh
}
