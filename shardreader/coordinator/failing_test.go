package coordinator_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/shardreader/leases/leasestest"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// Failing reads are reported: by a line once that lasts and each minute from then on, by the heartbeat, and once when
// they work again. A short failure is not.
func TestWorker_TellsThatReadsFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		root := st.Shards()[0]
		a := wo.start("a", coordinator.Options{})
		wo.run(time.Minute)
		told := func(text string) (n int) {
			for _, line := range a.told {
				if line == text {
					n++
				}
			}
			return n
		}
		const fails, works = "shards cannot be read: calls fail, and are tried again", "shards are read again"
		down := true
		wo.server.FailWhen(func(call streamtest.Call) streamtest.Fault {
			if down && call.Op == "GetRecords" {
				return streamtest.Fault{Code: "InternalServerError"}
			}
			return streamtest.Fault{}
		})
		wo.run(6 * time.Second)
		if m := a.w.Status().Member; told(fails) > 0 || len(m.Failing) > 0 {
			t.Errorf("too soon: %q, %+v", a.told, m.Failing)
		}
		began := time.Now().Add(-6 * time.Second)
		wo.run(24 * time.Second)
		f, ok := a.w.Status().Member.Failing[root]
		if !ok || f.Class == "" || f.Since.Before(began) || f.Since.After(began.Add(6*time.Second)) {
			t.Errorf("failing %+v, want %s since shortly after %v", a.w.Status().Member.Failing, root, began)
		}
		if p := a.w.Status().Partitions[0]; p.FailingSince.IsZero() || p.Error == "" {
			t.Errorf("the status of the shard is %+v", p)
		}
		if told(fails) != 1 {
			t.Errorf("after 30 seconds it told %q", a.told)
		}
		wo.run(2 * time.Minute)
		if told(fails) != 3 || told(works) != 0 {
			t.Errorf("after 150 seconds it told %q", a.told)
		}
		down = false
		want := st.Put(root, put(1)...)
		wo.run(time.Minute)
		if m := a.w.Status().Member; told(works) != 1 || len(m.Failing) > 0 || told(fails) != 3 {
			t.Errorf("it works again, and told %q, failing %+v", a.told, m.Failing)
		}
		if !slices.Equal(wo.read[root], want) {
			t.Errorf("read %v, want %v", wo.read[root], want)
		}
	})
}

// A shard that cannot be read and goes to another worker is not read again here.
func TestWorker_DoesNotTellThatAShardIsReadElsewhere(t *testing.T) {
	went := 0
	for i := range 2 {
		synctest.Test(t, func(t *testing.T) {
			wo := newWorld(t)
			failing := wo.server.Enable("shop", streamtest.StreamOptions{Shards: 2}).Shards()[i]
			wo.server.FailWhen(func(call streamtest.Call) streamtest.Fault {
				if call.Op == "GetRecords" && call.Shard == failing {
					return streamtest.Fault{Code: "InternalServerError"}
				}
				return streamtest.Fault{}
			})
			a := wo.start("a", coordinator.Options{})
			wo.run(time.Minute)
			wo.start("b", coordinator.Options{})
			wo.run(5 * time.Minute)
			if slices.ContainsFunc(a.w.Status().Partitions, func(p coordinator.PartitionStatus) bool { return p.Shard == failing }) {
				return
			}
			went++
			if !slices.Contains(a.told, "shards cannot be read: calls fail, and are tried again") || slices.Contains(a.told, "shards are read again") {
				t.Errorf("it told %q", a.told)
			}
		})
	}
	if went == 0 {
		t.Error("no shard that fails goes to the other worker")
	}
}

// A lease that cannot be created is reported again after it existed, also if another consumer created it.
func TestWorker_TellsThatALeaseCannotBeCreated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.AddStream("shop")
		root := st.Shards()[0]
		fails := true
		wo.table.Before = func(_ context.Context, c leasestest.Call) error {
			if fails && c.Op == "Create" {
				return leasestest.Throttled()
			}
			return nil
		}
		a := wo.start("a", coordinator.Options{})
		wo.run(10 * time.Second)
		if err := wo.table.Memory.Create(t.Context(), leases.Lease{Shard: root, Stream: st.ARN()}); err != nil {
			t.Fatal(err)
		}
		fails = false
		wo.run(time.Minute)
		if err := wo.table.Memory.Delete(t.Context(), wo.leases()[root]); err != nil {
			t.Fatal(err)
		}
		fails = true
		wo.run(10 * time.Minute)
		told := slices.DeleteFunc(slices.Clone(a.told), func(line string) bool { return line != "a lease cannot be created and is tried again" })
		if len(told) != 2 {
			t.Errorf("it told it %d times: %q", len(told), a.told)
		}
	})
}

// A consumer whose heartbeats are written, but too slowly, reads nothing and says why, once. A faster one ends that.
func TestWorker_TellsOfSlowHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		wo.server.AddStream("shop")
		a := wo.start("a", coordinator.Options{})
		var slow []coordinator.WriteHeartbeat
		a.keep = func(action coordinator.Action) bool {
			w, isHeartbeat := action.(coordinator.WriteHeartbeat)
			if isHeartbeat {
				slow = append(slow, w)
			}
			return isHeartbeat
		}
		for range 12 {
			wo.run(5 * time.Second)
			for _, w := range slow {
				a.send(coordinator.WriteResult{Call: w.Call})
			}
			slow = nil
		}
		const want = "a heartbeat took over two thirds of the lease time: this consumer reads nothing until one is faster"
		if n := len(a.w.Status().Partitions); n > 0 || !slices.Equal(a.told, []string{want}) {
			t.Errorf("it reads %d shards, and tells %q", n, a.told)
		}
		a.keep = nil
		wo.run(time.Minute)
		if n := len(a.w.Status().Partitions); n != 1 {
			t.Errorf("with fast heartbeats it reads %d shards", n)
		}
	})
}
