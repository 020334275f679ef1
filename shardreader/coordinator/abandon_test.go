package coordinator_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// A pipeline that fails leaves pages that are never acknowledged. The lease is released at the durable position.
func TestWorker_AbandonedLetsGoAtWhatIsDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		root := st.Shards()[0]
		st.Put(root, put(3)...)
		a := wo.start("a", coordinator.Options{})
		wo.run(5 * time.Second)
		done := st.Put(root, put(2)...)
		for wo.run(10 * time.Millisecond); len(wo.read[root]) < 5; wo.run(10 * time.Millisecond) {
			continue // the checkpoint of the latest acknowledgement is not due yet
		}
		a.holding = true
		st.Put(root, streamtest.Record{Keys: `{"PK":{"S":"held"}}`, New: `{"PK":{"S":"held"}}`})
		for len(a.held) == 0 {
			wo.run(10 * time.Millisecond)
		}
		a.send(coordinator.Shutdown{})
		wo.run(10 * time.Second)
		if a.stopped || wo.leases()[root].Owner != "a" {
			t.Error("the worker stopped while the pipeline has a page of it")
		}
		a.send(coordinator.PipelineEnded{})
		a.send(coordinator.PipelineEnded{})
		wo.run(time.Second)
		if l := wo.leases()[root]; !a.stopped || l.Owner != "" || l.Checkpoint.Sequence != done[1] {
			t.Errorf("stopped: %v; the lease is %+v, want the checkpoint %s\n%s", a.stopped, l, done[1], wo.story.String())
		}
		if a.calls["Revoke"] != 1 {
			t.Errorf("%d partitions were revoked", a.calls["Revoke"])
		}
	})
}
