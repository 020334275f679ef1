package coordinator_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// Losing records is worse than spending more: a shard that is far behind is read whatever
// the budget says, also while others that are idle wait before it.
func TestBudget_IsPassedForAShardInDanger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		kids := st.Split(st.Shards()[0], 12)
		var want []string
		for range 40 {
			want = append(want, st.Put(kids[7], put(1000)...)...)
		}
		time.Sleep(10 * time.Hour)
		a := wo.start("a", coordinator.Options{CallsPerMonth: 2000})
		wo.run(2 * time.Hour)
		if got := len(wo.read[kids[7]]); got != len(want) {
			t.Errorf("%d of %d records were read, by %d calls", got, len(want), a.calls["GetRecords"])
		}
		calls := a.calls["GetRecords"]
		wo.run(10 * time.Hour)
		if more := a.calls["GetRecords"] - calls; more > 60 {
			t.Errorf("%d calls were made once nothing was in danger", more)
		}
	})
}

// The lease of a shard that was not read to its end is removed by hand, and its child was not begun. That is a gap,
// because no consumer reads the shard any more.
func TestFact6_LeaseRemovedByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		root := st.Shards()[0]
		st.Put(root, put(3)...)
		kid := st.Split(root, 1)[0]
		rest := st.Put(kid, put(2)...)
		if err := wo.table.MarkBegun(t.Context(), st.ARN()); err != nil {
			t.Fatal(err)
		}
		if err := wo.table.Create(t.Context(), leases.Lease{Shard: kid, Stream: st.ARN(), Parents: []string{root}, First: rest[0]}); err != nil {
			t.Fatal(err)
		}
		wo.start("a", coordinator.Options{OnGap: coordinator.Continue})
		wo.run(12 * time.Minute)
		wo.readAll(kid, rest...)
		if len(wo.gaps) != 1 || wo.gaps[0].Shard != root || !wo.gaps[0].UnknownExtent {
			t.Errorf("gaps %+v", wo.gaps)
		}
	})
}

// A shard that is not found, and still listed, is not gone.
func TestFact9_NotFoundIsNoGapWhileItIsListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		root := st.Shards()[0]
		want := st.Put(root, put(2)...)
		wo.start("a", coordinator.Options{})
		wo.run(3 * time.Second)
		for range 6 {
			wo.server.Fail("GetRecords", streamtest.Fault{Code: "ResourceNotFoundException"})
			wo.server.Fail("GetShardIterator", streamtest.Fault{Code: "ResourceNotFoundException"})
		}
		wo.run(5 * time.Minute)
		want = append(want, st.Put(root, put(2)...)...)
		wo.run(time.Minute)
		wo.readAll(root, want...)
		if len(wo.gaps) > 0 {
			t.Errorf("gaps %+v", wo.gaps)
		}
	})
}

// A lease that is pinned to a name is left to the consumer of that name.
func TestBalance_PinnedToANameOfTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		root := st.Shards()[0]
		l := leases.Lease{Shard: root, Stream: st.ARN(), Pinned: "n"}
		if err := wo.table.Create(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		wo.start("n-1", coordinator.Options{Name: "n"})
		wo.run(3 * time.Second)
		b := wo.start("n-2", coordinator.Options{Name: "n"})
		wo.run(time.Minute)
		if wo.owned("n-1") != 1 || b.calls["SwapLease"] > 0 {
			t.Errorf("n-1 has %d leases, and n-2 wrote %d times", wo.owned("n-1"), b.calls["SwapLease"])
		}
	})
}

// A table that answers slowly makes discovery slow, and does not end it.
func TestQuota_SlowTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		want := st.Put(st.Shards()[0], put(2)...)
		wo.slow = 700 * time.Millisecond
		wo.start("a", coordinator.Options{})
		wo.run(time.Minute)
		wo.readAll(st.Shards()[0], want...)
	})
}

// A damaged row stops its shard and those after it, and nothing else.
func TestLease_BrokenRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		kids := st.Split(st.Shards()[0], 2)
		a := wo.start("a", coordinator.Options{})
		wo.run(10 * time.Second)
		hidden := wo.leases()[kids[0]]
		wo.damaged = kids[0]
		late := st.Put(kids[0], put(2)...)
		after := st.Split(kids[0], 1)[0]
		st.Put(after, put(2)...)
		want := st.Put(kids[1], put(2)...)
		wo.run(12 * time.Minute)
		wo.readAll(kids[0])
		wo.readAll(after)
		wo.readAll(kids[1], want...)
		if a.w.Status().Member.Stopped[kids[0]] != coordinator.StoppedDamaged || len(wo.gaps) > 0 {
			t.Errorf("stopped %v, gaps %+v", a.w.Status().Member.Stopped, wo.gaps)
		}
		if l := wo.leases()[kids[0]]; l.Counter != hidden.Counter {
			t.Errorf("the row was written: %+v", l)
		}
		wo.damaged = ""
		wo.run(time.Minute)
		wo.readAll(kids[0], late...)
		if len(wo.read[after]) != 2 {
			t.Errorf("what comes after it was not read: %v", wo.read)
		}
	})
}
