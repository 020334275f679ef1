package coordinator

import (
	"cmp"
	"time"

	"github.com/tablewake/tablewake/shardreader/leases"
)

// durable is the position up to which an assignment is acknowledged, with the state of the lease's writes.
type durable struct {
	checkpoint    leases.Checkpoint // position after the last acknowledged record
	time          time.Time         // creation time of the last acknowledged record
	shardEnd      bool              // the last page is acknowledged
	stopReason    string            // value of Lease.Stopped once the position stopAt is durable
	stopAt        leases.Checkpoint
	savedAt       time.Duration // when the lease was last written
	saveScheduled bool          // a timer will call save
	unsavedSince  time.Duration // since when the lease lacks the durable position; 0 if it has the position
}

// dueStopReason returns the value that Lease.Stopped should have at the durable position.
func (d *durable) dueStopReason() string {
	if d.checkpoint != d.stopAt {
		return ""
	}
	return d.stopReason
}

// isSaved reports whether the lease has the durable position and its stop reason.
func (a *assignment) isSaved() bool {
	return a.durable.checkpoint == a.row.Checkpoint && a.durable.dueStopReason() == a.row.Stopped
}

// finished reports whether the shard is read to its end, and all of its records are durable.
func (a *assignment) finished() bool { return a.phase == ended && a.durable.shardEnd }

// currentLease returns the lease of an assignment with its durable position and load.
func (c *Coordinator) currentLease(a *assignment) leases.Lease {
	l := a.row.Clone()
	l.Checkpoint, l.Stopped = a.durable.checkpoint, a.durable.dueStopReason()
	l.Time = cmp.Or(a.durable.time, l.Time)
	a.load.update(c.now)
	l.Load = a.load.rate
	return l
}

// saveStop writes why a shard stopped into its lease, once all records that were read are durable.
func (c *Coordinator) saveStop(a *assignment, why string) {
	a.durable.stopReason, a.durable.stopAt = why, a.pos
	c.save(a)
}

// save writes the durable position of an assignment into its lease, at most once in Options.Checkpoint. It writes at
// once if the lease is handed over or the shard is finished.
func (c *Coordinator) save(a *assignment) {
	r, d := a.row, &a.durable
	switch {
	case a.isSaved(), a.finished() && !r.busy:
		d.unsavedSince = 0 // a finished shard waits for its children, not for a write of its lease
	case d.unsavedSince == 0:
		d.unsavedSince = max(1, c.now)
	}
	switch {
	case r.busy: // the write in flight calls save again
	case a.phase == draining && a.drained():
		c.closeAssignment(a)
		c.release(r, c.currentLease(a), a.successor)
	case a.finished():
		c.finish(a)
	case a.isSaved():
	case a.phase != draining && !(c.o.Idle > 0 && a.drained()) && d.savedAt+c.o.Checkpoint > c.now:
		c.saveLater(a)
	default:
		next := c.currentLease(a)
		next.Counter++
		c.writeLease(&leaseWrite{reason: saveCheckpoint, row: r, next: next, assignment: a})
	}
}

// saveLater calls save once Options.Checkpoint has passed since the last write.
func (c *Coordinator) saveLater(a *assignment) {
	if a.durable.saveScheduled {
		return
	}
	a.durable.saveScheduled = true
	c.after(a.durable.savedAt+c.o.Checkpoint-c.now, func() {
		a.durable.saveScheduled = false
		if a.isOpen() {
			c.save(a)
		}
	})
}

// load measures how busy an assignment is.
type load struct {
	rate     float64       // bytes a second, smoothed
	bytes    int64         // bytes read since measured
	measured time.Duration // when rate was last updated
}

// update adds the bytes since measured to the smoothed rate, unless less than half a second has passed.
func (l *load) update(now time.Duration) {
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

// saveIdleLoads writes the load of shards that were busy and became idle. An idle shard has no records, so that no
// checkpoint is written that would include the load.
func (c *Coordinator) saveIdleLoads() {
	for a := range c.allAssignments() {
		r := a.row
		if r.busy || r.Load < 1024 || c.now-a.durable.savedAt < time.Minute {
			continue
		}
		if a.load.update(c.now); a.load.rate < r.Load/2 {
			next := r.Clone()
			next.Load = a.load.rate
			a.durable.savedAt = c.now
			c.writeLease(&leaseWrite{reason: saveLoad, row: r, next: next})
		}
	}
}
