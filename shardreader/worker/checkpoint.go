package worker

import (
	"time"

	"github.com/tablewake/tablewake/shardreader/leases"
)

// checkpointed is a lease with how far the partition is durable.
func (p *assignment) checkpointed(l leases.Lease) leases.Lease {
	l.Checkpoint, l.Stopped = p.acked, p.stopNote()
	if p.ackedTime > 0 {
		l.Time = time.Unix(p.ackedTime, 0).UTC()
	}
	l.Load = p.load
	return l
}

// stopNote is what the lease bears of a stop, at what is durable.
func (p *assignment) stopNote() string {
	if p.acked != p.stopAt {
		return ""
	}
	return p.stop
}

// drained tells whether the pipeline has nothing more of a partition.
func (p *assignment) drained() bool { return len(p.inFlight) == 0 }

// save writes how far a partition is durable, if it is time for that: at most once
// in Options.Checkpoint, at once when it is let go or has ended.
func (w *Worker) save(p *assignment) {
	r := p.row
	switch {
	case p.acked == r.Checkpoint && p.stopNote() == r.Stopped, p.endAcked && p.halted == "" && !r.busy:
		p.due = 0 // or its children come first
	case p.due == 0:
		p.due = max(1, w.now)
	}
	switch {
	case r.busy:
		return // goes on behind the write under way
	case p.draining && p.drained():
		next := p.checkpointed(r.Clone())
		to := p.successor
		w.measure(p)
		w.close(p)
		w.release(r, next, to)
		return
	case p.endAcked && p.halted == "" && !p.draining:
		w.finish(p)
		return
	case p.acked == r.Checkpoint && p.stopNote() == r.Stopped:
		return
	}
	if wait := p.savedAt + w.o.Checkpoint - w.now; wait > 0 && !p.draining && !(w.o.Idle > 0 && p.drained()) {
		if !p.saveTimer {
			p.saveTimer = true
			w.after(wait, func() {
				p.saveTimer = false
				if p.current() {
					w.save(p)
				}
			})
		}
		return
	}
	w.measure(p)
	next := p.checkpointed(r.Clone())
	next.Counter++
	w.swap(r, next, p.current, func(err error) {
		p.savedAt = w.now
		if err == nil {
			p.due = 0
		}
		w.refused(r, err)
	})
}

// measure takes the load of a partition: bytes a second since it was last measured,
// smoothed.
func (w *Worker) measure(p *assignment) {
	d := (w.now - p.measuredAt).Seconds()
	if d < 0.5 {
		return
	}
	p.load = p.load*0.7 + float64(p.bytes)/d*0.3
	if p.load < 1 {
		p.load = 0
	}
	p.bytes, p.measuredAt = 0, w.now
}

// refreshLoad writes the load of shards that were busy and are idle since: nothing
// else says so, as they have nothing to checkpoint.
func (w *Worker) refreshLoad() {
	for _, r := range w.rows.all() {
		p := r.assignment
		if p == nil || r.busy || r.Load < 1024 || w.now-p.savedAt < time.Minute {
			continue
		}
		if w.measure(p); p.load < r.Load/2 {
			next := r.Clone()
			next.Load = p.load
			p.savedAt = w.now
			w.swap(r, next, nil, func(err error) { w.refused(r, err) })
		}
	}
}
