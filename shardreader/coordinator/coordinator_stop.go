package coordinator

import (
	"log/slog"
	"time"
)

// stopState is the progress of this consumer's stop.
type stopState uint8

const (
	stopNotBegun  stopState = iota // the consumer runs. Next: stopReleasing
	stopReleasing                  // the consumer takes no lease, and releases its own leases. Next: stopDone
	stopDone                       // Stopped was emitted, or follows once the consumer's row is removed
)

// stop is the stop of this consumer, soft or hard.
type stop struct {
	state   stopState
	begunAt time.Duration
}

// isRunning reports whether no stop began.
func (c *Coordinator) isRunning() bool { return c.stop.state == stopNotBegun }

// shutdown begins a soft stop. From now on no shard is read and no lease is taken. Each lease is released once the
// records that were read of its shard are durable.
func (c *Coordinator) shutdown() {
	if !c.isRunning() {
		return
	}
	c.stop = stop{stopReleasing, c.now}
	c.writes.toTake = nil
	c.log(slog.LevelInfo, "leaving: each lease is released once its records are durable",
		slog.Int("partitions", len(c.assignments)))
	for a := range c.allAssignments() {
		a.successor = "" // also if it drains for another consumer already
		c.drain(a, "")
	}
	c.releaseUnassigned()
	c.sendHeartbeat()
	c.refreshLeases()
	c.after(c.options.Lease, func() {}) // checkStopped is called then, if nothing else happens
}

// abandon begins a stop, revokes all assignments, and releases their leases at their durable positions.
func (c *Coordinator) abandon() {
	c.shutdown()
	for a := range c.allAssignments() {
		c.emit(Revoke{a.name, ErrStoppedHard})
		a.inFlight.pages, a.inFlight.recordCount = nil, 0
		c.save(a)
	}
}

// releaseUnassigned releases the leases that this consumer owns and does not read.
func (c *Coordinator) releaseUnassigned() {
	for _, r := range c.table.rows.all() {
		c.releaseIfUnassigned(r)
	}
}

// releaseIfUnassigned releases a lease if this consumer owns it and does not read it.
func (c *Coordinator) releaseIfUnassigned(r *row) {
	isUnassigned := c.isKnown(r) && c.isOwn(r) && r.assignment == nil
	if isUnassigned && !r.busy && c.heartbeatFresh() {
		c.release(r, r.Clone(), "")
	}
}

// checkStopped ends a stop when it is complete.
func (c *Coordinator) checkStopped() {
	if c.stop.state != stopReleasing || len(c.assignments) > 0 {
		return
	}
	if !c.heartbeatFresh() {
		// Once a heartbeat succeeds again, this consumer releases its leases. If none succeeds soon, the other consumers
		// see that the heartbeat is unchanged, and take the leases.
		mayRecover := c.heartbeats.state != heartbeatsAwaited && c.now-c.stop.begunAt < c.options.Lease
		if !mayRecover {
			c.stop.state = stopDone
			c.emit(Stopped{})
		}
		return
	}
	isReleasing := c.table.rows.writing > 0 || c.table.rows.ownLeases > 0
	if isReleasing {
		return
	}
	if c.awaitsUnknownResult() {
		if c.refresh.state == refreshScheduled {
			c.refreshLeases()
		}
		return
	}
	c.stop.state = stopDone
	c.emit(RemoveMember{newCall(c, func(WriteResult) { c.emit(Stopped{}) }), c.options.ID})
}

// awaitsUnknownResult reports whether the stop waits until the table shows the leases of this consumer. A write may
// have happened although its result was lost, so this consumer may own a lease that it does not know. The stop waits
// for two lease times at most.
func (c *Coordinator) awaitsUnknownResult() bool {
	lastChange := max(c.writes.lastEnded, c.stop.begunAt)
	isUncertain := c.refresh.lastSent < lastChange || len(c.writes.creating) > 0
	return isUncertain && c.now-lastChange < 2*c.options.Lease
}
