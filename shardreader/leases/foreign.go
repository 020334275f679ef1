package leases

import (
	"maps"
	"slices"
)

// Foreign are the owners of leases that are no members, in order: the workers of another
// application, dead or alive, or ours whose rows are long gone. [Moving] tells whether they live.
// Leases that have ended do not count: KCL leaves their last owner in them for ever.
func (s Snapshot) Foreign() []string {
	owners := make(map[string]bool)
	for _, l := range s.Leases {
		if l.Owner != "" && !l.Ended() {
			owners[l.Owner] = true
		}
	}
	for _, m := range s.Members {
		delete(owners, m.Worker)
	}
	return slices.Sorted(maps.Keys(owners))
}

// Moving are the owners that are no members and that changed one of their leases between
// two reads, in order. Another application renews its leases every few seconds, idle or not: where two reads that are
// well apart show none moving, it is at rest, and its leases can be taken.
func Moving(before, after Snapshot) []string {
	foreign := after.Foreign()
	was := make(map[string]Lease, len(before.Leases))
	for _, l := range before.Leases {
		was[l.Shard] = l
	}
	moving := make(map[string]bool)
	for _, l := range after.Leases {
		if l.Ended() {
			continue
		}
		if _, isForeign := slices.BinarySearch(foreign, l.Owner); !isForeign {
			continue
		}
		if old, known := was[l.Shard]; !known || old.Owner != l.Owner || old.Counter != l.Counter {
			moving[l.Owner] = true
		}
	}
	return slices.Sorted(maps.Keys(moving))
}
