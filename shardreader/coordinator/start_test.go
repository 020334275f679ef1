package coordinator_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

func TestStart_AtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		root := st.Shards()[0]
		st.Put(root, put(5)...)
		time.Sleep(time.Hour)
		from := time.Now()
		late := st.Put(root, put(2)...)
		kid := st.Split(root, 1)[0]
		later := st.Put(kid, put(3)...)
		wo.start("a", coordinator.Options{Start: coordinator.Start{Time: from}})
		wo.run(10 * time.Second)
		wo.readAll(root, late...)
		wo.readAll(kid, later...)
	})
}

// A record that is written to a stream that was opened at its newest records is read, even if its reader crashes before
// it has read anything.
func TestStart_LatestSurvivesACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		root := st.Shards()[0]
		st.Put(root, put(5)...)
		time.Sleep(time.Hour)
		o := coordinator.Options{Start: coordinator.Start{Latest: true, Time: time.Now()}}
		a := wo.start("a", o)
		wo.run(10 * time.Second)
		a.dead = true
		want := st.Put(root, put(4)...)
		o.Start.Time = time.Now().Add(time.Minute)
		time.Sleep(time.Minute)
		wo.start("b", o)
		wo.run(15 * time.Second)
		wo.readAll(root, want...)
	})
}

// The consumer that creates the first leases may crash between two of them. Then the others are created later, and
// nothing counts as lost.
func TestStart_CrashBetweenTheFirstLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		root := st.Shards()[0]
		kids := st.Split(root, 3)
		st.Drop(root)
		var want [][]string
		for _, id := range kids {
			want = append(want, st.Put(id, put(2)...))
		}
		if err := wo.table.Create(t.Context(), leases.Lease{Shard: kids[1], Stream: st.ARN(), Parents: []string{root}}); err != nil {
			t.Fatal(err)
		}
		wo.start("a", coordinator.Options{})
		wo.run(10 * time.Second)
		for i, id := range kids {
			wo.readAll(id, want[i]...)
		}
		if len(wo.gaps) > 0 {
			t.Errorf("gaps %+v", wo.gaps)
		}
	})
}

// A stream that is named by its ARN is read alone.
func TestStart_OneStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		old := wo.server.AddStream("shop")
		want := old.Put(old.Shards()[0], put(2)...)
		old.Disable()
		anew := wo.server.AddStream("shop")
		anew.Put(anew.Shards()[0], put(2)...)
		wo.start("a", coordinator.Options{Sources: []coordinator.Source{{Stream: old.ARN()}}})
		wo.run(time.Minute)
		wo.readAll(old.Shards()[0], want...)
		wo.readAll(anew.Shards()[0])
	})
}

func TestStart_SeveralTables(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		shop, users := wo.server.AddStream("shop"), wo.server.AddStream("users")
		a := shop.Put(shop.Shards()[0], put(2)...)
		b := users.Put(users.Shards()[0], put(3)...)
		wo.start("a", coordinator.Options{Sources: []coordinator.Source{{Table: "shop"}, {Table: "users"}}})
		wo.run(5 * time.Second)
		wo.readAll(shop.Shards()[0], a...)
		wo.readAll(users.Shards()[0], b...)
	})
}

// Fact 9: ExpiredIterator re-acquires AFTER the last sequence number.
func TestFact9_ExpiredIterator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		root := st.Shards()[0]
		want := st.Put(root, put(2)...)
		a := wo.start("a", coordinator.Options{})
		wo.run(3 * time.Second)
		wo.server.Fail("GetRecords", streamtest.Fault{Code: "ExpiredIteratorException"}, streamtest.Fault{Code: "ExpiredIteratorException"})
		want = append(want, st.Put(root, put(2)...)...)
		wo.run(time.Minute)
		wo.readAll(root, want...)
		if a.calls["GetShardIterator"] < 3 {
			t.Errorf("%d iterators were asked for", a.calls["GetShardIterator"])
		}
	})
}

// Fact 9: a record that is written after the newest record at the start of reading is read, even if the iterator
// expires before any record was.
func TestFact9_ExpiredIteratorAtTheNewest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		root := st.Shards()[0]
		st.Put(root, put(2)...)
		time.Sleep(time.Hour)
		wo.start("a", coordinator.Options{Start: coordinator.Start{Latest: true, Time: time.Now()}})
		wo.run(2 * time.Second)
		want := st.Put(root, put(2)...)
		wo.server.Fail("GetRecords", streamtest.Fault{Code: "ExpiredIteratorException"})
		wo.run(time.Minute)
		wo.readAll(root, want...)
	})
}

// Fact 9: a transient error never completes a shard.
func TestFact9_ErrorsCompleteNothing(t *testing.T) {
	for _, code := range []string{"ThrottlingException", "InternalServerError", "LimitExceededException", "ResourceNotFoundException", "AccessDeniedException", "ValidationException"} {
		synctest.Test(t, func(t *testing.T) {
			wo := newWorld(t)
			st := wo.server.AddStream("shop")
			root := st.Shards()[0]
			want := st.Put(root, put(2)...)
			for range 3 {
				for _, op := range []string{"GetRecords", "GetShardIterator", "DescribeStream", "ListStreams"} {
					if code != "ResourceNotFoundException" || op == "GetRecords" {
						wo.server.Fail(op, streamtest.Fault{Code: code})
					}
				}
			}
			wo.start("a", coordinator.Options{})
			wo.run(3 * time.Minute)
			want = append(want, st.Put(root, put(1)...)...)
			wo.run(10 * time.Second)
			wo.readAll(root, want...)
			if len(wo.gaps) > 0 {
				t.Errorf("%s: gaps %+v", code, wo.gaps)
			}
		})
	}
}

// A record that comes before the shard's start breaks what versions rest on: the lineage stops.
func TestLineage_SequenceBelowTheParents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		root := st.Shards()[0]
		st.Put(root, put(2)...)
		kid := st.Split(root, 1)[0]
		st.Put(kid, put(1)...)
		wo.api = lowChildren{wo.server, kid}
		a := wo.start("a", coordinator.Options{})
		wo.run(10 * time.Second)
		wo.readAll(kid)
		s := a.w.Status()
		if len(s.Partitions) != 1 || s.Partitions[0].StopReason == "" || s.Member.Stopped[root] == "" {
			t.Errorf("status %+v", s)
		}
		if !slices.Contains(a.told, s.Partitions[0].StopReason) {
			t.Errorf("told %q", a.told)
		}
	})
}

// TRIM_HORIZON does not say that older records are gone: a child that lost its first
// records before it was read, when it was old enough, is a gap.
func TestGap_AtTheStartOfAChild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		root := st.Shards()[0]
		first := st.Put(root, put(2)...)
		a := wo.start("a", coordinator.Options{OnGap: coordinator.Continue, Retention: time.Minute})
		wo.run(3 * time.Second)
		a.holding = true
		first = append(first, st.Put(root, put(1)...)...)
		kid := st.Split(root, 1)[0]
		rest := st.Put(kid, put(4)...)
		wo.run(time.Minute)
		st.Trim(kid, 3)
		a.holding = false
		wo.run(10 * time.Second)
		wo.readAll(root, first...)
		wo.readAll(kid, rest[3:]...)
		if len(wo.gaps) == 0 || wo.gaps[0].Shard != kid || wo.gaps[0].After != "" || !wo.gaps[0].UnknownExtent || wo.gaps[len(wo.gaps)-1].Before != rest[3] {
			t.Errorf("gaps %+v", wo.gaps)
		}
	})
}

// Shards may be started at sequence numbers; those above them are not read.
func TestStart_AtSequenceNumbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		root := st.Shards()[0]
		st.Put(root, put(3)...)
		kids := st.Split(root, 2)
		one, two := st.Put(kids[0], put(4)...), st.Put(kids[1], put(4)...)
		late := st.Split(kids[0], 1)[0]
		rest := st.Put(late, put(2)...)
		wo.start("a", coordinator.Options{Start: coordinator.Start{Sequences: map[string]string{kids[0]: one[2], kids[1]: two[0]}}})
		wo.run(10 * time.Second)
		wo.readAll(root)
		wo.readAll(kids[0], one[2:]...)
		wo.readAll(kids[1], two...)
		wo.readAll(late, rest...)
		if len(wo.gaps) > 0 {
			t.Errorf("gaps %+v", wo.gaps)
		}
	})
}

// A child that the parent's reader did not make is held against its parent all the same.
func TestLineage_ListedChildBelowItsParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		root := st.Shards()[0]
		st.Put(root, put(2)...)
		kid := st.Split(root, 1)[0]
		st.Put(kid, put(1)...)
		l := leases.Lease{Shard: root, Stream: st.ARN(), Counter: 3, Checkpoint: leases.Checkpoint{Kind: leases.ShardEnd}}
		if err := wo.table.Create(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		wo.api = lowChildren{wo.server, kid}
		a := wo.start("a", coordinator.Options{})
		wo.run(10 * time.Second)
		wo.readAll(kid)
		if _, there := wo.leases()[kid]; there || !slices.ContainsFunc(a.told, func(s string) bool { return strings.Contains(s, "the child is not read") }) {
			t.Errorf("a lease was made: %v; told %q", there, a.told)
		}
	})
}

// While another application works on the table, no lease of it is taken, also not those without an owner.
func TestFact30_NothingIsTakenBesideAnotherApplication(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		kids := st.Split(st.Shards()[0], 2)
		want := st.Put(kids[1], put(2)...)
		for i, id := range kids {
			l := leases.Lease{Shard: id, Stream: st.ARN(), Counter: 1}
			if i == 0 {
				l.Owner = "kcl-1"
			}
			if err := wo.table.Create(t.Context(), l); err != nil {
				t.Fatal(err)
			}
		}
		wo.start("a", coordinator.Options{})
		for range 10 {
			wo.run(5 * time.Second)
			now := wo.leases()[kids[0]]
			next := now
			next.Counter++
			if err := wo.table.Swap(t.Context(), now, next); err != nil {
				t.Fatal(err)
			}
		}
		wo.readAll(kids[1])
		wo.run(time.Minute)
		wo.readAll(kids[1], want...)
	})
}

// A shard that disappeared is abandoned by hand: its lease ends, and its children are read. A shard that no consumer
// dared to begin gets its lease by hand.
func TestGap_GoesOnByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		root := st.Shards()[0]
		first := st.Put(root, put(2)...)
		a := wo.start("a", coordinator.Options{})
		wo.run(3 * time.Second)
		a.dead = true
		kid := st.Split(root, 1)[0]
		st.Put(kid, put(3)...)
		leaf := st.Split(kid, 1)[0]
		tail := st.Put(leaf, put(2)...)
		st.Drop(root)
		b := wo.start("b", coordinator.Options{})
		wo.run(time.Minute)
		if s := b.w.Status().Member.Stopped[root]; s != coordinator.StoppedGone {
			t.Fatalf("the shard that is gone is stopped for %q", s)
		}
		wo.reset(root, leases.Checkpoint{Kind: leases.ShardEnd})
		wo.run(time.Minute)
		wo.readAll(root, first...)
		if len(wo.read[kid]) != 3 {
			t.Errorf("its child was not read: %v\n%s", wo.read, wo.story.String())
		}
		wo.readAll(leaf, tail...)
	})
}
