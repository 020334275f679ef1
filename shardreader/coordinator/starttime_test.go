package coordinator_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// recordCounter counts the records that a server returns.
type recordCounter struct {
	*streamtest.Server
	records map[string]int // by shard
	types   []shardreader.IteratorType
}

func (s *recordCounter) GetShardIterator(ctx context.Context, at shardreader.ShardPosition) (string, error) {
	s.types = append(s.types, at.Type)
	return s.Server.GetShardIterator(ctx, at)
}

func (s *recordCounter) GetRecords(ctx context.Context, q shardreader.RecordsQuery) (record.GetRecordsPage, error) {
	page, err := s.Server.GetRecords(ctx, q)
	if page.Page != nil {
		s.records[q.Shard] += len(page.Page.Changes)
	}
	return page, err
}

// Fact 36: records of before the start are not read at all, in no shard, if the server knows AT_TIMESTAMP. If it does
// not, they are read and dropped.
func TestFact36_StartsAtATime(t *testing.T) {
	for _, unknown := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			wo := newWorld(t)
			wo.server = streamtest.New(streamtest.Options{NoTimestamps: unknown})
			server := &recordCounter{Server: wo.server, records: map[string]int{}}
			wo.api = server
			st := wo.server.AddStream("shop")
			root := st.Shards()[0]
			st.Put(root, put(50)...)
			time.Sleep(time.Minute)
			kid := st.Split(root, 1)[0]
			st.Put(kid, put(70)...)
			time.Sleep(time.Hour)
			from := time.Now()
			want := st.Put(kid, put(2)...)
			time.Sleep(time.Minute)
			leaf := st.Split(kid, 1)[0]
			late := st.Put(leaf, put(3)...)
			wo.start("a", coordinator.Options{Start: coordinator.Start{Time: from}})
			wo.run(20 * time.Second)
			wo.readAll(root)
			wo.readAll(kid, want...)
			wo.readAll(leaf, late...)
			if len(wo.gaps) > 0 {
				t.Errorf("gaps %+v", wo.gaps)
			}
			if !unknown && (server.records[root] != 0 || server.records[kid] != 2) || unknown && server.records[kid] != 72 {
				t.Errorf("the server does not know AT_TIMESTAMP: %v; it was asked for %v, and returned %v", unknown, server.types, server.records)
			}
		})
	}
}

// Fact 36: a start in the future is refused by the stream. Records that are written until then are read and dropped.
func TestFact36_StartInTheFuture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		root := st.Shards()[0]
		wo.start("a", coordinator.Options{Start: coordinator.Start{Time: time.Now().Add(time.Minute)}})
		st.Put(root, put(3)...)
		wo.run(2 * time.Minute)
		want := st.Put(root, put(2)...)
		wo.run(20 * time.Second)
		wo.readAll(root, want...)
	})
}

// Fact 36: a time that the stream keeps no more is silently its oldest record. That is detected: the changes between
// the two are a gap. Where the shard has all of its records, none is lost.
func TestFact36_StartThatTheStreamKeepsNoMore(t *testing.T) {
	for name, c := range map[string]struct {
		unknown bool // the server does not know AT_TIMESTAMP
		policy  coordinator.Policy
		trim    int
		early   bool // a record of before the start is left
		gap     bool
	}{
		"continue":                   {policy: coordinator.Continue, trim: 3, gap: true},
		"stop":                       {policy: coordinator.Stop, trim: 3, gap: true},
		"without AT_TIMESTAMP":       {unknown: true, policy: coordinator.Continue, trim: 3, gap: true},
		"all trimmed":                {policy: coordinator.Continue, trim: 6, gap: true},
		"nothing trimmed":            {policy: coordinator.Stop},
		"an older record is left":    {policy: coordinator.Stop, trim: 1, early: true},
		"nor is AT_TIMESTAMP needed": {unknown: true, policy: coordinator.Stop, trim: 1, early: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				wo := newWorld(t)
				wo.server = streamtest.New(streamtest.Options{NoTimestamps: c.unknown, Retention: 1000 * time.Hour})
				wo.api = wo.server
				st := wo.server.AddStream("shop")
				root := st.Shards()[0]
				from := time.Now()
				if c.early {
					st.Put(root, put(2)...)
					time.Sleep(10 * time.Second)
					from = time.Now()
				}
				want := st.Put(root, put(6)...)
				time.Sleep(30 * time.Hour)
				st.Trim(root, c.trim)
				a := wo.start("a", coordinator.Options{OnGap: c.policy, Start: coordinator.Start{Time: from}})
				wo.run(10 * time.Second)
				if c.trim > 0 && !c.early {
					want = want[c.trim:]
				}
				if c.gap && c.policy == coordinator.Stop {
					if s := a.w.Status().Member.Stopped[root]; s != coordinator.StoppedAtGap {
						t.Errorf("the shard is stopped for %q", s)
					}
					want = nil
				}
				wo.readAll(root, want...)
				if !c.gap && len(wo.gaps) > 0 || c.gap && (len(wo.gaps) == 0 || !wo.gaps[0].UnknownExtent || !wo.gaps[0].From.Equal(from) || wo.gaps[0].Shard != root) {
					t.Errorf("gaps %+v, want one from %v: %v", wo.gaps, from, c.gap)
				}
				if c.gap && len(want) > 0 && wo.gaps[len(wo.gaps)-1].Before != want[0] {
					t.Errorf("the gap ends before %q, want %q", wo.gaps[len(wo.gaps)-1].Before, want[0])
				}
			})
		})
	}
}

// Fact 36: a time in a shard that is listed no more is a gap before its children, although these have all of their
// records. A time in the children is none, although their parent is gone.
func TestFact36_StartInAShardThatIsGone(t *testing.T) {
	for name, c := range map[string]struct {
		unknown bool // the server does not know AT_TIMESTAMP
		policy  coordinator.Policy
		late    bool // the time is in the children
	}{
		"continue":             {policy: coordinator.Continue},
		"stop":                 {policy: coordinator.Stop},
		"without AT_TIMESTAMP": {unknown: true, policy: coordinator.Continue},
		"in the children":      {policy: coordinator.Stop, late: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				wo := newWorld(t)
				wo.server = streamtest.New(streamtest.Options{NoTimestamps: c.unknown})
				wo.api = wo.server
				st := wo.server.AddStream("shop")
				root := st.Shards()[0]
				from := time.Now()
				time.Sleep(time.Minute)
				st.Put(root, put(3)...)
				kids := st.Split(root, 2)
				made := time.Now()
				if c.late {
					time.Sleep(time.Minute)
					from = time.Now()
				}
				time.Sleep(26 * time.Hour)
				want := [][]string{st.Put(kids[0], put(2)...), st.Put(kids[1], put(2)...)}
				if slices.Contains(st.Shards(), root) {
					t.Fatal("the shard is still there")
				}
				a := wo.start("a", coordinator.Options{OnGap: c.policy, Start: coordinator.Start{Time: from}})
				wo.run(2 * time.Minute)
				gaps := map[string]record.Gap{}
				for _, g := range wo.gaps {
					gaps[g.Shard] = g
				}
				for i, kid := range kids {
					switch g, found := gaps[kid]; {
					case found == c.late:
						t.Errorf("%s has the gap %+v: %v", kid, g, found)
					case found && (!g.UnknownExtent || !g.From.Equal(from) || g.To.Sub(made).Abs() > time.Second):
						t.Errorf("%s has the gap %+v, want one from %v to %v", kid, g, from, made)
					}
					if c.policy == coordinator.Stop && !c.late {
						want[i] = nil
						if why := a.w.Status().Member.Stopped[kid]; why != coordinator.StoppedUnbegun {
							t.Errorf("%s is stopped for %q", kid, why)
						}
					}
					wo.readAll(kid, want[i]...)
				}
				if len(gaps) > 0 == c.late {
					t.Errorf("gaps %+v", wo.gaps)
				}
			})
		})
	}
}

// A shard that waits for an operator is reported until the stream drops it. Its children then wait in its place.
func TestFact36_UnbegunShardIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		from := time.Now()
		kids := st.Split(st.Shards()[0], 2)
		time.Sleep(3 * time.Hour)
		grandkids := st.Split(kids[0], 2)
		time.Sleep(23 * time.Hour)
		a := wo.start("a", coordinator.Options{OnGap: coordinator.Stop, Start: coordinator.Start{Time: from}})
		stopped := func() []string { return slices.Sorted(maps.Keys(a.w.Status().Member.Stopped)) }
		wo.run(2 * time.Minute)
		if got := stopped(); !slices.Equal(got, slices.Sorted(slices.Values(kids))) {
			t.Fatalf("stopped are %v, want %v", got, kids)
		}
		wo.run(2 * time.Hour)
		if slices.Contains(st.Shards(), kids[0]) {
			t.Fatal("the shard is still there")
		}
		if got, want := stopped(), slices.Sorted(slices.Values([]string{kids[1], grandkids[0], grandkids[1]})); !slices.Equal(got, want) {
			t.Errorf("stopped are %v, want %v", got, want)
		}
	})
}

// A former leader leaves the report of unbegun shards to the leader.
func TestFact36_UnbegunShardIsReportedByTheLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		o := coordinator.Options{OnGap: coordinator.Stop, Start: coordinator.Start{Time: time.Now()}, Idle: 5 * time.Second}
		kids := st.Split(st.Shards()[0], 2)
		time.Sleep(3 * time.Hour)
		grandkids := st.Split(kids[0], 2)
		time.Sleep(23 * time.Hour)
		b := wo.start("b", o)
		wo.run(2 * time.Minute)
		a := wo.start("a", o)
		check := func(want ...string) {
			t.Helper()
			for n, want := range map[*node][]string{a: want, b: nil} {
				if got := slices.Sorted(maps.Keys(n.w.Status().Member.Stopped)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
					t.Errorf("%s reports %v, want %v", n.id, got, want)
				}
				n.atEnd = nil
			}
			wo.run(2 * time.Minute)
			for _, n := range []*node{a, b} {
				if n.atEnd == nil || len(n.atEnd.Stopped) != len(want) {
					t.Errorf("%s is at the end with %+v, want %v", n.id, n.atEnd, want)
				}
			}
		}
		wo.run(2 * time.Minute)
		check(kids...)
		wo.run(2 * time.Hour)
		check(kids[1], grandkids[0], grandkids[1])
		a.dead = true
		b.atEnd = nil
		wo.run(2 * time.Minute)
		if got := b.w.Status().Member.Stopped; len(got) != 3 || b.atEnd == nil || len(b.atEnd.Stopped) != 3 {
			t.Errorf("b leads again and reports %v, at the end %+v", got, b.atEnd)
		}
	})
}

// The unbegun shards of a stream that is gone are not reported any more.
func TestFact36_StreamWithUnbegunShardIsGone(t *testing.T) {
	for _, source := range []coordinator.Source{{Table: "shop"}, {Stream: "ARN"}} {
		synctest.Test(t, func(t *testing.T) {
			wo := newWorld(t)
			st := wo.server.AddStream("shop")
			from := time.Now()
			st.Split(st.Shards()[0], 2)
			time.Sleep(26 * time.Hour)
			if source.Stream != "" {
				source.Stream = st.ARN()
			}
			a := wo.start("a", coordinator.Options{OnGap: coordinator.Stop, Start: coordinator.Start{Time: from}, Sources: []coordinator.Source{source}})
			wo.run(time.Minute)
			if s := a.w.Status(); len(s.UnbegunShards) != 1 {
				t.Fatalf("unbegun are %v", s.UnbegunShards)
			}
			st.Delete()
			wo.server.AddStream("shop")
			wo.run(time.Hour)
			if s := a.w.Status(); s.UnbegunShards[st.ARN()] != 0 {
				t.Errorf("unbegun are %v", s.UnbegunShards)
			}
		})
	}
}

// A consumer that was gone for longer than the stream keeps finds the gap, although its lease bears a time and no
// record.
func TestFact36_StartWasLostMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		root := st.Shards()[0]
		o := coordinator.Options{OnGap: coordinator.Continue, Start: coordinator.Start{Time: time.Now()}}
		time.Sleep(time.Minute)
		a := wo.start("a", o)
		wo.run(10 * time.Second)
		a.dead = true
		if l := wo.leases()[root]; l.Checkpoint.Kind != leases.AtTime {
			t.Fatalf("the lease is %+v", l)
		}
		st.Put(root, put(2)...)
		time.Sleep(20 * time.Hour)
		want := st.Put(root, put(2)...)
		time.Sleep(5 * time.Hour)
		wo.start("b", o)
		wo.run(time.Minute)
		wo.readAll(root, want...)
		if len(wo.gaps) == 0 || wo.gaps[len(wo.gaps)-1].Before != want[0] {
			t.Errorf("gaps %+v", wo.gaps)
		}
	})
}

// A shard that was read all the time from its newest record on, and never had one, has no gap.
func TestFact36_IdleShardHasNoGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		root := st.Shards()[0]
		wo.start("a", coordinator.Options{MaxIdle: time.Minute, Start: coordinator.Start{Latest: true, Time: time.Now()}})
		wo.run(26 * time.Hour)
		wo.server.Fail("GetRecords", streamtest.Fault{Code: "ExpiredIteratorException"})
		wo.run(5 * time.Minute)
		want := st.Put(root, put(2)...)
		wo.run(5 * time.Minute)
		wo.readAll(root, want...)
		if len(wo.gaps) > 0 || slices.Contains(wo.workers[0].told, coordinator.StoppedAtGap) {
			t.Errorf("gaps %+v", wo.gaps)
		}
	})
}
