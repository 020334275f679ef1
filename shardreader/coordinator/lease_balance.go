package coordinator

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// To even out the loads, a consumer requests at most one lease in each loadRequestEvery. To get its fair number of
// leases, a consumer requests up to maxRequests leases at once.
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
	if !c.heartbeatFresh() || !c.isRunning() {
		return
	}
	s := c.leaseShares()
	c.writes.toTake = c.writes.toTake[:0]
	for _, r := range s.free {
		isBelowFair := s.ownCount+len(c.writes.toTake) < s.fairCount
		if isBelowFair || c.pinnedHere(r) || r.RequestedBy == c.options.ID {
			c.writes.toTake = append(c.writes.toTake, r)
		}
	}
	c.takeNext()
	if len(s.free) == 0 {
		c.requestLeases(s)
	}
}

// leaseShares returns how the consumers share the leases. This consumer must be live.
func (c *Coordinator) leaseShares() leaseShares {
	live := c.liveConsumers()
	ownIndex := slices.Index(live, c.options.ID)
	s := leaseShares{
		otherConsumers: slices.Delete(slices.Clone(live), ownIndex, ownIndex+1),
		ownedByOthers:  make(map[string][]*row),
	}
	activeCount := 0
	for _, r := range c.table.rows.all() {
		if !c.isActive(r) {
			continue
		}
		activeCount++
		switch {
		case c.isOwn(r):
			s.ownCount++
		case !c.isFree(r):
			s.ownedByOthers[r.Owner] = append(s.ownedByOthers[r.Owner], r)
		case c.pinnedElsewhere(r, live) == "":
			s.free = append(s.free, r)
		}
	}
	s.fairCount = (activeCount + len(live) - 1) / len(live)
	// Each consumer begins at another index, so that two consumers seldom take the same lease.
	start := len(s.free) * ownIndex / len(live)
	s.free = slices.Concat(s.free[start:], s.free[:start])
	return s
}

// requestLeases requests leases of other consumers: always the leases that are pinned to this consumer, and others
// unless an earlier request waits.
func (c *Coordinator) requestLeases(s leaseShares) {
	isWaiting := func(r *row) bool { return r.RequestedBy == c.options.ID }
	hasWaiting := false
	for _, id := range s.otherConsumers {
		c.requestPinned(s.ownedByOthers[id], c.table.consumers[id].Name)
		hasWaiting = hasWaiting || slices.ContainsFunc(s.ownedByOthers[id], isWaiting)
	}
	if !hasWaiting && !c.requestByCount(s) && c.now-c.loadRequestedAt >= loadRequestEvery {
		c.requestByLoad(s)
	}
}

// requestPinned requests the leases of another consumer that are pinned to this consumer, and not to ownerName too.
func (c *Coordinator) requestPinned(owned []*row, ownerName string) {
	for _, r := range owned {
		if c.pinnedHere(r) && r.RequestedBy == "" && ownerName != r.Pinned {
			c.requestLease(r)
		}
	}
}

// requestByCount requests the least busy leases of the consumers with the most leases, up to the fair number. Each move
// must make the numbers more even. It reports whether it requested a lease.
func (c *Coordinator) requestByCount(s leaseShares) bool {
	if len(s.otherConsumers) == 0 {
		return false
	}
	// counts and ownCount are the numbers of leases after the moves that were requested so far.
	counts := make(map[string]int, len(s.otherConsumers))
	for _, id := range s.otherConsumers {
		counts[id] = len(s.ownedByOthers[id])
	}
	ownCount := s.ownCount
	loadOf := func(r *row) float64 { return r.Load }
	for ownCount < min(s.fairCount, s.ownCount+maxRequests) {
		largest := slices.MaxFunc(s.otherConsumers, func(a, b string) int { return cmp.Compare(counts[a], counts[b]) })
		r := cheapestRequestable(s.ownedByOthers[largest], loadOf)
		isMoreEven := counts[largest]-1 > ownCount
		if !isMoreEven || r == nil {
			break
		}
		counts[largest]--
		ownCount++
		c.requestLease(r)
	}
	return ownCount > s.ownCount
}

// requestByLoad requests a lease of the busiest consumer, if this consumer is the least busy one and the move makes the
// loads of both more even.
func (c *Coordinator) requestByLoad(s leaseShares) {
	ownLoad := 0.0
	for a := range c.allAssignments() {
		ownLoad += a.row.Load
	}
	var busiest []*row // leases of the busiest consumer
	totalLoad, mostLoad := ownLoad, 0.0
	for _, id := range s.otherConsumers {
		load := sumLoads(s.ownedByOthers[id])
		if load < ownLoad {
			return // a less busy consumer requests a lease
		}
		totalLoad += load
		if load > mostLoad {
			busiest, mostLoad = s.ownedByOthers[id], load
		}
	}
	average := totalLoad / float64(len(s.otherConsumers)+1)
	difference := mostLoad - ownLoad
	isEven := difference < average/2
	hasFewLeases := len(busiest) < max(2, s.ownCount)
	if isEven || hasFewLeases {
		return
	}
	// The lease whose load is nearest to half of the difference.
	r := cheapestRequestable(busiest, func(r *row) float64 { return math.Abs(r.Load - difference/2) })
	if r == nil {
		return
	}
	isNoticeable := r.Load > average/10
	evensOut := r.Load < difference*0.8 // a reversed difference is below 0.6 of the old one
	if isNoticeable && evensOut {
		c.loadRequestedAt = c.now
		c.requestLease(r)
	}
}

func sumLoads(rows []*row) (sum float64) {
	for _, r := range rows {
		sum += r.Load
	}
	return sum
}

// cheapestRequestable returns the row with the lowest cost among the rows that may be requested; nil if there is none.
func cheapestRequestable(rows []*row, cost func(*row) float64) (cheapest *row) {
	for _, r := range rows {
		isRequestable := !r.busy && r.RequestedBy == "" && r.Pinned == ""
		if isRequestable && (cheapest == nil || cost(r) < cost(cheapest)) {
			cheapest = r
		}
	}
	return cheapest
}

// requestLease requests a lease from its owner, unless the lease is being written.
func (c *Coordinator) requestLease(r *row) {
	if r.busy {
		return
	}
	next := r.Clone()
	next.RequestedBy = c.options.ID
	c.writeLease(&leaseWrite{row: r, next: next})
}
