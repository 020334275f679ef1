package leases

// Consumed is how many shards were read by consumers of our own, in part or to their end, and the first
// of them. Leases of another application that nobody of ours has checkpointed do not count.
func (s Snapshot) Consumed() (first string, n int) {
	for _, l := range s.Leases {
		if l.Checkpoint.Kind != Sequence && l.Checkpoint.Kind != ShardEnd || l.First == "" && l.Time.IsZero() {
			continue
		}
		if n++; n == 1 {
			first = l.Shard
		}
	}
	return first, n
}
