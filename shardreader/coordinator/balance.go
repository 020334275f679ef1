package coordinator

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// A consumer requests a lease to even out the loads at most once in loadRequestEvery. To get its fair number of leases,
// a consumer requests up to maxRequests leases at once.
const (
	loadRequestEvery = 30 * time.Second
	maxRequests      = 16
)

// leaseShares describes how the consumers share the leases that should be read now.
type leaseShares struct {
	otherConsumers []string          // live consumers except this one
	ownedByOthers  map[string][]*row // leases of the other consumers, by consumer id
	ownCount       int               // number of leases of this consumer
	fairCount      int               // number of leases of each consumer if all had equally many, rounded up
	free           []*row            // leases that this consumer may take
}

// balance takes free leases up to the fair number. If no lease is free and this consumer has fewer than the fair
// number, it requests leases of other consumers. Consumers with equal numbers also exchange leases to spread the load.
func (c *Coordinator) balance() {
	if !c.heartbeatFresh() || !c.staying() {
		return
	}
	s := c.leaseShares()
	c.writes.toTake = c.writes.toTake[:0]
	for _, r := range s.free {
		if s.ownCount+len(c.writes.toTake) < s.fairCount || c.pinnedHere(r) || r.RequestedBy == c.o.ID {
			c.writes.toTake = append(c.writes.toTake, r)
		}
	}
	c.takeNext()
	if len(s.free) == 0 {
		c.requestLeases(s)
	}
}

func (c *Coordinator) leaseShares() leaseShares {
	live := c.liveConsumers()
	self := slices.Index(live, c.o.ID)
	others := slices.Delete(slices.Clone(live), self, self+1)
	s := leaseShares{otherConsumers: others, ownedByOthers: make(map[string][]*row)}
	active := 0
	for _, r := range c.table.rows.all() {
		if !c.isActive(r) {
			continue
		}
		active++
		switch {
		case c.isOwn(r):
			s.ownCount++
		case !c.isFree(r):
			s.ownedByOthers[r.Owner] = append(s.ownedByOthers[r.Owner], r)
		case c.pinnedElsewhere(r, live) == "":
			s.free = append(s.free, r)
		}
	}
	s.fairCount = (active + len(live) - 1) / len(live)
	// Each consumer begins at another index, so that two consumers seldom take the same lease.
	if n := len(s.free); n > 0 {
		start := n * self / len(live)
		s.free = append(s.free[start:n:n], s.free[:start]...)
	}
	return s
}

// requestLeases requests leases of other consumers, unless an earlier request waits. It always requests leases that are
// pinned to this consumer.
func (c *Coordinator) requestLeases(s leaseShares) {
	hasPendingRequest := false
	for _, id := range s.otherConsumers {
		for _, r := range s.ownedByOthers[id] {
			hasPendingRequest = hasPendingRequest || r.RequestedBy == c.o.ID
			if c.pinnedHere(r) && r.RequestedBy == "" && c.table.consumers[id].Name != r.Pinned {
				c.requestLease(r)
			}
		}
	}
	if !hasPendingRequest && !c.requestByCount(s) && c.now-c.loadRequested >= loadRequestEvery {
		c.requestByLoad(s)
	}
}

// requestByCount requests the least busy leases of the consumers with the most leases, up to the fair number. Each move
// must make the numbers more even. It reports whether it requested a lease.
func (c *Coordinator) requestByCount(s leaseShares) (requested bool) {
	remaining := make(map[string]int, len(s.otherConsumers))
	for _, id := range s.otherConsumers {
		remaining[id] = len(s.ownedByOthers[id])
	}
	for n := s.ownCount; n < s.fairCount && n-s.ownCount < maxRequests && len(s.otherConsumers) > 0; n++ {
		largest := slices.MaxFunc(s.otherConsumers, func(a, b string) int { return cmp.Compare(remaining[a], remaining[b]) })
		r := cheapestRequestable(s.ownedByOthers[largest], func(r *row) float64 { return r.Load })
		if remaining[largest] < n+2 || r == nil {
			break
		}
		remaining[largest]--
		c.requestLease(r)
		requested = true
	}
	return requested
}

// requestByLoad requests a lease of the busiest consumer if the move makes the loads of both more even.
func (c *Coordinator) requestByLoad(s leaseShares) {
	ownLoad := 0.0
	for a := range c.allAssignments() {
		ownLoad += a.row.Load
	}
	busiest, mostLoad, leastLoad, totalLoad := "", 0.0, ownLoad, ownLoad
	for _, id := range s.otherConsumers {
		load := 0.0
		for _, r := range s.ownedByOthers[id] {
			load += r.Load
		}
		totalLoad += load
		leastLoad = min(leastLoad, load)
		if load > mostLoad {
			busiest, mostLoad = id, load
		}
	}
	average, candidates := totalLoad/float64(len(s.otherConsumers)+1), s.ownedByOthers[busiest]
	difference := mostLoad - ownLoad
	if busiest == "" || leastLoad < ownLoad || difference < average/2 {
		return // this consumer is not the least busy one, or the loads are even enough
	}
	if len(candidates) < 2 || s.ownCount > len(candidates) {
		return
	}
	// The lease whose load is nearest to half of the difference.
	r := cheapestRequestable(candidates, func(r *row) float64 { return math.Abs(r.Load - difference/2) })
	if r != nil && r.Load > average/10 && r.Load < difference*0.8 {
		c.loadRequested = c.now
		c.requestLease(r)
	}
}

// cheapestRequestable returns the row with the lowest cost among the rows that may be requested; nil if there is none.
func cheapestRequestable(rows []*row, cost func(*row) float64) (best *row) {
	for _, r := range rows {
		if !r.busy && r.RequestedBy == "" && r.Pinned == "" && (best == nil || cost(r) < cost(best)) {
			best = r
		}
	}
	return best
}

func (c *Coordinator) requestLease(r *row) {
	if r.busy {
		return
	}
	next := r.Clone()
	next.RequestedBy = c.o.ID
	c.writeLease(&leaseWrite{reason: requestLease, row: r, next: next})
}
