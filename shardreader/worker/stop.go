package worker

import (
	"log/slog"
)

// shutdown begins a soft stop: nothing more is read or taken, and each lease is released once its records that were
// read are durable.
func (w *Worker) shutdown() {
	if w.leaving {
		return
	}
	w.leaving, w.leftAt = true, w.now
	w.takes = nil
	w.tell(slog.LevelInfo, "leaving: leases are let go as they drain", slog.Int("partitions", len(w.assignments)))
	for p := range w.assigned() {
		p.successor = ""
		w.drain(p, "")
	}
	w.letAllGo()
	w.sendHeartbeat()
	w.refreshLeases()
	w.after(w.o.Lease, func() {})
}

// abandon revokes all assignments, and releases their leases at their durable positions.
func (w *Worker) abandon() {
	w.shutdown()
	for p := range w.assigned() {
		w.do(Revoke{p.name, ErrAbandoned})
		p.pages.inFlight, p.pages.records = nil, 0
		w.save(p)
	}
}

// letAllGo releases the leases that are this consumer's by the table and are not read.
func (w *Worker) letAllGo() {
	for _, r := range w.rows.all() {
		w.letGo(r)
	}
}

func (w *Worker) letGo(r *row) {
	if w.known(r) && w.mine(r) && r.assignment == nil && !r.busy && w.heartbeatFresh() {
		w.release(r, r.Clone(), "")
	}
}

// checkStopped ends a soft stop when it is complete.
func (w *Worker) checkStopped() {
	if !w.leaving || w.stopped || len(w.assignments) > 0 {
		return
	}
	switch {
	case w.heartbeatFresh():
		if w.rows.busy > 0 || w.rows.mine > 0 {
			return
		}
		wrote := max(w.madeAt, w.rows.wrote)
		if w.sent < wrote || w.sent < w.leftAt || len(w.creating) > 0 {
			if w.now-max(wrote, w.leftAt) < 2*w.o.Lease {
				if !w.refreshing && !w.refreshFailed {
					w.refreshLeases() // a write may have happened although its answer was lost
				}
				return
			} // the table cannot be read: the result of the write stays unknown
		}
		w.stopped = true
		w.do(Leave{w.begin(farewell{}), w.o.Worker})
	case w.heartbeatOnce && w.now-w.leftAt < w.o.Lease:
		// If heartbeats succeed again, it releases what it still has.
	default:
		// The others see that its heartbeat is unchanged.
		w.stopped = true
		w.do(Stopped{})
	}
}

// farewell is the last call.
type farewell struct{}

func (farewell) answered(w *Worker, _ Done) { w.do(Stopped{}) }
