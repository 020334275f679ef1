package worker

import (
	"log/slog"
)

// shutdown begins a soft stop: nothing more is read or taken, and each lease is let
// go as soon as what was read of it is durable.
func (w *Worker) shutdown() {
	if w.leaving {
		return
	}
	w.leaving, w.leftAt = true, w.now
	w.takes = nil
	w.tell(slog.LevelInfo, "leaving: leases are let go as they drain", slog.Int("partitions", len(w.parts)))
	for _, r := range w.rows.all() {
		if r.part != nil {
			r.part.heir = ""
			w.drain(r.part, "")
		}
	}
	w.letAllGo()
	w.sendBeat()
	w.look()
	w.after(w.o.Lease, func() {})
}

// abandon lets go of what the pipeline has, at what is durable of it.
func (w *Worker) abandon() {
	w.shutdown()
	for _, r := range w.rows.all() {
		if p := r.part; p != nil {
			w.do(Revoke{p.name, ErrAbandoned})
			p.marks, p.pending = nil, 0
			w.save(p)
		}
	}
}

// letAllGo releases the leases that are this worker's by the table and have no partition.
func (w *Worker) letAllGo() {
	for _, r := range w.rows.all() {
		w.letGo(r)
	}
}

func (w *Worker) letGo(r *row) {
	if w.known(r) && w.mine(r) && r.part == nil && !r.busy && w.contact() {
		w.release(r, r.Clone(), "")
	}
}

// checkStopped sees when a soft stop is complete.
func (w *Worker) checkStopped() {
	if !w.leaving || w.stopped || len(w.parts) > 0 {
		return
	}
	switch {
	case w.contact():
		if w.rows.busy > 0 || w.rows.mine > 0 {
			return
		}
		wrote := max(w.made, w.rows.wrote)
		if w.sent < wrote || w.sent < w.leftAt || len(w.creating) > 0 {
			if w.now-max(wrote, w.leftAt) < 2*w.o.Lease {
				w.lookOnce() // whether a write happened of which no answer came
				return
			} // nobody can tell, as the table cannot be read
		}
		w.stopped = true
		w.do(Leave{on(w, func(Done) { w.do(Stopped{}) }), w.o.Worker})
	case w.beatOnce && w.now-w.leftAt < w.o.Lease:
		// Back in contact, it lets go of what it still has.
	default:
		// The others find out that it is gone by its row, which stands still.
		w.stopped = true
		w.do(Stopped{})
	}
}
