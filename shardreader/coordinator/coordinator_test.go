package coordinator_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/leases"
)

func TestWorker_ReadsAStreamThatSplits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		root := st.Shards()[0]
		first := st.Put(root, put(5)...)
		a := wo.start("a", coordinator.Options{})
		wo.run(time.Second)
		wo.readAll(root, first...)
		kids := st.Split(root, 2)
		left, right := st.Put(kids[0], put(3)...), st.Put(kids[1], put(4)...)
		wo.run(10 * time.Second)
		wo.readAll(root, first...)
		wo.readAll(kids[0], left...)
		wo.readAll(kids[1], right...)
		if l := wo.leases()[kids[0]]; l.Owner != "a" || l.Checkpoint.Sequence != left[2] {
			t.Errorf("the lease of a child is %+v", l)
		}
		a.send(coordinator.Shutdown{})
		wo.run(2 * time.Second)
		if !a.stopped || wo.owned("a") != 0 {
			t.Errorf("stopped: %v, with %d leases\n%s", a.stopped, wo.owned("a"), wo.story.String())
		}
	})
}

func TestWorker_SharesLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		st.Split(st.Shards()[0], 7)
		wo.start("a", coordinator.Options{})
		wo.run(5 * time.Second)
		all := wo.owned("a")
		wo.start("b", coordinator.Options{})
		wo.run(10 * time.Second)
		if a, b := wo.owned("a"), wo.owned("b"); a+b != all || a-b > 1 || b-a > 1 {
			t.Errorf("%d leases are shared as %d and %d\n%s", all, a, b, wo.story.String())
		}
		wo.workers[0].dead = true
		wo.run(10 * time.Second)
		if b := wo.owned("b"); b != all {
			t.Errorf("the worker that is left has %d leases of %d\n%s", b, all, wo.story.String())
		}
	})
}

func TestWorker_GivesUpOutOfContact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		root := st.Shards()[0]
		a := wo.start("a", coordinator.Options{})
		wo.run(time.Second)
		b := wo.start("b", coordinator.Options{})
		wo.run(time.Second)
		a.deaf = true
		wo.run(5 * time.Second)
		polls := a.calls["GetRecords"]
		wo.run(5 * time.Second)
		if got := a.calls["GetRecords"]; got != polls {
			t.Errorf("a worker out of contact made %d more calls", got-polls)
		}
		if wo.owned("b") != 1 {
			t.Errorf("its lease was not taken over\n%s", wo.story.String())
		}
		a.deaf = false
		seqs := st.Put(root, put(3)...)
		wo.run(5 * time.Second)
		wo.readAll(root, seqs...)
		if b.calls["Revoke"] > 0 {
			t.Errorf("the worker that took over lost it again\n%s", wo.story.String())
		}
	})
}

// Fact 9: TrimmedDataAccess is a gap, recorded and reported as data loss, then
// TRIM_HORIZON, or a stop, as configured.
func TestFact9_Gap(t *testing.T) {
	for _, policy := range []coordinator.Policy{coordinator.Stop, coordinator.Continue} {
		synctest.Test(t, func(t *testing.T) {
			wo := newWorld(t)
			st := wo.server.AddStream("shop")
			root := st.Shards()[0]
			first := st.Put(root, put(2)...)
			a := wo.start("a", coordinator.Options{OnGap: policy})
			wo.run(3 * time.Second)
			a.dead = true
			time.Sleep(30 * time.Second)
			rest := st.Put(root, put(6)...)
			st.Trim(root, 4)
			b := wo.start("b", coordinator.Options{OnGap: policy})
			wo.run(12 * time.Second)
			want := slices.Concat(first, rest[2:])
			if policy == coordinator.Stop {
				want = first
			}
			wo.readAll(root, want...)
			last := wo.gaps[len(wo.gaps)-1]
			if last.After != first[1] || last.Before != rest[2] || last.Span() < 29*time.Second || last.UnknownExtent {
				t.Errorf("gap %+v", last)
			}
			if got := b.w.Status(); (got.Partitions[0].StopReason != "") != (policy == coordinator.Stop) {
				t.Errorf("status %+v", got.Partitions[0])
			}
		})
	}
}

// Fact 9: a gap is reported as soon as it is durable, and stops its shard then. This holds even if it leaves the shard
// empty: no record may ever be written to that shard again. Up to where it goes is noted with the next record.
func TestFact9_GapThatEmptiesItsShard(t *testing.T) {
	for _, policy := range []coordinator.Policy{coordinator.Stop, coordinator.Continue} {
		synctest.Test(t, func(t *testing.T) {
			wo := newWorld(t)
			st := wo.server.AddStream("shop")
			root := st.Shards()[0]
			want := st.Put(root, put(2)...)
			a := wo.start("a", coordinator.Options{OnGap: policy})
			wo.run(3 * time.Second)
			a.dead = true
			st.Put(root, put(4)...)
			time.Sleep(25 * time.Hour)
			b := wo.start("b", coordinator.Options{OnGap: policy})
			wo.run(15 * time.Second)
			if !slices.Contains(b.told, "records were lost: the stream dropped them before they were read") || b.calls["NoteGap"] != 1 || len(wo.gaps) != 1 || wo.gaps[0].After != want[1] || wo.gaps[0].Before != "" {
				t.Fatalf("the gap is not told once: %q, gaps %+v", b.told, wo.gaps)
			}
			stands := func() {
				t.Helper()
				p := b.w.Status().Partitions[0]
				if stopped := map[coordinator.Policy]string{coordinator.Stop: coordinator.StoppedAtGap}[policy]; p.StopReason != stopped || b.w.Status().Member.Stopped[root] != stopped || p.Behind {
					t.Errorf("status %+v", p)
				}
			}
			stands()
			wo.run(20 * time.Minute) // the iterator that waits for the next record expires
			next := st.Put(root, put(2)...)
			wo.run(10 * time.Second)
			if g := wo.gaps[len(wo.gaps)-1]; len(wo.gaps) != 2 || g.After != want[1] || g.Before != next[0] || g.Span() < 25*time.Hour {
				t.Errorf("gaps %+v", wo.gaps)
			}
			wo.run(10 * time.Second)
			stands()
			if policy == coordinator.Continue {
				wo.readAll(root, slices.Concat(want, next)...)
				return
			}
			wo.readAll(root, want...)
			wo.reset(root, leases.Checkpoint{})
			wo.run(15 * time.Second)
			wo.readAll(root, slices.Concat(want, next)...)
		})
	}
}

// A worker that is in contact again continues with the leases that no other consumer took.
func TestWorker_InContactAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		root := st.Shards()[0]
		a := wo.start("a", coordinator.Options{})
		wo.run(time.Second)
		a.deaf = true
		wo.run(time.Minute)
		if a.calls["Revoke"] != 1 || a.w.Status().HeartbeatFresh {
			t.Errorf("%d partitions were revoked; status %+v", a.calls["Revoke"], a.w.Status())
		}
		want := st.Put(root, put(3)...)
		a.deaf = false
		wo.run(5 * time.Second)
		wo.readAll(root, want...)
		if !a.w.Status().HeartbeatFresh {
			t.Error("the worker does not know that it is in contact again")
		}
	})
}

// A worker that was held up for longer than its lease stops before it does anything else.
func TestWorker_HeldUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		wo.server.AddStream("shop")
		a := wo.start("a", coordinator.Options{})
		wo.run(time.Second)
		time.Sleep(time.Minute)
		for i, act := range a.w.Step(time.Since(a.began), coordinator.Tick{}) {
			switch act.(type) {
			case coordinator.Log:
			case coordinator.Revoke:
				return
			default:
				t.Fatalf("action %d is %T", i, act)
			}
		}
		t.Fatal("nothing was revoked")
	})
}
