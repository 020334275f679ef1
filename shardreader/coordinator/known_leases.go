package coordinator

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/tablewake/tablewake/shardreader/leases"
)

// rows are the leases that a consumer knows. A fleet may read tens of thousands of shards. So work for one lease never
// visits all leases. Instead, each change of a lease updates the counts below. Only work for all leases (a refresh, a
// listing, a heartbeat, a stop) visits each lease, and visits it once.
type rows struct {
	owner    string // consumer id of this consumer
	byShard  map[string]*row
	children map[string][]*row // maps a shard to the rows that name it as a parent
	sorted   []*row            // by shard; nil if it is out of date

	unended   int // number of leases without the checkpoint SHARD_END
	ownLeases int // number of leases of this consumer
	writing   int // number of busy rows
	walked    int // number of rows that the method all has returned so far; tests check its growth
}

// row is a lease as this consumer knows it.
type row struct {
	leases.Lease
	unchangedSince time.Duration // when this consumer first saw the present owner and counter
	writtenAt      time.Duration // when the result of the last write of this row came
	// seenAt is the latest time at which the table is known to have held this row: when the read was sent, or when the
	// result of the write came
	seenAt        time.Duration
	confirmedAt   time.Duration // last successful write: it proves that no other consumer had taken the lease
	busy          bool          // a write of this row is in flight or queued
	assignment    *assignment   // nil if this consumer does not read the shard
	callsInFlight int           // calls in flight that read the shard, also those of earlier assignments
	// mayStartAtLatest: this consumer created the lease at LATEST less than 5 s ago, and has not read the shard
	mayStartAtLatest bool
}

// get returns the lease of a shard; nil if none is known.
func (s *rows) get(shard string) *row { return s.byShard[shard] }

func (s *rows) len() int { return len(s.byShard) }

// all returns the leases, sorted by shard. Leases that are added or removed later do not change the slice.
func (s *rows) all() []*row {
	if s.sorted == nil {
		s.sorted = slices.SortedFunc(maps.Values(s.byShard), func(a, b *row) int { return cmp.Compare(a.Shard, b.Shard) })
	}
	s.walked += len(s.sorted)
	return s.sorted
}

// any reports whether matches is true for at least one lease.
func (s *rows) any(matches func(*row) bool) bool { return slices.ContainsFunc(s.all(), matches) }

// hasChild reports whether a lease names a shard as its parent.
func (s *rows) hasChild(shard string) bool { return len(s.children[shard]) > 0 }

// add adds a lease.
func (s *rows) add(r *row) {
	s.byShard[r.Shard] = r
	s.sorted = nil
	s.addToCounts(r, +1)
	s.addToParents(r)
}

// remove removes a lease.
func (s *rows) remove(r *row) {
	delete(s.byShard, r.Shard)
	s.sorted = nil
	s.addToCounts(r, -1)
	s.removeFromParents(r)
}

// change updates a lease.
func (s *rows) change(r *row, l leases.Lease) {
	if s.byShard[r.Shard] != r { // r was removed before
		r.Lease = l
		return
	}
	s.addToCounts(r, -1)
	if slices.Equal(r.Parents, l.Parents) { // the usual case
		r.Lease = l
	} else {
		s.removeFromParents(r)
		r.Lease = l
		s.addToParents(r)
	}
	s.addToCounts(r, +1)
}

// writeBegan notes that a lease is being written.
func (s *rows) writeBegan(r *row) {
	r.busy = true
	s.writing++
}

// writeEnded notes that the write has ended.
func (s *rows) writeEnded(r *row, now time.Duration) {
	r.busy, r.writtenAt = false, now
	s.writing--
}

// addToCounts adds n to each count that the lease is part of.
func (s *rows) addToCounts(r *row, n int) {
	if !r.Ended() {
		s.unended += n
	}
	if r.Owner == s.owner {
		s.ownLeases += n
	}
}

func (s *rows) addToParents(r *row) {
	for _, parent := range r.Parents {
		s.children[parent] = append(s.children[parent], r)
	}
}

func (s *rows) removeFromParents(r *row) {
	for _, parent := range r.Parents {
		remaining := slices.DeleteFunc(s.children[parent], func(other *row) bool { return other == r })
		if len(remaining) == 0 {
			delete(s.children, parent)
		} else {
			s.children[parent] = remaining
		}
	}
}

// allAssignments returns the assignments, sorted by shard.
func (c *Coordinator) allAssignments() iter.Seq[*assignment] {
	return func(yield func(*assignment) bool) {
		for _, r := range c.table.rows.all() {
			if r.assignment != nil && !yield(r.assignment) {
				return
			}
		}
	}
}
