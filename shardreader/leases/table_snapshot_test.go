package leases_test

import (
	"testing"
	"time"

	"github.com/tablewake/tablewake/shardreader/leases"
)

// Reads of our own consumers prove that there was a state. Leases that are taken over from another application, and
// unread leases, do not.
func TestConsumed(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	theirs := leases.Lease{Shard: "a", Stream: "arn", Checkpoint: leases.After("7"), Owner: "kcl"}
	ended := leases.Lease{Shard: "b", Checkpoint: leases.Checkpoint{Kind: leases.ShardEnd}}
	unread := leases.Lease{Shard: "c", First: "1", Checkpoint: leases.Checkpoint{Kind: leases.TrimHorizon}}
	ours := leases.Lease{Shard: "d", First: "1", Checkpoint: leases.After("7")}
	taken := leases.Lease{Shard: "e", Time: at, Checkpoint: leases.After("9")}
	done := leases.Lease{Shard: "f", First: "1", Checkpoint: leases.Checkpoint{Kind: leases.ShardEnd}}
	if first, n := (leases.Snapshot{Leases: []leases.Lease{theirs, ended, unread}}).CountRead(); n != 0 {
		t.Errorf("%s and %d shards count as read by us", first, n)
	}
	if first, n := (leases.Snapshot{Leases: []leases.Lease{theirs, ours, taken, done}}).CountRead(); n != 3 || first != "d" {
		t.Errorf("%d shards, the first %s: want 3, the first d", n, first)
	}
}
