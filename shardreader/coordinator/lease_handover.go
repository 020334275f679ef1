package coordinator

import (
	"log/slog"
	"slices"
	"time"

	"github.com/tablewake/tablewake/shardreader/leases"
)

// handoverAfter is how long a requested lease may drain before it is handed over at its durable position.
const handoverAfter = 30 * time.Second

// handOver begins to drain the leases that are requested by another live consumer, or pinned to one. It ends the
// requests that it does not follow.
func (c *Coordinator) handOver() {
	live := c.liveConsumers()
	for a := range c.allAssignments() {
		r := a.row
		isRequested := r.RequestedBy != ""
		mayMove := isRequested || r.Pinned != ""
		if !mayMove || r.busy || a.phase == draining {
			continue
		}
		if successor := c.successor(r, live); successor != "" {
			c.drain(a, successor)
			continue
		}
		if isRequested { // the lease stays here, so the request ends
			next := r.Clone()
			next.RequestedBy = ""
			c.writeLease(&leaseWrite{row: r, next: next})
		}
	}
}

// successor returns the consumer that should get a lease of this consumer; "" if this consumer keeps the lease.
func (c *Coordinator) successor(r *row, live []string) string {
	if id := c.pinnedElsewhere(r, live); id != "" {
		return id
	}
	isRequestedByOther := r.RequestedBy != c.options.ID && slices.Contains(live, r.RequestedBy)
	if isRequestedByOther && !c.pinnedHere(r) {
		return r.RequestedBy
	}
	return ""
}

// pinnedHere reports whether a lease is pinned to this consumer.
func (c *Coordinator) pinnedHere(r *row) bool { return r.Pinned != "" && r.Pinned == c.options.Name }

// pinnedElsewhere returns the id of another live consumer that a lease is pinned to; "" if there is none.
func (c *Coordinator) pinnedElsewhere(r *row, live []string) string {
	if r.Pinned == "" || r.Pinned == c.options.Name {
		return ""
	}
	for _, id := range live {
		consumer := c.table.consumers[id]
		if id != c.options.ID && consumer != nil && consumer.Name == r.Pinned {
			return id
		}
	}
	return ""
}

// drain stops the reading of an assignment and has the pipeline write its pages, so that the lease can be handed over.
// After handoverAfter, the lease is handed over anyway.
func (c *Coordinator) drain(a *assignment, successor string) {
	if a.phase == draining {
		return
	}
	a.enter(draining)
	a.successor = successor
	c.dropUntaken(a)
	c.emit(Drain{a.name})
	c.after(handoverAfter, func() {
		if a.isOpen() && c.isRunning() {
			c.log(slog.LevelWarn, "a requested lease is handed over before all records read of its shard are durable",
				shardAttr(a.row.Shard))
			c.revokeAndRelease(a)
		}
	})
	c.save(a)
}

// revokeAndRelease hands a lease over at its durable position, without waiting for the pipeline.
func (c *Coordinator) revokeAndRelease(a *assignment) {
	r := a.row
	next := c.currentLease(a)
	c.revoke(a, ErrHandedOver)
	if !r.busy { // otherwise the end of the write in flight decides whether the lease is opened again or lost
		c.release(r, next, a.successor)
	}
}

// release removes the owner of a lease. The consumer successor may take the lease before other consumers do. If
// successor is "", any consumer may take it. successor does not become the owner here, because it may be gone already.
func (c *Coordinator) release(r *row, next leases.Lease, successor string) {
	next.Owner, next.RequestedBy = "", successor
	next.Counter++
	c.writeLease(&leaseWrite{
		row: r, next: next,
		mustRetry: func() bool { return c.isKnown(r) && c.heartbeatFresh() },
		written: func() {
			c.log(slog.LevelInfo, "released a lease", shardAttr(r.Shard), slog.String("to", successor), checkpointAttr(next))
		},
	})
}
