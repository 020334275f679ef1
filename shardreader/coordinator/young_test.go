package coordinator_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// Fact 37: a shard's StartingSequenceNumber need not be that of one of its records, and a position there is refused as
// trimmed. A shard younger than the stream's retention cannot have lost anything: all of it is read, wherever reading
// starts and however long the shard was empty before.
func TestFact37_YoungShardsHaveNoGap(t *testing.T) {
	for _, policy := range []coordinator.Policy{coordinator.Stop, coordinator.Continue} {
		for name, start := range map[string]coordinator.Start{"oldest": {}, "newest": {Latest: true}, "time": {Time: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)}} {
			for _, named := range []bool{true, false} {
				t.Run(fmt.Sprintf("%v %s %v", policy, name, named), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { youngShards(t, policy, start, named) })
				})
			}
		}
	}
}

func youngShards(t *testing.T, policy coordinator.Policy, start coordinator.Start, named bool) {
	wo := newWorld(t)
	wo.server = streamtest.New(streamtest.Options{RefuseBelow: true})
	wo.api = wo.server
	id := func(shard string) string { return shard }
	if !named {
		wo.api, id = timeless{wo.server}, func(shard string) string { return strings.Replace(shard, "shardId", "part", 1) }
	}
	st := wo.server.AddStream("shop")
	root := st.Shards()[0]
	a := wo.start("a", coordinator.Options{OnGap: policy, Start: start})
	wo.run(10 * time.Second)
	first := st.Put(root, put(3)...)
	wo.run(10 * time.Second)
	kids := st.Split(root, 2)
	wo.run(time.Hour) // they are empty
	two := st.Put(kids[1], put(2)...)
	wo.run(10 * time.Second)
	a.dead = true
	one := st.Put(kids[0], put(2)...) // and refused to a consumer that has just begun, too
	wo.start("b", coordinator.Options{OnGap: policy, Start: start})
	wo.run(time.Minute)
	wo.readAll(id(root), first...)
	wo.readAll(id(kids[1]), two...)
	if !named {
		return // the new consumer cannot know how old its shards are
	}
	wo.readAll(id(kids[0]), one...)
	if len(wo.gaps) > 0 {
		t.Errorf("gaps %+v", wo.gaps)
	}
}

// An older shard without a read record may have lost records, and it is unknown which.
func TestFact37_OldUnreadShardsAreAGapOfUnknownExtent(t *testing.T) {
	for _, policy := range []coordinator.Policy{coordinator.Stop, coordinator.Continue} {
		synctest.Test(t, func(t *testing.T) {
			wo := newWorld(t)
			wo.server = streamtest.New(streamtest.Options{RefuseBelow: true})
			wo.api = wo.server
			st := wo.server.AddStream("shop")
			kids := st.Split(st.Shards()[0], 2)
			a := wo.start("a", coordinator.Options{OnGap: policy})
			wo.run(10 * time.Second)
			a.dead = true
			time.Sleep(25 * time.Hour)
			want := st.Put(kids[0], put(2)...)
			b := wo.start("b", coordinator.Options{OnGap: policy})
			wo.run(time.Minute)
			if policy == coordinator.Stop {
				wo.readAll(kids[0])
				if s := b.w.Status().Member.Stopped[kids[0]]; s != coordinator.StoppedAtGap {
					t.Errorf("the shard is stopped for %q", s)
				}
			} else {
				wo.readAll(kids[0], want...)
			}
			if len(wo.gaps) != 2 || slices.ContainsFunc(wo.gaps, func(g record.Gap) bool { return g.Shard != kids[0] || !g.UnknownExtent || g.Whole || g.After != "" }) || wo.gaps[1].Before != want[0] {
				t.Errorf("gaps %+v", wo.gaps)
			}
		})
	}
}

// The start of a young shard is refused, and reading is to begin at the oldest record left. If the calls then fail for
// longer than the stream keeps records, the oldest record left no longer shows that none was dropped: that is a gap.
func TestFact37_AStartRefusedLongAgoProvesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		wo.server = streamtest.New(streamtest.Options{RefuseBelow: true})
		st := wo.server.AddStream("shop")
		failing := &failsAtOldest{Server: wo.server, root: st.Shards()[0]}
		wo.api = failing
		kids := st.Split(failing.root, 1)
		lost := st.Put(kids[0], put(2)...)
		failing.fail.Store(true)
		wo.start("a", coordinator.Options{OnGap: coordinator.Continue})
		wo.run(25 * time.Hour)
		if failing.calls.Load() == 0 {
			t.Fatal("no call for the oldest record left, so this test tests nothing")
		}
		st.Trim(kids[0], len(lost))
		kept := st.Put(kids[0], put(2)...)
		failing.fail.Store(false)
		wo.run(time.Minute)
		wo.readAll(kids[0], kept...)
		if len(wo.gaps) != 2 || wo.gaps[0].Shard != kids[0] || !wo.gaps[0].UnknownExtent || wo.gaps[1].Before != kept[0] {
			t.Errorf("gaps %+v", wo.gaps)
		}
	})
}

// failsAtOldest is a server on which requests for TRIM_HORIZON iterators of children fail while fail is set.
type failsAtOldest struct {
	*streamtest.Server
	fail  atomic.Bool
	calls atomic.Int64
	root  string
}

func (s *failsAtOldest) GetShardIterator(ctx context.Context, at shardreader.ShardPosition) (string, error) {
	if at.Type == shardreader.TrimHorizon && at.Shard != s.root && s.fail.Load() {
		s.calls.Add(1)
		return "", pipeline.Transient(errors.New("the service is busy"))
	}
	return s.Server.GetShardIterator(ctx, at)
}

// timeless is a server whose shards have ids that do not say when they were made.
type timeless struct{ server *streamtest.Server }

func (s timeless) told(id string) string  { return strings.Replace(id, "shardId", "part", 1) }
func (s timeless) known(id string) string { return strings.Replace(id, "part", "shardId", 1) }

func (s timeless) ListStreams(ctx context.Context, table, after string) (shardreader.StreamPage, error) {
	return s.server.ListStreams(ctx, table, after)
}

func (s timeless) DescribeStream(ctx context.Context, q shardreader.DescribeQuery) (shardreader.StreamDescription, error) {
	q.After, q.ChildrenOf = s.known(q.After), s.known(q.ChildrenOf)
	d, err := s.server.DescribeStream(ctx, q)
	for i := range d.Shards {
		d.Shards[i].ID, d.Shards[i].Parent = s.told(d.Shards[i].ID), s.told(d.Shards[i].Parent)
	}
	d.After = s.told(d.After)
	return d, err
}

func (s timeless) GetShardIterator(ctx context.Context, at shardreader.ShardPosition) (string, error) {
	at.Shard = s.known(at.Shard)
	return s.server.GetShardIterator(ctx, at)
}

func (s timeless) GetRecords(ctx context.Context, q shardreader.RecordsQuery) (record.GetRecordsPage, error) {
	q.Shard = s.known(q.Shard)
	return s.server.GetRecords(ctx, q)
}
