package coordinator_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/shardreader/coordinator"
)

// A lease that is released bears how busy its shard was up to then, also if nothing was checkpointed before: its next
// owner goes by that.
func TestWorker_ReleasesALeaseWithItsLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		root := st.Shards()[0]
		want := st.Put(root, put(50)...)
		a := wo.start("a", coordinator.Options{})
		a.holding = true
		wo.run(3 * time.Second)
		a.send(coordinator.Shutdown{})
		wo.run(time.Second)
		a.holding = false
		wo.run(3 * time.Second)
		wo.readAll(root, want...)
		if l := wo.leases()[root]; l.Owner != "" || l.Load == 0 {
			t.Errorf("the lease belongs to %q, with load %v", l.Owner, l.Load)
		}
	})
}
