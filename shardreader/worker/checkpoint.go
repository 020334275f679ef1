package worker

import (
	"cmp"
	"time"

	"github.com/tablewake/tablewake/shardreader/leases"
)

// durable is how far the pipeline has finished an assignment, and how far its lease says so.
type durable struct {
	at     leases.Checkpoint // after the last acknowledged record
	time   time.Time         // its creation time
	end    bool              // the last page is acknowledged
	stop   string            // what Lease.Stopped becomes once stopAt is durable
	stopAt leases.Checkpoint
	saved  time.Duration // when the lease was last written
	timer  bool          // a timer will call save
	due    time.Duration // since when the lease lags behind; 0: it does not
}

// stopNote is the Lease.Stopped of a lease that has all that is durable.
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

// leaseNow is the lease of an assignment with its durable position and its load.
func (w *Worker) leaseNow(p *assignment) leases.Lease {
	l := p.row.Clone()
	l.Checkpoint, l.Stopped = p.durable.at, p.durable.stopNote()
	l.Time = cmp.Or(p.durable.time, l.Time)
	p.load.measure(w.now)
	l.Load = p.load.rate
	return l
}

// noteStop writes the reason of a stop into the lease once all records that were read are durable.
func (w *Worker) noteStop(p *assignment, why string) {
	p.durable.stop, p.durable.stopAt = why, p.pos
	w.save(p)
}

// save writes how far an assignment is durable: at most once in Options.Checkpoint, at once when it is handed over or
// has ended.
func (w *Worker) save(p *assignment) {
	r, d := p.row, &p.durable
	switch {
	case p.isSaved(), p.finished() && !r.busy:
		d.due = 0 // a finished shard waits for its children: the lease does not lag behind
	case d.due == 0:
		d.due = max(1, w.now)
	}
	switch {
	case r.busy: // the write in flight calls save again
	case p.phase == draining && p.drained():
		w.close(p)
		w.release(r, w.leaseNow(p), p.successor)
	case p.finished():
		w.finish(p)
	case p.isSaved():
	case p.phase != draining && !(w.o.Idle > 0 && p.drained()) && d.saved+w.o.Checkpoint > w.now:
		w.saveLater(p)
	default:
		next := w.leaseNow(p)
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
	measured time.Duration // when rate was last updated
}

// measure updates the rate.
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

// refreshLoad writes the load of shards that were busy and became idle: no checkpoint writes it.
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
