package worker

import (
	"cmp"
	"time"

	"github.com/tablewake/tablewake/shardreader/leases"
)

// durable is how far the pipeline has finished an assignment, and what of that its lease has.
type durable struct {
	at     leases.Checkpoint // after the last acknowledged record
	time   time.Time         // its creation time
	end    bool              // the last page is acknowledged
	stop   string            // what Lease.Stopped becomes
	stopAt leases.Checkpoint // once this position is durable
	saved  time.Duration     // when the lease was last written
	timer  bool              // a timer will call save
	due    time.Duration     // since when the lease lags behind; 0: it does not
}

// stopNote is what the lease bears of a stop, at what is durable.
func (d *durable) stopNote() string {
	if d.at != d.stopAt {
		return ""
	}
	return d.stop
}

// isSaved reports whether the lease has all that is durable.
func (p *assignment) isSaved() bool {
	return p.durable.at == p.row.Checkpoint && p.durable.stopNote() == p.row.Stopped
}

// finished reports whether the shard is read to its end, and all of it is durable.
func (p *assignment) finished() bool { return p.phase == ended && p.durable.end }

// checkpointed is the lease of an assignment with how far it is durable, and its load.
func (w *Worker) checkpointed(p *assignment) leases.Lease {
	l := p.row.Clone()
	l.Checkpoint, l.Stopped = p.durable.at, p.durable.stopNote()
	l.Time = cmp.Or(p.durable.time, l.Time)
	p.load.measure(w.now)
	l.Load = p.load.rate
	return l
}

// noteStop has the lease bear why its shard stopped where it is read to, as soon as all before that is durable.
func (w *Worker) noteStop(p *assignment, why string) {
	p.durable.stop, p.durable.stopAt = why, p.pos
	w.save(p)
}

// save writes how far an assignment is durable, if it is time for that: at most once
// in Options.Checkpoint, at once when it is handed over or has ended.
func (w *Worker) save(p *assignment) {
	r, d := p.row, &p.durable
	switch {
	case p.isSaved(), p.finished() && !r.busy:
		d.due = 0 // or its children come first
	case d.due == 0:
		d.due = max(1, w.now)
	}
	switch {
	case r.busy: // the write in flight calls save again
	case p.phase == draining && p.drained():
		w.close(p)
		w.release(r, w.checkpointed(p), p.successor)
	case p.finished():
		w.finish(p)
	case p.isSaved():
	case p.phase != draining && !(w.o.Idle > 0 && p.drained()) && d.saved+w.o.Checkpoint > w.now:
		w.saveLater(p)
	default:
		next := w.checkpointed(p)
		next.Counter++
		w.write(&leaseWrite{why: saveCheckpoint, row: r, next: next, p: p})
	}
}

// saveLater calls save once Options.Checkpoint has passed since the last write.
func (w *Worker) saveLater(p *assignment) {
	if p.durable.timer {
		return
	}
	p.durable.timer = true
	w.after(p.durable.saved+w.o.Checkpoint-w.now, func() {
		p.durable.timer = false
		if p.current() {
			w.save(p)
		}
	})
}

// load is how busy an assignment is.
type load struct {
	rate     float64       // bytes a second, smoothed
	bytes    int64         // read since measured
	measured time.Duration // when rate was last brought up to date
}

// measure brings the rate up to date.
func (l *load) measure(now time.Duration) {
	d := (now - l.measured).Seconds()
	if d < 0.5 {
		return
	}
	l.rate = l.rate*0.7 + float64(l.bytes)/d*0.3
	if l.rate < 1 {
		l.rate = 0
	}
	l.bytes, l.measured = 0, now
}

// refreshLoad writes the load of shards that were busy and are idle since: they have nothing to checkpoint.
func (w *Worker) refreshLoad() {
	for p := range w.assigned() {
		r := p.row
		if r.busy || r.Load < 1024 || w.now-p.durable.saved < time.Minute {
			continue
		}
		if p.load.measure(w.now); p.load.rate < r.Load/2 {
			next := r.Clone()
			next.Load = p.load.rate
			p.durable.saved = w.now
			w.write(&leaseWrite{why: saveLoad, row: r, next: next})
		}
	}
}
