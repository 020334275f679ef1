package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// A deployment repeats nothing and delays nothing for long: the tasks are replaced one by one during writes, each
// starting before the other stops.
func TestStop_RollingRestartRepeatsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, streamtest.Options{PageRecords: 7})
		defer r.tell()
		r.server.Enable("shop", streamtest.StreamOptions{Shards: 8})
		s := newStore()
		var put sync.Map // times, by number
		var worst atomic.Int64
		slow := pipeline.SinkFunc(func(ctx context.Context, ds []pipeline.Delivery) error {
			time.Sleep(50 * time.Millisecond)
			for i := range ds {
				v, _ := ds[i].Change.New.Get("n")
				n, _ := v.Number()
				at, _ := put.Load(n.String())
				worst.Store(max(worst.Load(), int64(time.Since(at.(time.Time)))))
			}
			return s.Write(ctx, ds)
		})
		written := 0
		write := func(d time.Duration) {
			for range int(d / (20 * time.Millisecond)) {
				written++
				put.Store(fmt.Sprint(written), time.Now())
				r.put(fmt.Sprint("k", written%40), written)
				time.Sleep(20 * time.Millisecond)
			}
		}
		old := []*task{r.task("a1", slow), r.task("b1", slow)}
		write(10 * time.Second)
		for i, k := range old {
			next := r.task(fmt.Sprint("ab"[i:i+1], 2), slow)
			write(3 * time.Second)
			ended := make(chan error, 1)
			go func() { ended <- k.end() }()
			write(3 * time.Second)
			if err := <-ended; err != nil {
				t.Error(err)
			}
			k.balanced()
			old[i] = next
		}
		r.until("all read", s.seenAre(written))
		if seen, writes := s.count(); writes != seen {
			t.Errorf("%d records were written %d times", seen, writes)
		}
		if d := time.Duration(worst.Load()); d > 2*time.Second {
			t.Errorf("a record was written %v after it was put", d)
		}
		for _, k := range old {
			if err := k.end(); err != nil {
				t.Error(err)
			}
		}
	})
}

// A second signal stops hard: leases are released at the durable position.
func TestStop_HardLetsLeasesGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, streamtest.Options{PageRecords: 1})
		defer r.tell()
		st := r.server.AddStream("shop")
		s := newStore()
		var hang atomic.Bool
		k := r.task("a", pipeline.SinkFunc(func(ctx context.Context, ds []pipeline.Delivery) error {
			if hang.Load() {
				<-ctx.Done()
				return ctx.Err()
			}
			return s.Write(ctx, ds)
		}))
		r.put("a", 1)
		r.until("read", s.seenAre(1))
		hang.Store(true)
		r.put("a", 2)
		time.Sleep(5 * time.Second)
		k.stop()
		second, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(time.Second, func() { cancel(errors.New("a second signal")) })
		start := time.Now()
		k.p.Stop(second)
		err := <-k.ran
		if _, ok := errors.AsType[*pipeline.StopError](err); !ok || !strings.Contains(err.Error(), "a second signal") {
			t.Errorf("Run returned %v", err)
		}
		if err := k.close(time.Minute); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("it took %v behind the second signal", took-time.Second)
		}
		shard := st.Shards()[0]
		if l := r.leases()[shard]; l.Owner != "" || l.Checkpoint.Sequence != st.State(shard).First && l.Checkpoint.Sequence == "" {
			t.Errorf("the lease is left as %+v", l)
		}
		if k.p.Ledger().Sinks["s"].Pending != 1 {
			t.Errorf("%+v", k.p.Ledger().Sinks["s"])
		}
		next := r.task("b", s)
		start = time.Now()
		r.until("read by the next", s.seenAre(2))
		if took := time.Since(start); took > time.Second {
			t.Errorf("the next task needed %v: the lease was not let go", took)
		}
		if _, writes := s.count(); writes != 2 {
			t.Errorf("%d writes of 2 records: the checkpoint was not kept", writes)
		}
		if err := next.end(); err != nil {
			t.Error(err)
		}
	})
}

// Close alone ends a run: softly, and hard when its context ends.
func TestStop_CloseEndsTheRun(t *testing.T) {
	for name, hangs := range map[string]bool{"softly": false, "hard": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, streamtest.Options{})
				defer r.tell()
				r.server.AddStream("shop")
				r.put("a", 1)
				s := newStore()
				k := r.task("a", pipeline.SinkFunc(func(ctx context.Context, ds []pipeline.Delivery) error {
					if hangs {
						<-ctx.Done()
						return ctx.Err()
					}
					return s.Write(ctx, ds)
				}))
				time.Sleep(time.Second)
				err := k.close(3 * time.Second)
				if (err != nil) != hangs || hangs && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Close returned %v", err)
				}
				if err := <-k.ran; err != nil {
					t.Errorf("Run returned %v", err)
				}
				if again := k.close(time.Second); fmt.Sprint(again) != fmt.Sprint(err) {
					t.Errorf("the second Close returned %v", again)
				}
				l := k.p.Ledger().Sinks["s"]
				if hangs && l.Revoked != 1 || !hangs && l.Written != 1 || l.Pending != 0 {
					t.Errorf("%+v", l)
				}
				for shard, l := range r.leases() {
					if l.Owner != "" {
						t.Errorf("the lease of %s is left with %s", shard, l.Owner)
					}
				}
			})
		})
	}
}

// Pages wait for the pipeline within bounds, and a shard whose sink hangs on one item
// holds up no other.
func TestConsumer_SlowShardHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, streamtest.Options{PageRecords: 10})
		defer r.tell()
		r.server.Enable("shop", streamtest.StreamOptions{Shards: 4})
		var hang atomic.Bool
		hang.Store(true)
		s := newStore()
		slow := r.put("hot", 0)
		k := r.task("a", pipeline.SinkFunc(func(ctx context.Context, ds []pipeline.Delivery) error {
			var failed pipeline.BatchError
			for i := range ds {
				if ds[i].Change.Shard == slow && hang.Load() {
					failed.Add(i, pipeline.Transient(errors.New("down")))
					continue
				}
				if err := s.Write(ctx, ds[i:i+1]); err != nil {
					return err
				}
			}
			return failed.OrNil()
		}), func(o *options) {
			o.Coordinator.Prefetch = 100 << 10
			o.pipeline.MaxChanges = 400
		})
		others, all := 0, 1
		for i := range 200 {
			for n := range 10 {
				if all++; r.put(fmt.Sprint("k", n), i+1) != slow {
					others++
				}
			}
			all++
			r.put("hot", i+1)
		}
		r.until("the other shards read", s.seenAre(others))
		read := k.p.Ledger().Source.Read
		// While no other partition holds anything, the slow one may use all of MaxChanges, and one page more.
		if read > int64(others)+400+10 {
			t.Errorf("%d records were read of the slow shard, more than the bounds hold", read-int64(others))
		}
		if left := int64(all) - int64(others); left <= 400+10 {
			t.Errorf("the slow shard has %d records, too few to see a bound", left)
		}
		hang.Store(false)
		r.until("everything read", s.seenAre(all))
		if err := k.end(); err != nil {
			t.Error(err)
		}
		k.balanced()
	})
}

// The pages that are read and not taken are bounded.
func TestConsumer_PrefetchIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, streamtest.Options{PageRecords: 20})
		defer r.tell()
		r.server.Enable("shop", streamtest.StreamOptions{Shards: 8})
		all := 0
		for i := range 100 {
			for n := range 20 {
				all++
				r.put(fmt.Sprint("k", n), i+1)
			}
		}
		s := newStore()
		var hang atomic.Bool
		hang.Store(true)
		go func() {
			time.Sleep(10 * time.Second)
			hang.Store(false)
		}()
		const prefetch = 40 << 10
		m := newMeter(t)
		k := r.task("a", pipeline.SinkFunc(func(ctx context.Context, ds []pipeline.Delivery) error {
			for hang.Load() {
				time.Sleep(time.Second)
			}
			return s.Write(ctx, ds)
		}), func(o *options) {
			o.Coordinator.Prefetch, o.Meter = prefetch, m.provider
			o.pipeline.MaxChanges = 20
		})
		time.Sleep(5 * time.Second)
		// A page is expected to have as much as the one before it, and at least 16 KiB.
		if held := m.gauge("tablewake.reader.prefetched", ""); held == 0 || held > prefetch+16<<10 {
			t.Errorf("%v bytes are prefetched, of %d", held, prefetch)
		}
		r.until("everything read", s.seenAre(all))
		if err := k.end(); err != nil {
			t.Error(err)
		}
	})
}
