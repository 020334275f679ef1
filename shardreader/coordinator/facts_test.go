package coordinator_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// Fact 5: a child shard is read only after its parent's last record is
// acknowledged, and always from TRIM_HORIZON, also when the stream was opened at LATEST.
func TestFact5_ChildrenWaitForTheirParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		root := st.Shards()[0]
		st.Put(root, put(3)...)
		time.Sleep(time.Minute)
		a := wo.start("a", coordinator.Options{Start: coordinator.Start{Latest: true, Time: time.Now()}})
		wo.run(2 * time.Second)
		wo.readAll(root)
		a.holding = true
		tail := st.Put(root, put(2)...)
		kids := st.Split(root, 2)
		early := st.Put(kids[0], put(2)...)
		wo.run(time.Minute)
		if len(a.held) == 0 {
			t.Fatal("the parent's last page was not delivered")
		}
		for _, p := range a.held {
			if len(p.Changes) > 0 && p.Changes[0].Sequence != tail[0] {
				t.Fatal("a child was delivered before its parent was acknowledged")
			}
		}
		a.holding = false
		wo.run(5 * time.Second)
		wo.readAll(root, tail...)
		wo.readAll(kids[0], early...)
	})
}

// Fact 10: a stream that is DISABLED stays readable for 24 hours: drain it. Re-enabling makes a new stream ARN: follow
// it. The records between the two streams are in neither. They are a gap of unknown extent, durable before the new
// stream is read. Reading continues by hand where gaps stop.
func TestFact10_FollowsAStreamThatIsEnabledAnew(t *testing.T) {
	for _, policy := range []coordinator.Policy{coordinator.Stop, coordinator.Continue} {
		synctest.Test(t, func(t *testing.T) { followsAStream(t, policy) })
	}
}

func followsAStream(t *testing.T, policy coordinator.Policy) {
	wo := newWorld(t)
	old := wo.server.AddStream("shop")
	root := old.Shards()[0]
	first := old.Put(root, put(4)...)
	read := time.Now().Unix()
	a := wo.start("a", coordinator.Options{OnGap: policy, Start: coordinator.Start{Time: time.Now()}})
	wo.run(2 * time.Second)
	a.holding = true
	tail := old.Put(root, put(2)...)
	old.Disable()
	time.Sleep(time.Minute)
	enabled := time.Now().Unix()
	anew := wo.server.Enable("shop", streamtest.StreamOptions{Shards: 3})
	second := anew.Put(anew.Shards()[0], put(3)...)
	wo.run(10 * time.Minute)
	if len(wo.leases()) != 1 || len(wo.gaps) > 0 {
		t.Error("the new stream was begun before the old one was acknowledged")
	}
	a.holding = false
	a.keep = func(act coordinator.Action) bool {
		if c, ok := act.(coordinator.CreateLease); ok && len(wo.gaps) == 0 {
			t.Errorf("the lease of %s is made before the gap is durable", c.Lease.Shard)
		}
		return false
	}
	wo.run(time.Minute)
	wo.readAll(root, append(first, tail...)...)
	if len(wo.gaps) != 1 || wo.gaps[0].StreamARN != anew.ARN() || wo.gaps[0].Shard != "" || !wo.gaps[0].UnknownExtent || wo.gaps[0].From.Unix() != read+2 || wo.gaps[0].To.Unix() != enabled {
		t.Fatalf("gaps %+v, of which the last record before is of %d and the first after of %d", wo.gaps, read+2, enabled)
	}
	if policy == coordinator.Stop {
		wo.readAll(anew.Shards()[0])
		s := a.w.Status()
		for _, shard := range anew.Shards() {
			if s.Member.Stopped[shard] != coordinator.StoppedBetweenStreams || s.UnbegunShards[anew.ARN()] != 3 {
				t.Errorf("%s is stopped for %q, status %+v", shard, s.Member.Stopped[shard], s)
			}
		}
		if err := wo.table.Create(t.Context(), leases.Lease{Shard: anew.Shards()[1], Stream: anew.ARN()}); err != nil {
			t.Fatal(err)
		}
		wo.run(10 * time.Second)
	}
	wo.readAll(anew.Shards()[0], second...)
	third := anew.Put(anew.Shards()[2], put(1)...)
	wo.run(10 * time.Second)
	wo.readAll(anew.Shards()[2], third...)
	if s := a.w.Status(); len(wo.gaps) != 1 || len(s.Member.Stopped) > 0 || len(s.UnbegunShards) > 0 {
		t.Errorf("gaps %+v, status %+v", wo.gaps, s)
	}
}

// A stream whose leases and listing are gone was read all the same: the later stream follows it, wherever a first start
// would begin. If none was read, the newest is begun, and nothing is lost.
func TestFact10_FollowsAStreamThatIsGone(t *testing.T) {
	for _, read := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			wo := newWorld(t)
			old := wo.server.AddStream("shop")
			old.Put(old.Shards()[0], put(2)...)
			if read {
				if err := wo.table.MarkBegun(t.Context(), old.ARN()); err != nil {
					t.Fatal(err)
				}
				old.Delete()
			} else {
				old.Disable()
			}
			anew := wo.server.AddStream("shop")
			seqs := anew.Put(anew.Shards()[0], put(3)...)
			time.Sleep(time.Minute)
			wo.start("a", coordinator.Options{OnGap: coordinator.Continue, Start: coordinator.Start{Latest: true, Time: time.Now()}})
			wo.run(10 * time.Second)
			if !read {
				seqs = nil
			}
			wo.readAll(anew.Shards()[0], seqs...)
			if (len(wo.gaps) == 1) != read {
				t.Errorf("read %v: gaps %+v", read, wo.gaps)
			}
		})
	}
}

// Fact 7: DescribeStream: 10 calls a second, 100 shards a page; CHILD_SHARDS finds
// children cheaply. Thousands of shards must start and stay stable.
func TestFact7_ThousandsOfShards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		const n = 1000
		kids := st.Split(st.Shards()[0], n)
		var want []string
		for _, id := range kids {
			want = append(want, st.Put(id, put(1)...)...)
		}
		for i := range 3 {
			wo.start(fmt.Sprintf("w%d", i), coordinator.Options{})
		}
		begun := time.Now()
		wo.run(90 * time.Second)
		read := 0
		for _, id := range kids {
			read += len(wo.read[id])
		}
		if read != len(want) {
			t.Errorf("%d of %d records were read", read, len(want))
		}
		calls := 0
		for _, w := range wo.workers {
			calls += w.calls["DescribeStream"]
			if owned := wo.owned(w.id); owned < n/3-50 || owned > n/3+50 {
				t.Errorf("%s has %d of %d leases", w.id, owned, n)
			}
		}
		if most := int(time.Since(begun).Seconds() * 10); calls > most {
			t.Errorf("%d calls of DescribeStream in %s", calls, time.Since(begun))
		}
	})
}

// Fact 11: an idle shard polled once a second makes 2.63 M billed GetRecords calls a
// month: a budget is kept, by the whole fleet.
func TestFact11_Budget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		st.Split(st.Shards()[0], 12)
		const perMonth = 500_000
		for i := range 2 {
			wo.start(fmt.Sprintf("w%d", i), coordinator.Options{CallsPerMonth: perMonth})
		}
		for minute := range 10 {
			wo.run(time.Minute)
			told := 0.0
			for _, w := range wo.workers {
				told += w.w.Status().Member.CallsPerMonth
			}
			if told > perMonth*1.1 {
				t.Errorf("in minute %d the forecast is %.0f calls a month", minute+1, told)
			}
		}
		for _, w := range wo.workers {
			w.calls["GetRecords"] = 0
		}
		const hours = 3
		wo.run(hours * time.Hour)
		calls, forecast := 0, 0.0
		for _, w := range wo.workers {
			calls += w.calls["GetRecords"]
			forecast += w.w.Status().Member.CallsPerMonth
		}
		if most := perMonth * hours / (30 * 24); calls > most*21/20 || calls < most/2 {
			t.Errorf("%d calls in %d hours, the budget is %d", calls, hours, most)
		}
		if forecast > perMonth*1.1 || forecast < perMonth*0.5 {
			t.Errorf("the forecast is %.0f calls a month", forecast)
		}
	})
}

// Fact 6: a listed shard whose unlisted parent was never completed by us is a gap of
// unknown extent, except on a fresh start; made durable before any child starts.
func TestFact6_UnknownExtent(t *testing.T) {
	for _, policy := range []coordinator.Policy{coordinator.Stop, coordinator.Continue} {
		synctest.Test(t, func(t *testing.T) {
			wo := newWorld(t)
			st := wo.server.AddStream("shop")
			root := st.Shards()[0]
			first := st.Put(root, put(2)...)
			a := wo.start("a", coordinator.Options{OnGap: policy})
			wo.run(3 * time.Second)
			a.dead = true
			// Nobody reads for two generations of shards, and the first is forgotten.
			middle := st.Split(root, 1)[0]
			st.Put(middle, put(3)...)
			leaf := st.Split(middle, 1)[0]
			tail := st.Put(leaf, put(2)...)
			st.Drop(root)
			st.Drop(middle)
			wo.start("b", coordinator.Options{OnGap: policy})
			wo.run(10 * time.Minute)
			wo.readAll(root, first...)
			if policy == coordinator.Stop {
				wo.readAll(leaf)
			} else {
				wo.readAll(leaf, tail...)
			}
			whole, unknown := false, false
			for _, g := range wo.gaps {
				whole = whole || g.Whole && g.Shard == root
				unknown = unknown || g.UnknownExtent && g.Shard == leaf
			}
			if !whole || !unknown {
				t.Errorf("gaps %+v", wo.gaps)
			}
		})
	}
}

// Fact 6: a parent listed as open beside its child counts as closed; a parent may
// have one child or more; one whose parent is listed no more starts the reading.
func TestFact6_OddListings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		root := st.Shards()[0]
		lost := st.Put(root, put(2)...)
		only := st.Split(root, 1)[0]
		one := st.Put(only, put(2)...)
		three := st.Split(only, 3)
		two := st.Put(three[2], put(2)...)
		st.Drop(root)
		wo.api = openParents{wo.server}
		wo.start("a", coordinator.Options{})
		wo.run(20 * time.Second)
		wo.readAll(only, one...)
		wo.readAll(three[2], two...)
		if len(wo.read[root]) > 0 || len(wo.gaps) > 0 {
			t.Errorf("read %v of %v, gaps %+v on a fresh start", wo.read[root], lost, wo.gaps)
		}
	})
}

// openParents lists every shard as open.
type openParents struct{ *streamtest.Server }

// Fact 30: KCL deletes a finished parent's lease once its children are past
// TRIM_HORIZON, while the shard is still listed: never create a lease for an
// ancestor of an existing lease.
func TestFact30_NoLeaseAboveAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		root := st.Shards()[0]
		st.Put(root, put(3)...)
		kids := st.Split(root, 2)
		seen := st.Put(kids[0], put(3)...)
		rest := st.Put(kids[1], put(2)...)
		// The rows of another application, which stands still.
		for i, id := range kids {
			l := leases.Lease{Shard: id, Owner: "kcl-1", Counter: 70 + int64(i), Parents: []string{root}}
			if i == 0 {
				l.Checkpoint = leases.After(seen[1])
			} else {
				l.Checkpoint = leases.After(rest[0])
			}
			if err := wo.table.Create(t.Context(), l); err != nil {
				t.Fatal(err)
			}
		}
		wo.start("a", coordinator.Options{})
		wo.run(20 * time.Second)
		wo.readAll(kids[0])
		wo.run(30 * time.Second)
		wo.readAll(kids[0], seen[2:]...)
		wo.readAll(kids[1], rest[1:]...)
		if _, there := wo.leases()[root]; there || len(wo.read[root]) > 0 {
			t.Error("a lease was made above others")
		}
	})
}

// A KCL application that lives moves its counters: its leases are not taken.
func TestFact30_TakeOverWaitsForTheOtherApplication(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		root := st.Shards()[0]
		first := st.Put(root, put(3)...)
		l := leases.Lease{Shard: root, Owner: "kcl-1", Counter: 1, Checkpoint: leases.After(first[0])}
		if err := wo.table.Create(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		wo.start("a", coordinator.Options{})
		for range 40 {
			wo.run(3 * time.Second)
			now := wo.leases()[root]
			next := now
			next.Counter++
			if err := wo.table.Swap(t.Context(), now, next); err != nil {
				t.Fatal(err)
			}
		}
		wo.readAll(root)
		wo.run(time.Minute)
		wo.readAll(root, first[1:]...)
	})
}

var _ shardreader.API = openParents{}

func (o openParents) DescribeStream(ctx context.Context, q shardreader.DescribeQuery) (shardreader.StreamDescription, error) {
	d, err := o.Server.DescribeStream(ctx, q)
	for i := range d.Shards {
		d.Shards[i].Last = ""
	}
	return d, err
}
