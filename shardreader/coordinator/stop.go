package coordinator

import (
	"log/slog"
	"time"
)

// stopState is the progress of this consumer's stop.
type stopState uint8

const (
	staying stopState = iota // no stop began. Next: leaving
	leaving                  // the consumer takes no lease and releases its own, at a soft or a hard stop. Next: gone
	gone                     // Stopped was emitted, or follows once the consumer's row is removed
)

// stop is the stop of this consumer.
type stop struct {
	state stopState
	since time.Duration // when the consumer began to leave
}

// staying reports whether no stop began.
func (c *Coordinator) staying() bool { return c.stop.state == staying }

// shutdown begins a soft stop. From now on no shard is read and no lease is taken. Each lease is released once the
// records that were read of its shard are durable.
func (c *Coordinator) shutdown() {
	if !c.staying() {
		return
	}
	c.stop = stop{leaving, c.now}
	c.writes.toTake = nil
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
	for _, r := range c.table.rows.all() {
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
	if c.stop.state != leaving || len(c.assignments) > 0 {
		return
	}
	switch {
	case c.heartbeatFresh():
		if c.table.rows.busy > 0 || c.table.rows.ownLeases > 0 {
			return
		}
		// A write may have happened, although its result was lost.
		isUncertain := c.refresh.sent < max(c.writes.last, c.stop.since) || len(c.writes.creating) > 0
		canWait := c.now-max(c.writes.last, c.stop.since) < 2*c.o.Lease // later the result stays unknown
		if isUncertain && canWait {
			if c.refresh.state == refreshWaits {
				c.refreshLeases()
			}
			return
		}
		c.stop.state = gone
		c.emit(RemoveMember{newCall(c, func(WriteResult) { c.emit(Stopped{}) }), c.o.ID})
	case c.contact.state != starting && c.now-c.stop.since < c.o.Lease:
		// If heartbeats succeed again, this consumer releases its leases.
	default:
		// The other consumers see that the heartbeat is unchanged.
		c.stop.state = gone
		c.emit(Stopped{})
	}
}
