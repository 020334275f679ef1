package worker

import (
	"log/slog"
	"slices"

	"github.com/tablewake/tablewake/shardreader/leases"
)

// handOver begins to drain the leases that others request.
func (w *Worker) handOver() {
	live := w.live()
	for p := range w.assigned() {
		r := p.row
		if p.phase == draining || r.busy || r.RequestedBy == "" && r.Pinned == "" {
			continue
		}
		to := w.successor(r, live)
		switch {
		case to != "":
			w.drain(p, to)
		case r.RequestedBy != "":
			next := r.Clone()
			next.RequestedBy = ""
			w.write(&leaseWrite{why: declineRequest, row: r, next: next})
		}
	}
}

// successor is the consumer that a lease of this one should go to; "" for none.
func (w *Worker) successor(r *row, live []string) string {
	if id := w.pinnedElsewhere(r, live); id != "" {
		return id
	}
	if r.RequestedBy != "" && r.RequestedBy != w.o.Worker && slices.Contains(live, r.RequestedBy) && !w.pinnedHere(r) {
		return r.RequestedBy
	}
	return ""
}

func (w *Worker) pinnedHere(r *row) bool { return r.Pinned != "" && r.Pinned == w.o.Name }

// pinnedElsewhere is a live consumer of another name that should have a lease; "" for none.
func (w *Worker) pinnedElsewhere(r *row, live []string) string {
	if r.Pinned == "" || r.Pinned == w.o.Name {
		return ""
	}
	for _, id := range live {
		if p := w.peers[id]; p != nil && id != w.o.Worker && p.Name == r.Pinned {
			return id
		}
	}
	return ""
}

// drain stops the reading of an assignment and lets the pipeline write what it has, so that the lease can be handed
// over.
func (w *Worker) drain(p *assignment, to string) {
	if p.phase == draining {
		return
	}
	p.enter(draining)
	p.successor = to
	w.drop(p)
	w.do(Drain{p.name})
	w.after(w.o.Handover, func() {
		if p.current() && !w.leaving {
			w.tell(slog.LevelWarn, "a lease that was asked for is handed over before all that was read of it is written", shardAttr(p.row.Shard))
			w.revokeAndRelease(p)
		}
	})
	w.save(p)
}

// revokeAndRelease hands a lease over at its durable position, without waiting for the pipeline.
func (w *Worker) revokeAndRelease(p *assignment) {
	r := p.row
	next := w.leaseNow(p)
	w.revoke(p, ErrHandedOver)
	if !r.busy { // else the lease is opened again, or lost, after the write in flight
		w.release(r, next, p.successor)
	}
}

// release removes the owner of a lease. Its successor may take it before the others. It does not become the owner here:
// it may be gone already.
func (w *Worker) release(r *row, next leases.Lease, to string) {
	next.Owner, next.RequestedBy = "", to
	next.Counter++
	w.write(&leaseWrite{why: releaseLease, row: r, next: next})
}
