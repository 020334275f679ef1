package coordinator_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/shardreader/leases/leasestest"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// lowChildren lists a child with a start below everything.
type lowChildren struct {
	*streamtest.Server
	child string
}

func (l lowChildren) DescribeStream(ctx context.Context, q shardreader.DescribeQuery) (shardreader.StreamDescription, error) {
	d, err := l.Server.DescribeStream(ctx, q)
	for i := range d.Shards {
		if d.Shards[i].ID == l.child {
			d.Shards[i].First = "1"
		}
	}
	return d, err
}

// A rolling deployment repeats nothing: the pages that were read are drained, checkpointed and released.
func TestHandOver_DeploymentRepeatsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		kids := st.Split(st.Shards()[0], 4)
		want := make(map[string][]string)
		write := func() {
			for _, id := range kids {
				want[id] = append(want[id], st.Put(id, put(3)...)...)
			}
		}
		wo.start("w0", coordinator.Options{})
		wo.run(3 * time.Second)
		for i := 1; i < 6; i++ {
			write()
			wo.start(fmt.Sprintf("w%d", i), coordinator.Options{})
			wo.run(4 * time.Second)
			write()
			wo.workers[i-1].send(coordinator.Shutdown{})
			wo.run(100 * time.Millisecond)
			write()
			wo.run(4 * time.Second)
			if !wo.workers[i-1].stopped {
				t.Fatalf("w%d has not stopped\n%s", i-1, wo.story.String())
			}
		}
		for _, id := range kids {
			wo.readAll(id, want[id]...)
		}
	})
}

// A lease that does not drain is handed over as it is, and what was not acknowledged comes again.
func TestHandOver_ThatDoesNotDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		kids := st.Split(st.Shards()[0], 2)
		a := wo.start("a", coordinator.Options{})
		wo.run(5 * time.Second)
		a.holding = true
		one, two := st.Put(kids[0], put(2)...), st.Put(kids[1], put(2)...)
		wo.run(10 * time.Second)
		wo.start("b", coordinator.Options{})
		wo.run(20 * time.Second)
		if wo.owned("b") != 0 {
			t.Error("a lease was handed over while it drains")
		}
		wo.run(30 * time.Second)
		if wo.owned("b") != 1 || a.calls["Revoke"] != 1 {
			t.Errorf("b has %d leases, a revoked %d\n%s", wo.owned("b"), a.calls["Revoke"], wo.story.String())
		}
		a.holding = false
		wo.run(5 * time.Second)
		wo.readAll(kids[0], one...)
		wo.readAll(kids[1], two...)
	})
}

// Busy leases are spread over the workers, though each has as many.
func TestBalance_ByLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		kids := st.Split(st.Shards()[0], 8)
		wo.start("a", coordinator.Options{})
		wo.run(3 * time.Second)
		wo.start("b", coordinator.Options{})
		wo.run(5 * time.Second)
		var busy []string
		for _, id := range kids {
			if wo.leases()[id].Owner == "a" {
				busy = append(busy, id)
			}
		}
		if len(busy) != 4 {
			t.Fatalf("a has %d leases", len(busy))
		}
		for range 600 {
			for _, id := range busy {
				st.Put(id, put(20)...)
			}
			wo.run(time.Second)
		}
		owners := make(map[string]int)
		for _, id := range busy {
			owners[wo.leases()[id].Owner]++
		}
		if owners["a"] != 2 || owners["b"] != 2 {
			t.Errorf("the busy leases are spread as %v\n%s", owners, wo.story.String())
		}
		moves := wo.workers[0].calls["Drop"] + wo.workers[0].calls["Drain"] + wo.workers[1].calls["Drain"]
		if moves > 20 {
			t.Errorf("leases were moved %d times", moves)
		}
	})
}

func TestBalance_Pinned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		kids := st.Split(st.Shards()[0], 6)
		wo.start("a-1", coordinator.Options{Name: "a"})
		wo.start("b-1", coordinator.Options{Name: "b"})
		wo.run(10 * time.Second)
		for _, id := range kids[:5] {
			now := wo.leases()[id]
			next := now
			next.Pinned = "b"
			if err := wo.table.Swap(t.Context(), now, next); err != nil {
				t.Fatal(err)
			}
		}
		wo.run(20 * time.Second)
		for _, id := range kids[:5] {
			if owner := wo.leases()[id].Owner; owner != "b-1" {
				t.Errorf("shard %s is read by %s\n%s", id, owner, wo.story.String())
			}
		}
		wo.workers[1].dead = true
		wo.run(20 * time.Second)
		if wo.owned("a-1") != 6 {
			t.Errorf("pinned leases of a worker that is gone: %d are read", wo.owned("a-1"))
		}
	})
}

// Who resets a lease by hand fences its owner.
func TestLease_ResetByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		root := st.Shards()[0]
		seqs := st.Put(root, put(3)...)
		a := wo.start("a", coordinator.Options{})
		wo.run(3 * time.Second)
		now := wo.leases()[root]
		next := now
		next.Owner, next.Counter, next.Checkpoint = "", now.Counter+1, leases.After(seqs[0])
		if err := wo.table.Swap(t.Context(), now, next); err != nil {
			t.Fatal(err)
		}
		wo.run(3 * time.Second)
		wo.readAll(root, slices.Concat(seqs, seqs[1:])...)
		if a.calls["Revoke"] != 1 {
			t.Errorf("%d partitions were revoked", a.calls["Revoke"])
		}
	})
}

// Fact 30: an ambiguous answer to a conditional write is read back.
func TestFact30_LostAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		root := st.Shards()[0]
		want := st.Put(root, put(3)...)
		n := 0
		wo.lose = func(op string) bool {
			if op == "SwapLease" || op == "CreateLease" {
				n++
			}
			return n%2 == 1 && (op == "SwapLease" || op == "CreateLease")
		}
		a := wo.start("a", coordinator.Options{})
		for range 20 {
			wo.run(3 * time.Second)
			want = append(want, st.Put(root, put(2)...)...)
		}
		kid := st.Split(root, 1)[0]
		rest := st.Put(kid, put(2)...)
		wo.run(20 * time.Second)
		wo.readAll(root, want...)
		wo.readAll(kid, rest...)
		if a.calls["Revoke"] > 0 || n < 20 {
			t.Errorf("%d partitions were revoked, of %d writes\n%s", a.calls["Revoke"], n, wo.story.String())
		}
	})
}

var _ leases.Table = (*leasestest.Table)(nil)
