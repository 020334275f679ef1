package coordinator

import (
	"cmp"
	"time"

	"github.com/tablewake/tablewake/shardreader/leases"
)

// ackedPosition is the position up to which the pipeline has acknowledged an assignment, and the state of the writes
// that save the position in the lease.
type ackedPosition struct {
	checkpoint    leases.Checkpoint // position after the last acknowledged record
	time          time.Time         // creation time of the last acknowledged record
	shardEnd      bool              // the last page is acknowledged
	stopReason    string            // value of Lease.Stopped once stopPosition is acknowledged
	stopPosition  leases.Checkpoint
	savedAt       time.Duration // when the lease was last written
	saveScheduled bool          // a timer will call save
	unsavedSince  time.Duration // since when the lease lacks the acknowledged position; 0 if it has the position
}

// stopReasonNow returns the value that Lease.Stopped should have at the acknowledged position.
func (p *ackedPosition) stopReasonNow() string {
	if p.checkpoint != p.stopPosition {
		return ""
	}
	return p.stopReason
}

// isSaved reports whether the lease has the acknowledged position and its stop reason.
func (a *assignment) isSaved() bool {
	return a.acked.checkpoint == a.row.Checkpoint && a.acked.stopReasonNow() == a.row.Stopped
}

// finished reports whether the shard is read to its end, and all of its records are durable.
func (a *assignment) finished() bool { return a.phase == ended && a.acked.shardEnd }

// currentLease returns the lease of an assignment with its acknowledged position and load.
func (c *Coordinator) currentLease(a *assignment) leases.Lease {
	l := a.row.Clone()
	l.Checkpoint, l.Stopped = a.acked.checkpoint, a.acked.stopReasonNow()
	l.Time = cmp.Or(a.acked.time, l.Time)
	a.load.update(c.now)
	l.Load = a.load.rate
	return l
}

// saveStop writes why a shard stopped into its lease, once all records that were read are durable.
func (c *Coordinator) saveStop(a *assignment, why string) {
	a.acked.stopReason, a.acked.stopPosition = why, a.position
	c.save(a)
}

// save writes the acknowledged position of an assignment into its lease. If the lease is handed over and all pages are
// acknowledged, it releases the lease. If the shard is finished, it ends the lease.
func (c *Coordinator) save(a *assignment) {
	c.noteUnsaved(a)
	r := a.row
	switch {
	case r.busy: // the write in flight calls save again
	case a.phase == draining && a.allAcked():
		c.closeAssignment(a)
		c.release(r, c.currentLease(a), a.successor)
	case a.finished():
		c.advanceEnd(a)
	case !a.isSaved():
		c.saveWhenDue(a)
	}
}

// saveWhenDue writes the acknowledged position now. It writes later if the last write was less than Options.Checkpoint
// ago, unless the lease is handed over, or Options.Idle is set and all pages are acknowledged.
func (c *Coordinator) saveWhenDue(a *assignment) {
	isUrgent := a.phase == draining || c.options.Idle > 0 && a.allAcked()
	isEarly := a.acked.savedAt+c.options.Checkpoint > c.now
	if isEarly && !isUrgent {
		c.saveLater(a)
		return
	}
	next := c.currentLease(a)
	next.Counter++
	c.writeLease(&leaseWrite{
		row: a.row, next: next, mustRetry: a.isOpen,
		written: func() { a.acked.unsavedSince = 0 },
		ended:   func(error) { a.acked.savedAt = c.now },
	})
}

// noteUnsaved updates acked.unsavedSince of an assignment.
func (c *Coordinator) noteUnsaved(a *assignment) {
	waitsForChildren := a.finished() && !a.row.busy // and not for a write of its lease
	switch {
	case a.isSaved() || waitsForChildren:
		a.acked.unsavedSince = 0
	case a.acked.unsavedSince == 0:
		a.acked.unsavedSince = c.now
	}
}

// saveLater calls save once Options.Checkpoint has passed since the last write.
func (c *Coordinator) saveLater(a *assignment) {
	if a.acked.saveScheduled {
		return
	}
	a.acked.saveScheduled = true
	c.after(a.acked.savedAt+c.options.Checkpoint-c.now, func() {
		a.acked.saveScheduled = false
		if a.isOpen() {
			c.save(a)
		}
	})
}

// load measures how busy an assignment is.
type load struct {
	rate       float64       // bytes a second, smoothed
	bytes      int64         // bytes read since measuredAt
	measuredAt time.Duration // when rate was last updated
}

// update adds the bytes since measuredAt to the smoothed rate, unless less than half a second has passed.
func (l *load) update(now time.Duration) {
	seconds := (now - l.measuredAt).Seconds()
	if seconds < 0.5 {
		return
	}
	l.rate = l.rate*0.7 + float64(l.bytes)/seconds*0.3
	if l.rate < 1 {
		l.rate = 0
	}
	l.bytes, l.measuredAt = 0, now
}

// saveIdleLoads writes the load of shards that were busy and became idle. An idle shard has no records, so no
// checkpoint is written that would include the load.
func (c *Coordinator) saveIdleLoads() {
	for a := range c.allAssignments() {
		r := a.row
		savedLately := c.now-a.acked.savedAt < time.Minute
		if r.busy || r.Load < 1024 || savedLately {
			continue
		}
		a.load.update(c.now)
		if a.load.rate < r.Load/2 {
			next := r.Clone()
			next.Load = a.load.rate
			a.acked.savedAt = c.now
			c.writeLease(&leaseWrite{row: r, next: next})
		}
	}
}
