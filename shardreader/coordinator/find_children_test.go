package coordinator_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// busyStream lists no shards while it is busy.
type busyStream struct {
	*streamtest.Server
	busy bool
}

func (b *busyStream) DescribeStream(ctx context.Context, q shardreader.DescribeQuery) (shardreader.StreamDescription, error) {
	if b.busy {
		return shardreader.StreamDescription{}, pipeline.Transient(errors.New("busy"))
	}
	return b.Server.DescribeStream(ctx, q)
}

// A shard that was read to its end, and is listed no more before its children are known, may have had children:
// that is a gap. Its lease does not end as if it had none, unless gaps are passed.
func TestGap_ChildrenAreGoneBeforeTheyAreKnown(t *testing.T) {
	for _, policy := range []coordinator.Policy{coordinator.Stop, coordinator.Continue} {
		synctest.Test(t, func(t *testing.T) {
			wo := newWorld(t)
			api := &busyStream{Server: wo.server}
			wo.api = api
			st := wo.server.AddStream("shop")
			root := st.Shards()[0]
			want := st.Put(root, put(2)...)
			a := wo.start("a", coordinator.Options{OnGap: policy})
			wo.run(3 * time.Second)
			api.busy = true
			kid := st.Split(root, 1)[0]
			st.Put(kid, put(3)...)
			wo.run(10 * time.Second)
			st.Drop(root)
			st.Drop(kid)
			api.busy = false
			wo.run(5 * time.Minute)
			wo.readAll(root, want...)
			if len(wo.gaps) != 1 || wo.gaps[0].Shard != root || !wo.gaps[0].Whole || !wo.gaps[0].UnknownExtent {
				t.Errorf("gaps %+v\n%s", wo.gaps, wo.story.String())
			}
			why := a.w.Status().Member.Stopped[root]
			l, there := wo.leases()[root]
			if passed := policy == coordinator.Continue; (l.Ended() || !there) != passed || (why == coordinator.StoppedGone) == passed {
				t.Errorf("policy %v: the lease is at %v, the shard is stopped for %q", policy, l.Checkpoint, why)
			}
		})
	}
}
