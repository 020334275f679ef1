package leases

import (
	"slices"
	"time"
)

// Unpassed returns, sorted, the shards that may have records made before at that a sink has not stored. seen has the
// heartbeats of the consumers that the caller saw at that time or later ([Snapshot.Heartbeats]).
//
// A shard has passed the time if it was read to its end; if the record at its checkpoint was made after the time,
// since a shard's records have the order of their times; or if its consumer says that it had checkpointed all that the
// shard had, in a heartbeat sent after seen. A shard with a parent that is not read to its end is not listed: its
// records come after those of the parent.
func (s Snapshot) Unpassed(at time.Time, seen map[string]int64) []string {
	unended := make(map[string]bool)
	for _, l := range s.Leases {
		unended[l.Shard] = !l.Ended()
	}
	members := make(map[string]Member)
	for _, m := range s.Members {
		members[m.Worker] = m
	}
	var unpassed []string
	for _, l := range s.Leases {
		m, known := members[l.Owner]
		beat, watched := seen[l.Owner]
		switch {
		case l.Ended():
		case slices.ContainsFunc(l.Parents, func(p string) bool { return unended[p] }):
		case l.Time.After(at):
		case known && watched && m.Quiet > beat+1 && !slices.Contains(m.Busy, l.Shard): // the heartbeat after beat may have been on its way
		default:
			unpassed = append(unpassed, l.Shard)
		}
	}
	slices.Sort(unpassed)
	return unpassed
}

// Heartbeats returns the number of each consumer's last heartbeat.
func (s Snapshot) Heartbeats() map[string]int64 {
	beats := make(map[string]int64, len(s.Members))
	for _, m := range s.Members {
		beats[m.Worker] = m.Heartbeat
	}
	return beats
}
