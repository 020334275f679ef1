package consumer_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/leases/leasestest"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

var (
	seeds = flag.Uint64("seeds", 50, "how many seeds TestFact35 runs")
	from  = flag.Uint64("from", 1, "its first seed")
)

// Fact 35: under testing/synctest an in-process RoundTripper leaves the clock to the
// bubble, so minutes of a fleet take milliseconds. The same seed has many
// interleavings. All of them must have the same result.
func TestFact35_FleetsOverTheSDK(t *testing.T) {
	for seed := *from; seed < *from+*seeds; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newFleet(t, seed).run() })
		})
	}
}

// fleet is a number of tasks, and all that happens to them.
type fleet struct {
	*rig
	rand   *rand.Rand
	store  *store
	alive  []*member
	made   int
	calm   atomic.Bool // nothing fails any more
	counts map[string]int
}

// member is a task of the fleet.
type member struct {
	*task
	id   string
	w    *witness
	deaf atomic.Bool // the lease table does not answer it
}

func newFleet(t *testing.T, seed uint64) *fleet {
	rnd := rand.New(rand.NewPCG(seed, 35))
	r := newRig(t, streamtest.Options{
		PageRecords: 1 + rnd.IntN(20), EmptyPages: rnd.IntN(3), EmptyEnd: rnd.IntN(2) == 0,
		ListDelay: time.Duration(rnd.IntN(3)) * time.Second, CloseDelay: time.Duration(rnd.IntN(3)) * time.Second,
		NewestFirst: rnd.IntN(2) == 0, ChildFilter: streamtest.ChildFilter(rnd.IntN(4)), PageShards: 2 + rnd.IntN(10),
		DescribePerSecond: 10,
	})
	r.server.Enable("shop", streamtest.StreamOptions{Shards: 1 + rnd.IntN(6)})
	var faults []streamtest.Fault
	all := streamtest.Faults()
	for _, name := range []string{"throttled", "limited", "throughput", "internal", "unavailable", "expired", "reset", "cut", "empty", "object", "garbage", "trailing", "halferror", "slow"} {
		faults = append(faults, all[name])
	}
	r.server.FailWhen(streamtest.Sometimes(seed, 0.05, faults...))
	return &fleet{rig: r, rand: rnd, store: newStore(), counts: map[string]int{}}
}

// run plays a minute with faults, then as long as it takes to catch up.
func (f *fleet) run() {
	defer f.tell()
	f.begin()
	f.put("first", 1) // a stream that is replaced before anybody began it is not read
	f.until("begun", f.store.seenAre(1))
	for range 50 {
		f.write()
		f.happen()
		time.Sleep(time.Duration(f.rand.IntN(1000)) * time.Millisecond)
	}
	f.calm.Store(true)
	f.server.FailWhen(nil)
	for _, m := range f.alive {
		m.deaf.Store(false)
	}
	if len(f.alive) == 0 {
		f.begin()
	}
	f.note("calm")
	time.Sleep(15 * time.Second) // calls that hang come to their end
	start := time.Now()
	for !slices.Equal(f.store.state(), f.server.Table("shop").Items()) || f.pending() > 0 {
		if time.Since(start) > 3*time.Minute {
			f.t.Errorf("three minutes after the last fault the store has %d items, and the table %d; %d deliveries are pending", len(f.store.state()), len(f.server.Table("shop").Items()), f.pending())
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	for len(f.alive) > 0 {
		f.end(f.alive[0], true)
	}
	f.check()
}

// check looks at the end state.
func (f *fleet) check() {
	for shard, l := range f.leases() {
		if l.Owner != "" && f.living(l.Owner) {
			f.t.Errorf("the lease of %s is left with %s", shard, l.Owner)
		}
	}
	if slices.ContainsFunc(f.gaps, func(g record.Gap) bool { return g.Shard != "" }) {
		f.t.Errorf("gaps of a stream that lost nothing: %+v", f.gaps)
	}
}

func (f *fleet) living(id string) bool {
	return slices.ContainsFunc(f.alive, func(m *member) bool { return m.id == id })
}

func (f *fleet) pending() (n int64) {
	for _, m := range f.alive {
		n += m.p.Ledger().Sinks["s"].Pending
	}
	return n
}

// write changes some items, and the shards.
func (f *fleet) write() {
	table := f.server.Table("shop")
	for range f.rand.IntN(8) {
		key := fmt.Sprint("k", f.rand.IntN(12))
		f.counts[key]++
		if f.rand.IntN(5) == 0 {
			if _, err := table.Delete(itemJSON(key, 0)); err != nil {
				f.t.Fatal(err)
			}
			continue
		}
		f.put(key, f.counts[key])
	}
	st := table.Stream()
	open := st.Open()
	switch n := f.rand.IntN(40); {
	case n < 2 && len(open) < 12:
		shard := open[f.rand.IntN(len(open))]
		f.note("split of %s into %v", shard, st.Split(shard, 1+f.rand.IntN(3)))
	case n == 2 && len(f.server.Streams()) < 3: // the end of each is waited out for children that are listed late
		st.Disable()
		f.note("%s is disabled, and %s enabled", st.ARN(), f.server.Enable("shop", streamtest.StreamOptions{Shards: 1 + f.rand.IntN(3)}).ARN())
	}
}

// happen does something to a task.
func (f *fleet) happen() {
	n := f.rand.IntN(30)
	if len(f.alive) == 0 || n < 2 && len(f.alive) < 3 {
		f.begin()
		return
	}
	m := f.alive[f.rand.IntN(len(f.alive))]
	switch n {
	case 3:
		f.end(m, true)
	case 4:
		f.end(m, false)
	case 5:
		f.note("%s crashes", m.id)
		m.deaf.Store(true)
		f.end(m, false)
	case 6, 7:
		d := time.Duration(f.rand.IntN(12)) * time.Second
		f.note("the lease table does not answer %s for %v", m.id, d)
		m.deaf.Store(true)
		time.AfterFunc(d, func() { m.deaf.Store(false) })
	}
}

// begin adds a task.
func (f *fleet) begin() {
	f.made++
	m := &member{id: fmt.Sprint("w", f.made)}
	f.note("%s begins", m.id)
	table := &leasestest.Table{Memory: f.table.Memory}
	seed := f.rand.Uint64()
	var calls atomic.Uint64
	unlucky := func() bool {
		return !f.calm.Load() && rand.New(rand.NewPCG(seed, calls.Add(1))).IntN(40) == 0
	}
	table.Before = func(ctx context.Context, _ leasestest.Call) error {
		if m.deaf.Load() {
			<-ctx.Done()
			return pipeline.Transient(context.Cause(ctx))
		}
		if unlucky() {
			return leasestest.Throttled()
		}
		return nil
	}
	table.After = func(context.Context, leasestest.Call) error {
		if m.deaf.Load() || unlucky() {
			return leasestest.Lost()
		}
		return nil
	}
	sink := pipeline.SinkFunc(func(ctx context.Context, ds []pipeline.Delivery) error {
		if m.deaf.Load() || !f.calm.Load() {
			t := time.NewTimer(time.Duration(rand.IntN(300)) * time.Millisecond)
			defer t.Stop()
			select {
			case <-t.C:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			if unlucky() {
				return pipeline.Transient(errors.New("down"))
			}
		}
		for i := range ds {
			m.w.wrote(ds[i].Change)
		}
		return f.store.Write(ctx, ds)
	})
	m.task = f.task(m.id, sink, func(o *options) {
		o.API, o.Table = overTheSDK(f.server.As(m.id)), table
		o.Coordinator.OnGap = coordinator.Continue // between two streams there is always one
		o.Coordinator.Rand = rand.New(rand.NewPCG(seed, 1))
		o.pipeline.Routes[0].Batch.Count = 10
		o.pipeline.MaxChanges = 200
		o.pipeline.StopTimeout = 5 * time.Second
		o.source = func(t *task) pipeline.Source {
			m.w = newWitness(t.c, f.store)
			return m.w
		}
	})
	f.alive = append(f.alive, m)
}

// end stops a task.
func (f *fleet) end(m *member, soft bool) {
	f.note("%s ends, softly: %v", m.id, soft)
	f.alive = slices.DeleteFunc(f.alive, func(o *member) bool { return o == m })
	deaf := m.deaf.Load()
	var err error
	if soft {
		m.stop()
		err = errors.Join(<-m.ran, m.close(10*time.Second))
	} else {
		now, cancel := context.WithCancelCause(context.Background())
		cancel(errors.New("stopped hard"))
		m.p.Stop(now)
		m.stop() // where Run had not begun
		<-m.ran
		_ = m.c.Close(now)
	}
	if soft && err != nil && !deaf && f.calm.Load() {
		f.t.Errorf("%s: %v", m.id, err)
	}
	f.note("%s ended: %v", m.id, err)
	if err := m.p.Ledger().Check(); err != nil {
		f.t.Errorf("%s: %v", m.id, err)
	}
	if wrong := m.w.report(); wrong != "" {
		f.t.Errorf("%s: %s", m.id, wrong)
	}
	for shard, l := range f.leases() {
		if soft && f.calm.Load() && l.Owner == m.id {
			f.t.Errorf("%s left the lease of %s behind", m.id, shard)
		}
	}
}
