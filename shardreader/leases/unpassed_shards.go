package leases

import (
	"slices"
	"time"
)

// Unpassed returns, sorted, the shards that may have records from before the time at that a sink has not stored. seen
// has a heartbeat of each consumer that was read from the table at the time at or later; see [Snapshot.Heartbeats].
//
// A shard has passed the time at in each of these cases:
//   - It was read to its end.
//   - The record at its checkpoint was created after at. The records of a shard are ordered by their times.
//   - Its consumer reported that all records of the shard were checkpointed, in a heartbeat sent after those in seen,
//     and has not stopped reading the shard.
//
// A shard with a parent that is not read to its end is not returned, because its records come after those of the
// parent. Always returned are a shard with a damaged lease, and a shard without a lease that a consumer reports as
// stopped.
func (s Snapshot) Unpassed(at time.Time, seen map[string]int64) []string {
	unended := make(map[string]bool)
	for _, l := range s.Leases {
		unended[l.Shard] = !l.Ended()
	}
	members := make(map[string]Member)
	for _, m := range s.Members {
		members[m.ID] = m
	}
	unpassed := s.shardsNobodyReads()
	for _, l := range s.Leases {
		owner, hasMember := members[l.Owner]
		seenHeartbeat, wasSeen := seen[l.Owner]
		_, isStopped := owner.Stopped[l.Shard]
		// The heartbeat after seenHeartbeat may have been in flight when seen was read, hence + 1.
		reportsLater := hasMember && wasSeen && owner.QuietHeartbeat > seenHeartbeat+1
		isReported := reportsLater && !isStopped && !slices.Contains(owner.BusyShards, l.Shard)
		awaitsParent := slices.ContainsFunc(l.Parents, func(parent string) bool { return unended[parent] })
		hasPassed := l.Ended() || l.Time.After(at) || isReported
		if !hasPassed && !awaitsParent {
			unpassed = append(unpassed, l.Shard)
		}
	}
	slices.Sort(unpassed)
	return slices.Compact(unpassed)
}

// shardsNobodyReads returns the shards with damaged leases, and the shards without a lease that a consumer has reported
// as stopped, as after the loss of their parent.
func (s Snapshot) shardsNobodyReads() (shards []string) {
	isKnown := make(map[string]bool)
	for _, l := range s.Leases {
		isKnown[l.Shard] = true
	}
	for _, damaged := range s.DamagedLeases {
		isKnown[damaged.Shard] = true
		if !damaged.OfStream {
			shards = append(shards, damaged.Shard)
		}
	}
	for _, m := range s.Members {
		for shard := range m.Stopped {
			if !isKnown[shard] {
				shards = append(shards, shard)
			}
		}
	}
	return shards
}

// Heartbeats returns the number of each consumer's last heartbeat, by consumer id.
func (s Snapshot) Heartbeats() map[string]int64 {
	heartbeats := make(map[string]int64, len(s.Members))
	for _, m := range s.Members {
		heartbeats[m.ID] = m.Heartbeat
	}
	return heartbeats
}
