package worker

import (
	"log/slog"
	"slices"

	"github.com/tablewake/tablewake/shardreader/leases"
)

// handOver begins to drain the leases that others ask for.
func (w *Worker) handOver() {
	live := w.live()
	for _, r := range w.rows.all() {
		if r.assignment == nil || r.assignment.draining || r.busy || r.Wanted == "" && r.Pinned == "" {
			continue
		}
		to := w.successor(r, live)
		switch {
		case to != "":
			w.drain(r.assignment, to)
		case r.Wanted != "":
			next := r.Clone()
			next.Wanted = ""
			w.swap(r, next, nil, func(err error) { w.refused(r, err) })
		}
	}
}

// successor is the worker that a lease of this one should go to; "" for none.
func (w *Worker) successor(r *row, live []string) string {
	if r.Pinned != "" && r.Pinned != w.o.Name {
		for _, id := range live {
			if p := w.peers[id]; p != nil && id != w.o.Worker && p.Name == r.Pinned {
				return id
			}
		}
	}
	if r.Wanted != "" && r.Wanted != w.o.Worker && slices.Contains(live, r.Wanted) && !w.pinnedHere(r) {
		return r.Wanted
	}
	return ""
}

func (w *Worker) pinnedHere(r *row) bool { return r.Pinned != "" && r.Pinned == w.o.Name }

// pinnedElsewhere tells whether a live worker of another name should have a lease.
func (w *Worker) pinnedElsewhere(r *row) bool {
	if r.Pinned == "" || r.Pinned == w.o.Name {
		return false
	}
	for id, p := range w.peers {
		if p.Name == r.Pinned && !p.Leaving && w.alive(id) {
			return true
		}
	}
	return false
}

// drain lets a partition come to rest, to be handed over: it is read no further, and
// what the pipeline has of it is written.
func (w *Worker) drain(p *assignment, to string) {
	if p.draining {
		return
	}
	p.draining, p.successor = true, to
	w.takeBack(p)
	w.do(Drain{p.name})
	w.after(w.o.Handover, func() {
		if p.current() && !w.leaving {
			w.tell(slog.LevelWarn, "a lease that was asked for is handed over before all that was read of it is written", shardAttr(p.row.Shard))
			w.revokeAndRelease(p)
		}
	})
	w.save(p)
}

// takeBack drops the pages that the pipeline did not take.
func (w *Worker) takeBack(p *assignment) {
	if len(p.sizes) == 0 {
		return
	}
	for _, n := range p.sizes {
		w.addUntaken(p, -n)
	}
	kept := len(p.inFlight) - len(p.sizes)
	for _, m := range p.inFlight[kept:] {
		p.pending -= m.records
	}
	p.inFlight = p.inFlight[:kept]
	p.sizes = nil
	p.ended = p.ended && kept > 0 && p.inFlight[kept-1].end
	w.do(Drop{p.name})
}

// revokeAndRelease hands a lease over as it is.
func (w *Worker) revokeAndRelease(p *assignment) {
	r, to := p.row, p.successor
	next := p.checkpointed(r.Clone())
	w.revoke(p, ErrHandedOver)
	if r.busy {
		return // the write under way goes first; the lease is adopted again or found lost
	}
	w.release(r, next, to)
}

// release gives a lease away, to whoever takes it. The worker that it should go to
// has the first choice; it is not made the owner, as it may be gone before it knows.
func (w *Worker) release(r *row, next leases.Lease, to string) {
	next.Owner, next.Wanted = "", to
	next.Counter++
	w.swap(r, next, func() bool { return w.known(r) && w.heartbeatFresh() }, func(err error) {
		if err == nil {
			w.tell(slog.LevelInfo, "let a lease go", shardAttr(r.Shard), slog.String("to", to), slog.String("checkpoint", next.Checkpoint.String()))
			return
		}
		w.refused(r, err)
	})
}

func (w *Worker) leavingPeer(id string) bool {
	p := w.peers[id]
	return p != nil && p.Leaving
}
