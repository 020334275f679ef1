package snapshot_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
)

func TestSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &written{}
		tab := &table{sizes: map[string]int{"a": 100, "b": 0, "c": 7, "d": 1, "e": 33}, page: 5}
		store := &partStore{written: w}
		src := newSource(t, snapshot.SourceOptions{Snapshot: tab, Backfills: store, Owner: "p1", Concurrency: 2})
		if err := run(t.Context(), t, src, w.sink(), pipeline.Batch{}); err != nil {
			t.Fatal(err)
		}
		if missing := w.missing(tab); len(missing) > 0 || len(store.wrong) > 0 || len(w.keys) != 141 {
			t.Errorf("missing %v, wrong %q, %d keys", missing, store.wrong, len(w.keys))
		}
		for id, n := range tab.sizes {
			if p := store.parts[id]; !p.Done || p.Owner != "" || int(p.Items) != n {
				t.Errorf("stored %+v", p)
			}
		}
		want := snapshot.Progress{Items: 141, TotalItems: 141, TotalBytes: -1, Parts: 5, OwnItems: 141}
		if p := src.Progress(); p != want {
			t.Errorf("progress %+v, want %+v", p, want)
		}
	})
}

// Batches that wait to be full do not keep the last parts from being done.
func TestSource_DrainsAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &written{}
		tab := &table{sizes: map[string]int{"a": 3, "b": 4}, page: 2}
		src := newSource(t, snapshot.SourceOptions{Snapshot: tab, Backfills: &partStore{written: w}, Owner: "p1"})
		begun := time.Now()
		if err := run(t.Context(), t, src, w.sink(), pipeline.Batch{Count: 1000, Linger: 5 * time.Minute}); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(begun); d > time.Minute {
			t.Errorf("the end took %v", d)
		}
	})
}

// A stop stores the newest position and gives the parts free, so the next process continues there at once.
func TestSource_ContinuesWhereItWasStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &written{}
		starts := map[string]int{}
		var mu sync.Mutex
		tab := &table{sizes: map[string]int{"a": 1000}, page: 10,
			latency: func(string) { time.Sleep(time.Second) },
			opened: func(id string, at int) {
				mu.Lock()
				defer mu.Unlock()
				starts[id] = at
			}}
		store := &partStore{written: w}
		ctx, cancel := context.WithTimeout(t.Context(), 42*time.Second)
		defer cancel()
		src := newSource(t, snapshot.SourceOptions{Snapshot: tab, Backfills: store, Owner: "p1"})
		if err := run(ctx, t, src, w.sink(), pipeline.Batch{}); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if p := store.parts["a"]; p.Owner != "" || p.Items != 410 && p.Items != 420 {
			t.Errorf("stored %+v", p)
		}
		stopped := store.parts["a"].Items
		begun := time.Now()
		src = newSource(t, snapshot.SourceOptions{Snapshot: tab, Backfills: store, Owner: "p2"})
		if err := run(t.Context(), t, src, w.sink(), pipeline.Batch{}); err != nil {
			t.Fatal(err)
		}
		if p := src.Progress(); p.EarlierItems != stopped || p.OwnItems != 1000-stopped || p.Items != 1000 {
			t.Errorf("after %d items of an earlier process: progress %+v", stopped, p)
		}
		if int64(starts["a"]) != stopped || time.Since(begun) > 70*time.Second || len(w.missing(tab)) > 0 {
			t.Errorf("stopped at %d, began at %d, took %v", stopped, starts["a"], time.Since(begun))
		}
	})
}

// The position is stored while a part is read: a killed process repeats a few seconds.
func TestSource_StoresPositionsWhileItReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &written{}
		tab := &table{sizes: map[string]int{"a": 1000}, page: 10, latency: func(string) { time.Sleep(time.Second) }}
		store := &partStore{written: w}
		ctx, cancel := context.WithCancel(t.Context())
		src := newSource(t, snapshot.SourceOptions{Snapshot: tab, Backfills: store, Owner: "p1"})
		go func() {
			time.Sleep(60*time.Second + time.Millisecond)
			store.mu.Lock()
			if p := store.parts["a"]; p.Items < 500 || p.Counter < 10 {
				t.Errorf("after a minute: %+v", p)
			}
			store.mu.Unlock()
			cancel()
		}()
		_ = run(ctx, t, src, w.sink(), pipeline.Batch{})
	})
}

func TestSource_PartThatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &written{}
		tab := &table{sizes: map[string]int{"a": 100, "b": 40, "c": 7, "d": 50}, page: 5, failAt: map[string]int{"b": 20, "d": 0}}
		store := &partStore{written: w}
		src := newSource(t, snapshot.SourceOptions{Snapshot: tab, Backfills: store, Owner: "p1", Concurrency: 1})
		err := run(t.Context(), t, src, w.sink(), pipeline.Batch{Count: 1000, Linger: time.Minute})
		if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "2 of 4 parts") || !strings.Contains(err.Error(), "part b: ") || !strings.Contains(err.Error(), "part d: ") {
			t.Errorf("error %v", err)
		}
		if p := store.parts["b"]; p.Done || p.Owner != "" || p.Items != 20 {
			t.Errorf("stored %+v", p)
		}
		if !store.parts["a"].Done || !store.parts["c"].Done || len(store.wrong) > 0 {
			t.Errorf("the other parts: %+v, wrong %q", store.parts, store.wrong)
		}
		// The file was repaired: the next run reads the rest.
		tab.failAt = nil
		src = newSource(t, snapshot.SourceOptions{Snapshot: tab, Backfills: store, Owner: "p2"})
		if err := run(t.Context(), t, src, w.sink(), pipeline.Batch{}); err != nil || len(w.missing(tab)) > 0 || w.keys["b/0"] != 1 {
			t.Errorf("then %v, missing %v", err, w.missing(tab))
		}
	})
}

// Two processes that cannot read a part each do not wait for each other. Each of them tries the other's part, because
// the fault may be its own.
func TestSource_TwoProcessesFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &written{}
		store := &partStore{written: w}
		var wg sync.WaitGroup
		for i, broken := range []map[string]int{{"a": 20, "b": 10}, {"a": 10, "b": 30, "c": 0}} {
			wg.Go(func() {
				tab := &table{sizes: map[string]int{"a": 100, "b": 40, "c": 7}, page: 5, failAt: broken, latency: func(string) { time.Sleep(time.Second) }}
				src := newSource(t, snapshot.SourceOptions{Snapshot: tab, Backfills: store, Owner: fmt.Sprint("p", i), Concurrency: 1})
				err := run(t.Context(), t, src, w.sink(), pipeline.Batch{Count: 1000, Linger: time.Hour})
				if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "2 of 3 parts") {
					t.Error(i, err)
				}
			})
		}
		wg.Wait()
		if a, b, c := store.parts["a"], store.parts["b"], store.parts["c"]; a.Items != 20 || b.Items != 30 || !c.Done || a.Owner+b.Owner != "" {
			t.Errorf("%+v", store.parts)
		}
	})
}

// While two processes read, each knows how far the other is, to ten seconds.
func TestSource_ProgressOfAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &written{}
		tab := &table{sizes: map[string]int{"a": 1000, "b": 1000}, page: 10}
		tab.latency = func(string) { time.Sleep(time.Second) }
		store := &partStore{written: w}
		var wg sync.WaitGroup
		var sources [2]*snapshot.Source
		for i := range sources {
			o := snapshot.SourceOptions{Snapshot: tab, Backfills: store, Owner: fmt.Sprint("p", i), Concurrency: 1}
			sources[i] = newSource(t, o)
			wg.Go(func() {
				if err := run(t.Context(), t, sources[i], w.sink(), pipeline.Batch{}); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(50 * time.Second)
		for _, src := range sources {
			if p := src.Progress(); p.OwnItems < 450 || p.OwnItems > 550 || p.Items-p.OwnItems < p.OwnItems-250 || p.TotalItems != 2000 {
				t.Errorf("progress %+v", p)
			}
		}
		wg.Wait()
	})
}

// Two processes share the parts, and each returns when all parts are done.
func TestSource_TwoProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &written{}
		tab := &table{sizes: map[string]int{}, page: 10, latency: func(string) { time.Sleep(time.Second) }}
		for i := range 40 {
			tab.sizes[fmt.Sprintf("part %02d", i)] = 50
		}
		store := &partStore{written: w}
		var own [2]written
		var wg sync.WaitGroup
		begun := time.Now()
		for i := range 2 {
			wg.Go(func() {
				src := newSource(t, snapshot.SourceOptions{Snapshot: tab, Backfills: store, Owner: fmt.Sprint("p", i), Concurrency: 2})
				if err := run(t.Context(), t, src, both(w, &own[i]), pipeline.Batch{}); err != nil {
					t.Error(err)
				}
				if p := src.Progress(); p.Items != 2000 || p.Parts != 40 {
					t.Errorf("progress %+v", p)
				}
			})
		}
		wg.Wait()
		for key, n := range w.keys {
			if n != 1 {
				t.Fatalf("%s was written %d times", key, n)
			}
		}
		// 40 parts of 6 reads of a second each, 4 at once.
		if d := time.Since(begun); d > 90*time.Second || len(w.missing(tab)) > 0 {
			t.Errorf("%v, missing %d", d, len(w.missing(tab)))
		}
		if a, b := len(own[0].keys), len(own[1].keys); a+b != 2000 || a < 15*50 || b < 15*50 {
			t.Errorf("one process wrote %d items, and the other %d", a, b)
		}
	})
}

// The process that reads the last part ends the backfill, and removes the parts before the other one has seen that they
// are done: that one ends, too.
func TestSource_RemovedByAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &written{}
		tab := &table{sizes: map[string]int{"a": 100, "b": 100}, page: 5, latency: func(string) { time.Sleep(time.Second) }}
		store := &partStore{written: w}
		var first sync.WaitGroup
		first.Go(func() {
			src := newSource(t, snapshot.SourceOptions{Snapshot: tab, Backfills: store, Owner: "p1"})
			if err := run(t.Context(), t, src, w.sink(), pipeline.Batch{}); err != nil {
				t.Error(err)
			}
			store.mu.Lock()
			defer store.mu.Unlock()
			clear(store.parts)
		})
		time.Sleep(15 * time.Second)
		second := newSource(t, snapshot.SourceOptions{Snapshot: tab, Backfills: store, Owner: "p2"})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		own := &written{}
		if err := run(ctx, t, second, both(w, own), pipeline.Batch{}); err != nil || ctx.Err() != nil {
			t.Errorf("the second process: %v, %v", err, ctx.Err())
		}
		first.Wait()
		if len(own.keys) > 0 || len(w.missing(tab)) > 0 {
			t.Errorf("it wrote %d items, missing %v", len(own.keys), w.missing(tab))
		}
	})
}

// A part is taken over once its owner is silent for the claim time, and not before. Meanwhile the log says, once, why
// nothing is read.
func TestSource_TakesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &written{}
		tab := &table{sizes: map[string]int{"a": 10}, page: 5}
		store := &partStore{parts: map[string]state.Part{"a": {Run: "run", ID: "a", Owner: "dead", Counter: 7, Position: "5", Items: 5}}}
		var said bytes.Buffer
		log := slog.New(slog.NewTextHandler(&said, nil))
		src := newSource(t, snapshot.SourceOptions{Snapshot: tab, Backfills: store, Owner: "p1", ClaimTime: 30 * time.Second, Logger: log})
		begun := time.Now()
		if err := run(t.Context(), t, src, w.sink(), pipeline.Batch{}); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(begun); d < 30*time.Second || d > 45*time.Second || len(w.keys) != 5 {
			t.Errorf("%v, %v", d, w.keys)
		}
		if strings.Count(said.String(), `part=a owner=dead silent_for=`) != 1 {
			t.Errorf("it logs %s", said.String())
		}
	})
}

// The pages of a part that another process took over are revoked. The part is read here again if that process dies.
func TestSource_LostPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &written{}
		tab := &table{sizes: map[string]int{"a": 100}, page: 1, latency: func(string) { time.Sleep(time.Second) }}
		store := &partStore{written: w}
		src := newSource(t, snapshot.SourceOptions{Snapshot: tab, Backfills: store, Owner: "p1"})
		go func() {
			time.Sleep(33 * time.Second)
			store.mu.Lock()
			p := store.parts["a"]
			p.Owner, p.Counter = "other", p.Counter+1
			store.parts["a"] = p
			store.mu.Unlock()
		}()
		begun := time.Now()
		if err := run(t.Context(), t, src, w.sink(), pipeline.Batch{}); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(begun); d < 130*time.Second || len(w.missing(tab)) > 0 || len(store.wrong) > 0 {
			t.Errorf("%v, missing %v, wrong %q", d, w.missing(tab), store.wrong)
		}
	})
}

// Read returns no page of a paused part, and continues with the others.
func TestSource_Pause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab := &table{sizes: map[string]int{"a": 3, "b": 3}, page: 1}
		src := newSource(t, snapshot.SourceOptions{Snapshot: tab, Backfills: &partStore{}, Owner: "p1"})
		first, err := src.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		src.Pause(first.Partition, true)
		for range 4 { // three items and the end of the other part
			page, err := src.Read(t.Context())
			if err != nil || page.Partition == first.Partition {
				t.Fatalf("page of %v, %v", page, err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		if page, err := src.Read(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("page %v, %v", page, err)
		}
		cancel()
		src.Pause(first.Partition, false)
		if page, err := src.Read(t.Context()); err != nil || page.Partition != first.Partition {
			t.Errorf("page %v, %v", page, err)
		}
		if err := src.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Throttle holds back each read, and does not block the stop.
func TestSource_Throttle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &written{}
		var lags atomic.Bool
		lags.Store(true)
		tab := &table{sizes: map[string]int{"a": 3}, page: 1}
		src := newSource(t, snapshot.SourceOptions{Snapshot: tab, Backfills: &partStore{}, Owner: "p1", Throttle: func(ctx context.Context) {
			for lags.Load() && pipeline.Sleep(ctx, time.Second) == nil {
			}
		}})
		go func() {
			time.Sleep(time.Hour)
			if len(w.keys) > 0 {
				t.Errorf("wrote %v", w.keys)
			}
			lags.Store(false)
		}()
		if err := run(t.Context(), t, src, w.sink(), pipeline.Batch{}); err != nil || len(w.keys) != 3 {
			t.Errorf("%v, %v", err, w.keys)
		}
	})
}

func TestSource_AnotherSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &partStore{parts: map[string]state.Part{"z": {Run: "run", ID: "z", Counter: 1}}}
		src := newSource(t, snapshot.SourceOptions{Snapshot: &table{sizes: map[string]int{"a": 1}, page: 1}, Backfills: store, Owner: "p1"})
		err := run(t.Context(), t, src, (&written{}).sink(), pipeline.Batch{})
		if err == nil || !strings.Contains(err.Error(), "has a part z") {
			t.Errorf("error %v", err)
		}
	})
}

// Whatever is killed, cut off or late, no unwritten item is skipped, and all parts are done in the end.
func TestSource_Kills(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		k := killings{
			seed:      rapid.Uint64().Draw(rt, "seed"),
			processes: rapid.IntRange(1, 3).Draw(rt, "processes"),
			parts:     rapid.IntRange(1, 6).Draw(rt, "parts"),
			items:     rapid.IntRange(0, 60).Draw(rt, "items"),
			kills:     rapid.IntRange(0, 5).Draw(rt, "kills"),
			rate:      rapid.SampledFrom([]float64{0, 0.1, 0.5}).Draw(rt, "rate"),
			slow:      rapid.SampledFrom([]time.Duration{0, time.Second, 50 * time.Second}).Draw(rt, "slow"),
			linger:    rapid.SampledFrom([]time.Duration{0, 10 * time.Second}).Draw(rt, "linger"),
		}
		var wrong []string
		synctest.Test(t, func(t *testing.T) { wrong = k.check(t) })
		if len(wrong) > 0 {
			rt.Fatalf("%+v\n%s", k, strings.Join(wrong[:min(5, len(wrong))], "\n"))
		}
	})
}

type killings struct {
	seed                           uint64
	processes, parts, items, kills int
	rate                           float64
	slow, linger                   time.Duration
}

func (k killings) check(t *testing.T) (wrong []string) {
	w := &written{}
	store := &partStore{written: w}
	r := rand.New(rand.NewPCG(k.seed, 0))
	var rmu sync.Mutex
	random := func(d time.Duration) time.Duration {
		rmu.Lock()
		defer rmu.Unlock()
		return time.Duration(r.Int64N(int64(d)))
	}
	tab := &table{sizes: map[string]int{}, page: 1 + int(random(7)), latency: func(string) { time.Sleep(random(3 * time.Second)) }}
	for i := range k.parts {
		tab.sizes[fmt.Sprint("part ", i)] = int(random(time.Duration(k.items) + 1))
	}
	all, stop := context.WithTimeout(t.Context(), 24*time.Hour) // a world that never ends
	defer stop()
	var wg sync.WaitGroup
	var wmu sync.Mutex
	for i := range k.processes {
		wg.Go(func() {
			for life := range k.kills + 1 {
				net := &faults{partStore: store, r: rand.New(rand.NewPCG(k.seed, uint64(100*i+life))), rate: k.rate, slow: k.slow}
				ctx, cancel := context.WithCancel(all)
				src := newSource(t, snapshot.SourceOptions{Snapshot: tab, Backfills: net, Owner: fmt.Sprintf("p%d.%d", i, life), Concurrency: 2})
				add := w.sink()
				sink := pipeline.SinkFunc(func(ctx context.Context, ds []pipeline.Delivery) error {
					time.Sleep(random(2 * time.Second))
					if net.isDead() {
						return pipeline.Fatal(errors.New("killed"))
					}
					return add(ctx, ds)
				})
				last := life == k.kills
				if !last {
					time.AfterFunc(random(100*time.Second), func() { net.kill(); cancel() })
				}
				err := newPipeline(t, sink, pipeline.Batch{Count: 20, Linger: k.linger}).Run(ctx, src, src)
				closed := src.Close(context.WithoutCancel(ctx))
				cancel()
				wmu.Lock()
				if last && err != nil {
					wrong = append(wrong, fmt.Sprintf("the last run of process %d: %v", i, err))
				}
				if closed != nil && !net.isDead() && k.rate == 0 {
					wrong = append(wrong, closed.Error())
				}
				wmu.Unlock()
			}
		})
	}
	wg.Wait()
	wrong = append(wrong, store.wrong...)
	for id, n := range tab.sizes {
		if p := store.parts[id]; !p.Done || int(p.Items) != n {
			wrong = append(wrong, fmt.Sprintf("stored %+v of %d items", p, n))
		}
	}
	return append(wrong, w.missing(tab)...)
}

// The same over SQLite: two processes, after one that was killed.
func TestSource_SQLite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "views.db")
	tab := &table{sizes: map[string]int{"a": 100, "b": 30, "c": 0, "d": 500}, page: 7}
	w := &written{}
	open := func() *sqlite.DB {
		db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	db := open()
	killed := newSource(t, snapshot.SourceOptions{Snapshot: tab, Backfills: db.State("shop"), Owner: "p0", ClaimTime: time.Second})
	page, err := killed.Read(t.Context())
	if err != nil || page == nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Close(t.Context()) // it cannot store anything
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() {
			db := open()
			src := newSource(t, snapshot.SourceOptions{Snapshot: tab, Backfills: db.State("shop"), Owner: fmt.Sprint("p", i+1), ClaimTime: time.Second})
			if err := run(t.Context(), t, src, w.sink(), pipeline.Batch{}); err != nil {
				t.Error(err)
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if missing := w.missing(tab); len(missing) > 0 {
		t.Errorf("missing %v", missing)
	}
	db = open()
	defer func() { _ = db.Close() }()
	var done []string
	for p, err := range db.State("shop").Parts(t.Context(), "run") {
		if err != nil {
			t.Fatal(err)
		}
		if p.Done && int(p.Items) == tab.sizes[p.ID] {
			done = append(done, p.ID)
		}
	}
	if !slices.Equal(done, []string{"a", "b", "c", "d"}) {
		t.Errorf("done %v", done)
	}
	// All is done: another process reads nothing.
	src := newSource(t, snapshot.SourceOptions{Snapshot: tab, Backfills: db.State("shop"), Owner: "p9"})
	if page, err := src.Read(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("page %v, %v", page, err)
	}
	if err := src.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestNewSource_Options(t *testing.T) {
	tab := &table{sizes: map[string]int{"a": 1}}
	good := snapshot.SourceOptions{Snapshot: tab, Backfills: &partStore{}, Run: "run", Owner: "p1"}
	for name, change := range map[string]func(*snapshot.SourceOptions){
		"Snapshot":    func(o *snapshot.SourceOptions) { o.Snapshot = nil },
		"Backfills":   func(o *snapshot.SourceOptions) { o.Backfills = nil },
		"Run":         func(o *snapshot.SourceOptions) { o.Run = "" },
		"Owner":       func(o *snapshot.SourceOptions) { o.Owner = "" },
		"Concurrency": func(o *snapshot.SourceOptions) { o.Concurrency = -1 },
	} {
		o := good
		change(&o)
		if _, err := snapshot.NewSource(o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A server that closes the connection in place of an answer makes an error that wraps io.EOF. The part is not read to
// its end then, and must not be stored as done.
func TestSource_AConnectionThatBreaksEndsNoPart(t *testing.T) {
	tab := &table{sizes: map[string]int{"a": 4}, page: 1, failAt: map[string]int{"a": 2},
		failure: fmt.Errorf("Scan: request send failed: %w", io.EOF)}
	store := &partStore{parts: map[string]state.Part{}, written: &written{}}
	src := newSource(t, snapshot.SourceOptions{Snapshot: tab, Backfills: store, Owner: "p"})
	var err error
	for err == nil {
		_, err = src.Read(t.Context())
	}
	if pipeline.IsEnd(err) || !errors.Is(err, tab.failure) {
		t.Errorf("the source ended with %v", err)
	}
	if err := src.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if store.parts["a"].Done {
		t.Error("the part is stored as done")
	}
}

// A process that reads alone takes over the part of an ended process at once.
func TestSource_Alone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &written{}
		tab := &table{sizes: map[string]int{"a": 10}, page: 5}
		store := &partStore{parts: map[string]state.Part{"a": {Run: "run", ID: "a", Owner: "dead", Counter: 7, Position: "5", Items: 5}}}
		src := newSource(t, snapshot.SourceOptions{Snapshot: tab, Backfills: store, Owner: "p1", Alone: true})
		begun := time.Now()
		if err := run(t.Context(), t, src, w.sink(), pipeline.Batch{}); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(begun); d > time.Second || len(w.keys) != 5 {
			t.Errorf("%v, %v", d, w.keys)
		}
	})
}
