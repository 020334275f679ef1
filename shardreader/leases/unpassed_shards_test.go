package leases_test

import (
	"slices"
	"testing"
	"time"

	"github.com/tablewake/tablewake/shardreader/leases"
)

func TestUnpassed(t *testing.T) {
	at := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	read := leases.Checkpoint{Kind: leases.Sequence, Sequence: "5"}
	for name, c := range map[string]struct {
		lease  leases.Lease
		member leases.Member
		passed bool
	}{
		"read to its end":               {lease: leases.Lease{Checkpoint: leases.Checkpoint{Kind: leases.ShardEnd}}, passed: true},
		"a record of after":             {lease: leases.Lease{Checkpoint: read, Time: at.Add(time.Second)}, passed: true},
		"a record of then":              {lease: leases.Lease{Checkpoint: read, Time: at}},
		"nothing was read, no owner":    {},
		"quiet since a later heartbeat": {lease: leases.Lease{Owner: "c", Checkpoint: read, Time: at.Add(-time.Hour)}, member: leases.Member{ID: "c", QuietHeartbeat: 12}, passed: true},
		"quiet since the next heartbeat, which may be of before": {lease: leases.Lease{Owner: "c", Checkpoint: read}, member: leases.Member{ID: "c", QuietHeartbeat: 11}},
		"quiet, and this shard is busy":                          {lease: leases.Lease{Owner: "c", Checkpoint: read}, member: leases.Member{ID: "c", QuietHeartbeat: 12, BusyShards: []string{"shard"}}},
		"quiet, and this shard is read no further":               {lease: leases.Lease{Owner: "c", Checkpoint: read}, member: leases.Member{ID: "c", QuietHeartbeat: 12, Stopped: map[string]string{"shard": "a gap"}}},
		"a consumer that was not seen then":                      {lease: leases.Lease{Owner: "new", Checkpoint: read}, member: leases.Member{ID: "new", QuietHeartbeat: 12}},
	} {
		c.lease.Shard = "shard"
		child := leases.Lease{Shard: "child", Parents: []string{"shard"}}
		if c.lease.Ended() {
			child.Checkpoint = c.lease.Checkpoint
		}
		s := leases.Snapshot{Leases: []leases.Lease{c.lease, child}, Members: []leases.Member{c.member}}
		got := s.Unpassed(at, map[string]int64{"c": 10})
		if want := []string{"shard"}; c.passed && len(got) > 0 || !c.passed && !slices.Equal(got, want) {
			t.Errorf("%s: unpassed are %v", name, got)
		}
	}
	quiet := leases.Member{ID: "c", QuietHeartbeat: 12, Stopped: map[string]string{"damaged": "its row", "begun#s": "its row", "orphan": "its parent is gone"}}
	unread := leases.Snapshot{
		Leases:        []leases.Lease{{Shard: "shard", Owner: "c", Checkpoint: read}},
		DamagedLeases: []leases.DamagedLease{{Shard: "damaged"}, {Shard: "begun#s", OfStream: true}},
		Members:       []leases.Member{quiet},
	}
	if got := unread.Unpassed(at, map[string]int64{"c": 10}); !slices.Equal(got, []string{"damaged", "orphan"}) {
		t.Errorf("of shards that nobody can read: %v", got)
	}
	ended := leases.Lease{Shard: "shard", Checkpoint: leases.Checkpoint{Kind: leases.ShardEnd}}
	s := leases.Snapshot{Leases: []leases.Lease{ended, {Shard: "child", Parents: []string{"shard"}}}}
	if got := s.Unpassed(at, nil); !slices.Equal(got, []string{"child"}) {
		t.Errorf("of a child that nobody reads: %v", got)
	}
}
