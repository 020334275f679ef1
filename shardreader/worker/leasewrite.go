package worker

import (
	"log/slog"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/leases"
)

const (
	maxWrites    = 64              // leases that are written at once
	slowestWrite = 2 * time.Second // longest backoff of such a write
)

// writeReason is why a lease is written. It decides whether the write is tried again, and what follows it.
type writeReason uint8

const (
	takeLease      writeReason = iota // this consumer becomes its owner
	confirmLease                      // this consumer still is, although its heartbeats had stopped
	requestLease                      // this consumer requests it of its owner
	declineRequest                    // this consumer owns it and removes a request
	releaseLease                      // it is handed over
	saveLoad
	saveCheckpoint
	saveFirst   // the first record of the shard, which was not known
	saveEnd     // the shard is read to its end
	setStream   // another application made it, and named no stream
	makeLease   // it is missing
	removeLease // it is no longer needed
)

// leaseWrite is a write of a lease.
//
// It is unknown whether a write happened whose answer was lost. A write that insists is sent again until that is known.
// A conflict with exactly what was to be written means that an earlier try had happened.
type leaseWrite struct {
	why       writeReason
	row       *row        // nil for makeLease
	p         *assignment // of saveCheckpoint, saveFirst and saveEnd; of makeLease, whose child it is; else nil
	page      *heldPage   // of saveFirst: waits for the write
	by        maker       // of makeLease and setStream
	old, next leases.Lease
	tries     tries
}

// maker waits for a write: err is nil if it happened.
type maker interface{ written(w *Worker, err error) }

var (
	errNotWanted = errs.New("the lease is not wanted any more")
	errBeingMade = pipeline.Transient(errs.New("the lease is being made"))
)

// create begins to add a lease, unless it exists.
func (w *Worker) create(op *leaseWrite) {
	op.why = makeLease
	switch shard := op.next.Shard; {
	case w.rows.of(shard) != nil:
		op.by.written(w, nil)
	case w.creating[shard]:
		op.by.written(w, errBeingMade)
	default:
		w.creating[shard] = true
		w.pass(op)
	}
}

// write begins to change a lease, or to remove it.
func (w *Worker) write(op *leaseWrite) {
	w.rows.writing(op.row)
	op.old = op.row.Lease
	w.pass(op)
}

// pass sends a write, or has it wait for others that are in flight.
func (w *Worker) pass(op *leaseWrite) {
	if w.writing == maxWrites {
		w.gate = append(w.gate, op)
		return
	}
	w.writing++
	op.send(w)
}

// passed ends what pass began: with the answer, or without a write.
func (w *Worker) passed() {
	w.writing--
	if len(w.gate) == 0 {
		return
	}
	op := w.gate[0]
	if w.gate = w.gate[1:]; len(w.gate) == 0 {
		w.gate = nil
	}
	w.pass(op)
}

func (op *leaseWrite) send(w *Worker) {
	switch {
	case op.why == removeLease:
		w.do(Delete{w.begin(op), op.old})
	case op.why != makeLease:
		w.do(Swap{w.begin(op), op.old, op.next})
	case op.insists(w):
		w.do(Create{w.begin(op), op.next})
	default:
		w.passed()
		op.made(w, errNotWanted)
	}
}

// insists reports whether the write is sent again until its result is known.
func (op *leaseWrite) insists(w *Worker) bool {
	switch op.why {
	case releaseLease:
		return w.known(op.row) && w.heartbeatFresh()
	case saveCheckpoint, saveEnd:
		return op.p.current()
	case saveFirst:
		return op.p.stays()
	case makeLease:
		return op.p != nil && op.p.stays() || op.p == nil && w.staying() && w.heartbeatFresh()
	}
	return false
}

func (op *leaseWrite) answered(w *Worker, e Done) {
	w.passed()
	err := e.Err
	c, refused := leases.AsConflict(err)
	switch {
	case op.why == makeLease && refused && !c.Gone:
		op.exists(w, c.Now, false)
	case op.why == makeLease && err == nil:
		op.exists(w, op.next, true)
	case err == nil, refused && op.why != removeLease && c.Did(op.next):
		op.succeeded(w)
		op.end(w, nil)
	case op.insists(w) && (!refused || op.why == makeLease):
		op.again(w, err)
	case op.why == makeLease:
		op.made(w, err)
	default:
		op.end(w, err)
	}
}

// again sends the write once more, after a while.
func (op *leaseWrite) again(w *Worker, err error) {
	shard := op.next.Shard
	topic, text := "swap ", "a lease cannot be written and is tried again"
	if op.why == makeLease {
		topic, text = "create ", "a lease cannot be made and is tried again"
	}
	w.table.err = err
	w.tellOnce(topic+shard, slog.LevelWarn, text, shardAttr(shard), errAttr(err))
	w.after(op.tries.next(w, slowestWrite, err), func() {
		if op.why == makeLease || op.insists(w) {
			w.pass(op)
			return
		}
		op.end(w, err)
	})
}

// succeeded updates the row to what was written.
func (op *leaseWrite) succeeded(w *Worker) {
	r := op.row
	if op.tries > 0 {
		delete(w.told, "swap "+r.Shard)
	}
	if op.why != removeLease {
		w.rows.change(r, op.next)
		r.unchangedSince, r.knownAt, r.confirmedAt = w.now, w.now, w.now
	}
}

// end does what follows the write of a known lease: err is nil if it happened, a *leases.Conflict if it was refused,
// and another error if that is unknown.
func (op *leaseWrite) end(w *Worker, err error) {
	r, p := op.row, op.p
	w.rows.written(r, w.now)
	w.refused(r, err)
	if err == nil {
		op.follow(w)
	}
	switch op.why {
	case takeLease:
		w.taking--
		w.takeNext()
	case saveCheckpoint:
		p.durable.saved = w.now
	case setStream:
		op.by.written(w, err)
	}
	switch {
	case r.assignment != nil:
		w.save(r.assignment)
	case w.leaving:
		w.letGo(r)
	}
}

// follow does what follows a write that happened.
func (op *leaseWrite) follow(w *Worker) {
	r, checkpoint := op.row, slog.String("checkpoint", op.next.Checkpoint.String())
	switch op.why {
	case takeLease:
		w.tell(slog.LevelInfo, "took a lease", shardAttr(r.Shard), checkpoint)
		w.tryOpen(r)
	case confirmLease:
		w.tryOpen(r) // if it did not happen, the next refresh tries again
	case releaseLease:
		w.tell(slog.LevelInfo, "let a lease go", shardAttr(r.Shard), slog.String("to", op.next.RequestedBy), checkpoint)
	case saveCheckpoint:
		op.p.durable.due = 0
	case saveFirst:
		w.resume(op.p, op.page)
	case saveEnd:
		w.endSaved(r, op.p)
	case removeLease:
		if w.known(r) {
			w.forget(r)
		}
	}
}

// refused handles the conflict of a write.
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

// exists adds a lease that was missing and exists now; here reports whether this write made it.
func (op *leaseWrite) exists(w *Worker, now leases.Lease, here bool) {
	r := w.rows.of(op.next.Shard)
	if r == nil {
		r = w.know(now)
		r.writtenAt, r.knownAt, r.confirmedAt = w.now, w.now, w.now
		if here && now.Checkpoint.Kind == leases.Latest {
			r.fresh = true
			w.after(5*time.Second, func() { r.fresh = false })
		}
	}
	op.made(w, nil)
	if w.tryOpen(r); w.leaving {
		w.letGo(r)
	}
}

// made ends the creation of a lease.
func (op *leaseWrite) made(w *Worker, err error) {
	delete(w.creating, op.next.Shard)
	w.madeAt = w.now
	op.by.written(w, err)
}
