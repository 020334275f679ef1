package worker

import (
	"log/slog"

	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// slowestWrite is the longest backoff of a write of a lease.
const slowestWrite = 2 * time.Second

// writeReason is why a lease is changed. It decides whether the write is tried again, and what follows it.
type writeReason uint8

const (
	takeLease      writeReason = iota // this consumer becomes its owner
	confirmLease                      // this consumer still is, although its heartbeats had stopped
	requestLease                      // another consumer has it, and is asked for it
	declineRequest                    // whoever requested it does not get it
	releaseLease                      // it is handed over
	saveLoad
	saveCheckpoint
	saveFirst // the first record of the shard, which was not known
	saveEnd   // the shard is read to its end
	setStream // it is another application's, which names no stream
)

// leaseWrite is a change of a lease.
//
// An answer that was lost leaves open whether the write happened. If it insists, the same write is sent again until that
// is known; a conflict with the very thing that was to be written means that it had happened.
type leaseWrite struct {
	why       writeReason
	row       *row
	p         *assignment // that it is made for; nil if it is not for the reading of the shard
	page      *heldPage   // of saveFirst: waits for the write
	old, next leases.Lease
	tries     tries
}

// swap begins to write a lease.
func (w *Worker) swap(op *leaseWrite) {
	w.rows.writing(op.row)
	op.old = op.row.Lease
	w.pass(op)
}

func (op *leaseWrite) send(w *Worker) { w.do(Swap{w.begin(op), op.old, op.next}) }

// insists reports whether the write is sent again until it is known what became of it.
func (op *leaseWrite) insists(w *Worker) bool {
	switch op.why {
	case releaseLease:
		return w.known(op.row) && w.heartbeatFresh()
	case saveCheckpoint, saveEnd:
		return op.p.current()
	case saveFirst:
		return op.p.stays()
	}
	return false
}

func (op *leaseWrite) answered(w *Worker, e Done) {
	w.passed()
	r, err := op.row, e.Err
	conflict, refused := leases.AsConflict(err)
	if refused && conflict.Did(op.next) {
		err = nil
	}
	if err != nil && !refused && op.insists(w) {
		w.table.err = err
		w.tellOnce("swap "+r.Shard, slog.LevelWarn, "a lease cannot be written and is tried again", shardAttr(r.Shard), errAttr(err))
		w.after(op.tries.next(w, slowestWrite, err), func() {
			if op.insists(w) {
				w.pass(op)
				return
			}
			op.end(w, err)
		})
		return
	}
	if err == nil {
		if op.tries > 0 {
			delete(w.told, "swap "+r.Shard)
		}
		w.rows.change(r, op.next)
		r.unchangedSince, r.knownAt, r.confirmedAt = w.now, w.now, w.now
	}
	op.end(w, err)
}

// end does what follows the write: err is nil if it happened, a *leases.Conflict if it was refused, and another error if
// nobody knows.
func (op *leaseWrite) end(w *Worker, err error) {
	r, p := op.row, op.p
	w.rows.written(r, w.now)
	if p != nil {
		p.durable.written(op.why, err, w.now)
	}
	w.refused(r, err)
	switch op.why {
	case takeLease:
		w.taking--
		if err == nil {
			w.tell(slog.LevelInfo, "took a lease", shardAttr(r.Shard), slog.String("checkpoint", r.Checkpoint.String()))
			w.tryOpen(r)
		}
		w.takeNext()
	case confirmLease:
		if err == nil {
			w.tryOpen(r) // else the next refresh tries again
		}
	case releaseLease:
		if err == nil {
			w.tell(slog.LevelInfo, "let a lease go", shardAttr(r.Shard), slog.String("to", op.next.Wanted), slog.String("checkpoint", op.next.Checkpoint.String()))
		}
	case saveFirst:
		if err == nil {
			w.resume(p, op.page)
		}
	case saveEnd:
		if err == nil {
			w.endSaved(r, p)
		}
	case setStream:
		w.sync.written(w, err)
	}
	switch {
	case r.assignment != nil:
		w.save(r.assignment)
	case w.leaving:
		w.letGo(r)
	}
}

// written notes the end of a write of the lease.
func (d *durable) written(why writeReason, err error, now time.Duration) {
	if why != saveCheckpoint {
		return
	}
	d.saved = now
	if err == nil {
		d.due = 0
	}
}

// refused takes in the conflict of a write.
func (w *Worker) refused(r *row, err error) {
	c, ok := leases.AsConflict(err)
	switch {
	case !ok, !w.known(r):
	case c.Gone:
		w.forget(r)
	default:
		w.learn(r, c.Now, w.now)
		if r.assignment != nil {
			w.lose(r.assignment)
		}
	}
}

// leaseCreate adds a lease that is missing: of a child of a shard that ended, or of a shard that a listing calls for.
type leaseCreate struct {
	lease  leases.Lease
	parent *childSearch // whose child it is; nil: sync made it
	tries  tries
}

var (
	errNotWanted = errs.New("the lease is not wanted any more")
	errBeingMade = pipeline.Transient(errs.New("the lease is being made"))
)

// create begins to add a lease, unless it is there.
func (w *Worker) create(op *leaseCreate) {
	switch shard := op.lease.Shard; {
	case w.rows.of(shard) != nil:
		op.tellMaker(w, nil)
	case w.creating[shard]:
		op.tellMaker(w, errBeingMade)
	default:
		w.creating[shard] = true
		w.pass(op)
	}
}

func (op *leaseCreate) tellMaker(w *Worker, err error) {
	if op.parent != nil {
		op.parent.written(w, err)
		return
	}
	w.sync.written(w, err)
}

// wanted reports whether the lease is still to be made.
func (op *leaseCreate) wanted(w *Worker) bool {
	if op.parent != nil {
		return op.parent.p.stays()
	}
	return w.staying() && w.heartbeatFresh()
}

func (op *leaseCreate) send(w *Worker) {
	if !op.wanted(w) {
		w.passed()
		op.end(w, errNotWanted)
		return
	}
	w.do(Create{w.begin(op), op.lease})
}

func (op *leaseCreate) answered(w *Worker, e Done) {
	w.passed()
	c, refused := leases.AsConflict(e.Err)
	switch {
	case e.Err == nil:
		op.exists(w, op.lease, true)
	case refused && !c.Gone:
		op.exists(w, c.Now, false)
	case op.wanted(w):
		shard := op.lease.Shard
		w.tellOnce("create "+shard, slog.LevelWarn, "a lease cannot be made and is tried again", shardAttr(shard), errAttr(e.Err))
		w.after(op.tries.next(w, slowestWrite, e.Err), func() { w.pass(op) })
	default:
		op.end(w, e.Err)
	}
}

// exists takes in that the lease is there; made tells whether this write made it.
func (op *leaseCreate) exists(w *Worker, now leases.Lease, made bool) {
	r := w.rows.of(op.lease.Shard)
	if r == nil {
		r = w.know(now)
		r.writtenAt, r.knownAt, r.confirmedAt = w.now, w.now, w.now
		if made && now.Checkpoint.Kind == leases.Latest {
			r.fresh = true
			w.after(5*time.Second, func() { r.fresh = false })
		}
	}
	op.end(w, nil)
	if w.tryOpen(r); w.leaving {
		w.letGo(r)
	}
}

func (op *leaseCreate) end(w *Worker, err error) {
	delete(w.creating, op.lease.Shard)
	w.made = w.now
	op.tellMaker(w, err)
}

// leaseDelete removes a lease that is of no more use.
type leaseDelete struct{ row *row }

func (w *Worker) remove(r *row) {
	w.rows.writing(r)
	w.pass(leaseDelete{r})
}

func (op leaseDelete) send(w *Worker) { w.do(Delete{w.begin(op), op.row.Lease}) }

func (op leaseDelete) answered(w *Worker, e Done) {
	w.passed()
	w.rows.written(op.row, w.now)
	switch {
	case !w.known(op.row):
	case e.Err == nil:
		w.forget(op.row)
	default:
		w.refused(op.row, e.Err)
	}
}
