package coordinator_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// The work of a worker for one shard does not grow with the number of shards. It walks all leases for a look at the
// table, a heartbeat, a listing or a stop, and for no single shard.
func TestWorker_WorkOfAShardDoesNotGrowWithTheirNumber(t *testing.T) {
	few, many := shardWork(t, 40), shardWork(t, 400)
	for i, phase := range phases {
		for _, w := range []phaseWork{few[i], many[i]} {
			// A look goes through them some ten times, a listing of the stream as often, a beat twice: it says how many
			// shards there are, and whether all of the worker's are at their ends.
			if most := 10*w.looks + 2*w.beats + 20; w.walks > most {
				t.Errorf("%s: all leases were gone through %d times, with %d looks and %d beats", phase, w.walks, w.looks, w.beats)
			}
		}
		if a, b := few[i].steps, many[i].steps; b > a*1.2+1 {
			t.Errorf("%s: %.1f calls and notices for a shard where there are few, %.1f where there are many", phase, a, b)
		}
	}
}

// phases are what a stream of many shards goes through.
var phases = []string{"they are found and read", "each is read again", "each ends and has a child", "they are released"}

// phaseWork is what a phase takes of a worker.
type phaseWork struct {
	walks int // how often all leases were gone through
	looks int // at the table
	beats int
	steps float64 // calls and notices beside these, for each shard
}

func shardWork(t *testing.T, shards int) (all []phaseWork) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.Enable("shop", streamtest.StreamOptions{Shards: shards})
		for _, id := range st.Shards() {
			st.Put(id, put(1)...)
		}
		a := wo.start("a", coordinator.Options{DescribeRate: 1e6, ReadEvery: 10 * time.Second})
		var walked, called int
		var before phaseWork
		phase := func() {
			wo.run(40 * time.Second)
			now := phaseWork{looks: a.calls["ReadTable"], beats: a.calls["WriteHeartbeat"]}
			calls := -now.looks - now.beats
			for _, n := range a.calls {
				calls += n
			}
			all = append(all, phaseWork{
				walks: (coordinator.Walked(a.w) - walked) / len(wo.leases()),
				looks: now.looks - before.looks, beats: now.beats - before.beats,
				steps: float64(calls-called) / float64(shards),
			})
			walked, called, before = coordinator.Walked(a.w), calls, now
			if read := len(wo.read); read < shards {
				t.Fatalf("%d of %d shards were read\n%s", read, shards, wo.story.String())
			}
		}
		phase()
		for _, id := range st.Open() {
			st.Put(id, put(1)...)
		}
		phase()
		for _, id := range st.Open() {
			st.Put(st.Rollover(id), put(1)...)
		}
		phase()
		if got := len(wo.read); got != 2*shards {
			t.Errorf("%d of %d shards and their children were read", got, 2*shards)
		}
		a.send(coordinator.Shutdown{})
		phase()
		if !a.stopped || wo.owned("a") != 0 {
			t.Errorf("stopped: %v, with %d leases", a.stopped, wo.owned("a"))
		}
	})
	return all
}

// Most shards that end together share a listing of the stream.
func TestWorker_ShardsThatEndTogetherShareAListing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const shards = 300
		wo := newWorld(t)
		st := wo.server.Enable("shop", streamtest.StreamOptions{Shards: shards})
		a := wo.start("a", coordinator.Options{})
		wo.run(time.Minute)
		before := a.calls["DescribeStream"]
		for _, id := range st.Open() {
			st.Put(st.Rollover(id), put(1)...)
		}
		wo.run(20 * time.Second)
		if len(wo.read) != shards {
			t.Errorf("20 s after %d shards rolled over %d of their children were read", shards, len(wo.read))
		}
		if calls := a.calls["DescribeStream"] - before; calls > shards/3 {
			t.Errorf("%d calls of DescribeStream were made for %d shards", calls, shards)
		}
	})
}

// While thousands of leases are made, the first page of each shard waits for its own to be
// written. These pages count among those that the pipeline did not take: else each shard could
// hold a page of a megabyte at once.
func TestWorker_PagesThatWaitForTheirLeasesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const shards, records, pages = 200, 20, 5
		wo := newWorld(t)
		st := wo.server.Enable("shop", streamtest.StreamOptions{Shards: shards})
		for _, id := range st.Shards() {
			st.Put(id, put(records)...)
		}
		iterator, err := wo.server.GetShardIterator(t.Context(), shardreader.ShardPosition{StreamARN: st.ARN(), Shard: st.Shards()[0], Type: shardreader.TrimHorizon})
		if err != nil {
			t.Fatal(err)
		}
		page, err := wo.server.GetRecords(t.Context(), shardreader.RecordsQuery{Iterator: iterator})
		if err != nil {
			t.Fatal(err)
		}
		// A page of a shard that was not read yet is expected to be a full one.
		a := wo.start("a", coordinator.Options{DescribeRate: 1e6, Prefetch: 1<<20 + pages*int64(page.Page.Bytes)})
		var swaps []coordinator.Action
		a.keep = func(action coordinator.Action) bool {
			_, ok := action.(coordinator.SwapLease)
			if ok {
				swaps = append(swaps, action)
			}
			return ok
		}
		wo.run(3 * time.Second)
		if n := len(swaps); n == 0 || n > pages+1 {
			t.Errorf("%d pages wait for their leases to be written, want up to %d", n, pages+1)
		}
		a.keep = nil
		for _, action := range swaps {
			a.act(action)
		}
		wo.run(time.Minute)
		if len(wo.read) != shards {
			t.Errorf("%d of %d shards were read", len(wo.read), shards)
		}
	})
}

// Pages that were read ahead of a paused shard do not keep the others from being read, however long it is paused.
func TestWorker_PausedShardLeavesThePrefetchToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		st := wo.server.Enable("shop", streamtest.StreamOptions{Shards: 2})
		for _, id := range st.Shards() {
			st.Put(id, put(20)...)
		}
		a := wo.start("a", coordinator.Options{Prefetch: 1})
		untaken := map[string]int{} // pages, by the partition
		a.keep = func(action coordinator.Action) bool {
			d, ok := action.(coordinator.Deliver)
			if ok {
				untaken[d.Page.Partition]++
			}
			return ok
		}
		wo.run(10 * time.Second)
		if len(untaken) != 1 {
			t.Fatalf("pages of %d shards were read ahead, want those of one", len(untaken))
		}
		for slow := range untaken {
			a.send(coordinator.Paused{Partition: slow, Paused: true})
		}
		wo.run(10 * time.Second)
		if len(untaken) != 2 {
			t.Error("the other shard is not read while this one is paused")
		}
	})
}
