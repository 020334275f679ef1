package coordinator

import (
	"log/slog"
)

// shutdown begins a soft stop. No shard is read and no lease is taken any more. Each lease is released once the records
// that were read of its shard are durable.
func (c *Coordinator) shutdown() {
	if c.leaving {
		return
	}
	c.leaving, c.leavingSince = true, c.now
	c.toTake = nil
	c.log(slog.LevelInfo, "leaving: each lease is released once its records are durable",
		slog.Int("partitions", len(c.assignments)))
	for a := range c.allAssignments() {
		a.successor = ""
		c.drain(a, "")
	}
	c.releaseUnassigned()
	c.sendHeartbeat()
	c.refreshLeases()
	c.after(c.o.Lease, func() {})
}

// abandon revokes all assignments, and releases their leases at their durable positions.
func (c *Coordinator) abandon() {
	c.shutdown()
	for a := range c.allAssignments() {
		c.emit(Revoke{a.name, ErrAbandoned})
		a.pages.inFlight, a.pages.records = nil, 0
		c.save(a)
	}
}

// releaseUnassigned releases the leases that this consumer owns and does not read.
func (c *Coordinator) releaseUnassigned() {
	for _, r := range c.rows.all() {
		c.releaseIfUnassigned(r)
	}
}

func (c *Coordinator) releaseIfUnassigned(r *row) {
	if c.isKnown(r) && c.isOwn(r) && r.assignment == nil && !r.busy && c.heartbeatFresh() {
		c.release(r, r.Clone(), "")
	}
}

// checkStopped ends a soft stop when it is complete.
func (c *Coordinator) checkStopped() {
	if !c.leaving || c.stopped || len(c.assignments) > 0 {
		return
	}
	switch {
	case c.heartbeatFresh():
		if c.rows.busy > 0 || c.rows.own > 0 {
			return
		}
		wrote := max(c.lastCreate, c.rows.lastWrite)
		if c.refreshSent < wrote || c.refreshSent < c.leavingSince || len(c.creating) > 0 {
			if c.now-max(wrote, c.leavingSince) < 2*c.o.Lease {
				if !c.refreshing && !c.refreshFailed {
					c.refreshLeases() // a write may have happened, although its result was lost
				}
				return
			} // the table cannot be read: the result of the write stays unknown
		}
		c.stopped = true
		c.emit(RemoveMember{newCall(c, func(WriteResult) { c.emit(Stopped{}) }), c.o.ID})
	case c.hadHeartbeat && c.now-c.leavingSince < c.o.Lease:
		// If heartbeats succeed again, this consumer releases its leases.
	default:
		// The other consumers see that the heartbeat is unchanged.
		c.stopped = true
		c.emit(Stopped{})
	}
}
