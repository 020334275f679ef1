package leases

import (
	"maps"
	"slices"
	"strings"
)

// Sort sorts the fields of s as [Snapshot] promises. Implementations of [Table] call it.
func (s *Snapshot) Sort() {
	slices.SortFunc(s.Leases, func(a, b Lease) int { return strings.Compare(a.Shard, b.Shard) })
	slices.SortFunc(s.Members, func(a, b Member) int { return strings.Compare(a.ID, b.ID) })
	slices.Sort(s.BegunStreams)
	slices.SortFunc(s.DamagedLeases, func(a, b DamagedLease) int { return strings.Compare(a.Shard, b.Shard) })
}

// CountRead returns the number n of shards that tablewake has read, in part or to their end, and the first of these
// shards. A lease of another application counts only after a tablewake consumer has written a checkpoint.
func (s Snapshot) CountRead() (first string, n int) {
	for _, l := range s.Leases {
		wasRead := l.Checkpoint.Kind == Sequence || l.Checkpoint.Kind == ShardEnd
		byTablewake := l.First != "" || !l.Time.IsZero()
		if !wasRead || !byTablewake {
			continue
		}
		if n == 0 {
			first = l.Shard
		}
		n++
	}
	return first, n
}

// Foreign returns the lease owners without a member row, sorted. They are KCL workers of another application, dead or
// alive, or consumers whose rows have expired. [ActiveForeign] returns the owners among them that are alive. Foreign
// ignores ended leases, because KCL never clears the last owner of an ended lease.
func (s Snapshot) Foreign() []string {
	owners := make(map[string]bool)
	for _, l := range s.Leases {
		if l.Owner != "" && !l.Ended() {
			owners[l.Owner] = true
		}
	}
	for _, m := range s.Members {
		delete(owners, m.ID)
	}
	return slices.Sorted(maps.Keys(owners))
}

// ActiveForeign returns the foreign owners that changed a lease between two reads, sorted. A KCL application renews its
// leases every few seconds, even if it is idle. If two reads some time apart show no active owner, the application has
// stopped, and its leases can be taken.
func ActiveForeign(before, after Snapshot) []string {
	foreign := after.Foreign()
	earlier := make(map[string]Lease, len(before.Leases))
	for _, l := range before.Leases {
		earlier[l.Shard] = l
	}
	active := make(map[string]bool)
	for _, l := range after.Leases {
		if l.Ended() {
			continue
		}
		if _, isForeign := slices.BinarySearch(foreign, l.Owner); !isForeign {
			continue
		}
		old, isKnown := earlier[l.Shard]
		isUnchanged := isKnown && old.Owner == l.Owner && old.Counter == l.Counter
		if !isUnchanged {
			active[l.Owner] = true
		}
	}
	return slices.Sorted(maps.Keys(active))
}
