package coordinator

import (
	"log/slog"
	"time"

	"github.com/tablewake/tablewake/shardreader/leases"
)

// takeoverAfter is how long a lease of another application must stay unchanged before it is taken. Owners of another
// application send no heartbeats.
const takeoverAfter = 30 * time.Second

// isKnown reports whether a row is still the row of its shard.
func (c *Coordinator) isKnown(r *row) bool { return c.table.rows.get(r.Shard) == r }

func (c *Coordinator) isOwn(r *row) bool { return r.Owner == c.options.ID }

// parentsDone reports whether every parent of a shard was read to its end: the parent's lease has ended, or was
// removed. Only an ended lease is removed.
func (c *Coordinator) parentsDone(r *row) bool {
	for _, id := range r.Parents {
		parent := c.table.rows.get(id)
		isUnended := parent != nil && !parent.Ended()
		if isUnended || c.table.damaged[id] {
			return false
		}
	}
	return true
}

// isActive reports whether some consumer should read a lease's shard now.
func (c *Coordinator) isActive(r *row) bool {
	return !r.Ended() && r.Stream != "" && c.parentsDone(r)
}

// isFree reports whether a lease may be taken: it has no owner, or its owner is gone.
func (c *Coordinator) isFree(r *row) bool {
	switch {
	case !c.isActive(r) || r.busy:
		return false
	case r.Owner == "":
		return !c.table.foreignActive && !c.isRequested(r)
	case c.isOwn(r):
		return false // handleSnapshot opens it
	case c.table.consumers[r.Owner] != nil:
		return !c.alive(r.Owner)
	case c.table.departed[r.Owner]:
		return true
	default: // the owner belongs to another application, which raises the counter while it runs
		return !c.table.foreignActive
	}
}

// isRequested reports whether a recent request gives another consumer the first right to take a lease.
func (c *Coordinator) isRequested(r *row) bool {
	if r.RequestedBy == "" || r.RequestedBy == c.options.ID {
		return false
	}
	isRecent := c.now-r.unchangedSince <= 4*c.options.ReadEvery
	return isRecent && c.alive(r.RequestedBy) && !c.table.consumers[r.RequestedBy].Leaving
}

// detectForeign sets table.foreignActive if another application raises the counters of leases whose owners are unknown
// to this fleet. While these counters rise, this consumer takes no lease that has no owner or an unknown owner.
func (c *Coordinator) detectForeign() {
	c.table.foreignActive = false
	for _, r := range c.table.rows.all() {
		knowsOwner := r.Owner == "" || c.isOwn(r) || c.table.consumers[r.Owner] != nil || c.table.departed[r.Owner]
		counterRises := c.now-r.unchangedSince <= takeoverAfter
		if r.Ended() || knowsOwner || !counterRises {
			continue
		}
		c.table.foreignActive = true
		c.logOnce("foreign "+r.Owner, slog.LevelWarn,
			"leases belong to another application: none is taken until their counters stop rising; stop the other application",
			slog.String("owner", r.Owner), slog.Duration("after", takeoverAfter))
	}
}

// takeNext takes leases from toTake, up to maxWrites at once.
func (c *Coordinator) takeNext() {
	for len(c.writes.toTake) > 0 && c.writes.taking < maxWrites && c.heartbeatFresh() && c.isRunning() {
		r := c.writes.toTake[0]
		c.writes.toTake = c.writes.toTake[1:]
		if !c.isKnown(r) || !c.isFree(r) {
			continue
		}
		next := r.Clone()
		next.Owner, next.RequestedBy = c.options.ID, ""
		next.Counter++
		c.writes.taking++
		c.writeLease(&leaseWrite{
			row: r, next: next,
			written: func() {
				c.log(slog.LevelInfo, "took a lease", shardAttr(r.Shard), checkpointAttr(next))
				c.tryOpen(r)
			},
			ended: func(error) {
				c.writes.taking--
				c.takeNext()
			},
		})
	}
}

// tryOpen opens a lease if this consumer owns it and may read it now.
func (c *Coordinator) tryOpen(r *row) {
	isInUse := r.assignment != nil || r.busy || r.callsInFlight > 0
	isOutdated := r.seenAt < c.heartbeats.resumedAt // another consumer may have taken the lease since
	if isInUse || isOutdated || !c.heartbeatFresh() || !c.isRunning() {
		return
	}
	mayRead := c.isKnown(r) && c.isOwn(r) && c.isActive(r)
	if !mayRead {
		return
	}
	if r.confirmedAt >= c.heartbeats.resumedAt {
		c.openAssignment(r)
		return
	}
	// Heartbeats had stopped, so another consumer may be taking the lease now. Only a successful write shows that no
	// consumer does.
	next := r.Clone()
	next.Counter++
	c.writeLease(&leaseWrite{row: r, next: next, written: func() { c.tryOpen(r) }})
}

// loseLease revokes an assignment whose lease this consumer has lost.
func (c *Coordinator) loseLease(a *assignment) {
	c.log(slog.LevelWarn, "lost a lease", shardAttr(a.row.Shard), slog.String("owner", a.row.Owner))
	c.revoke(a, ErrLeaseLost)
}

// revoke revokes an assignment, and closes it.
func (c *Coordinator) revoke(a *assignment, cause error) {
	c.emit(Revoke{a.name, cause})
	c.closeAssignment(a)
}

func checkpointAttr(l leases.Lease) slog.Attr {
	return slog.String("checkpoint", l.Checkpoint.String())
}

func shardAttr(shard string) slog.Attr { return slog.String("shard", shard) }
