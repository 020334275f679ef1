package pipeline

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/record"
)

// standing describes a pipeline over streams that never end.
type standing struct {
	paces   []pace
	habits  []sinkHabit
	changes int   // Options.MaxChanges
	bytes   int64 // Options.MaxBytes
	workers int
}

func drawStanding(t *rapid.T) standing {
	paces := []time.Duration{0, 0, 500 * time.Millisecond, 3 * time.Second, time.Minute}
	w := standing{
		changes: rapid.SampledFrom([]int{300, 600}).Draw(t, "changes"),
		bytes:   rapid.SampledFrom([]int64{400_000, 1 << 30}).Draw(t, "bytes"),
		workers: rapid.IntRange(1, 3).Draw(t, "workers"),
	}
	for range rapid.IntRange(1, 8).Draw(t, "partitions") {
		p := pace{
			begins:  rapid.SampledFrom([]time.Duration{0, 0, time.Hour}).Draw(t, "begins"),
			every:   rapid.SampledFrom(paces).Draw(t, "every"),
			records: rapid.SampledFrom([]int{0, 1, 3, 6, 100}).Draw(t, "records"),
			size:    rapid.SampledFrom([]int{20, 400}).Draw(t, "size"),
			keys:    rapid.SampledFrom([]int{1, 10, 1000}).Draw(t, "keys"),
		}
		if p.records == 100 && p.every > 0 {
			p.every = 10 * time.Minute // so that the sinks keep up
		}
		w.paces = append(w.paces, p)
	}
	for range rapid.IntRange(1, 3).Draw(t, "sinks") {
		h := drawHabit(t)
		if w.fails() {
			h.ill = 0 // a change that fails at two sinks is cloned for each, and may fill the bounds
		}
		w.habits = append(w.habits, h)
	}
	return w
}

// start runs the pipeline in a bubble until ctx is done.
func (w standing) start(ctx context.Context, t *testing.T, trouble time.Duration) (
	src *shards, sinks []*habitual, p *Pipeline, wait func() error,
) {
	src = newShards(w.paces)
	o := Options{
		Name: "standing", Workers: w.workers, MaxChanges: w.changes, MaxBytes: w.bytes, StopTimeout: 1000 * time.Hour,
		Backoff: Backoff{Base: 100 * time.Millisecond, Max: 10 * time.Second},
	}
	for i, h := range w.habits {
		begun := time.Now()
		s := &habitual{habit: h, begun: begun, until: begun.Add(trouble), part: "p0", owed: map[string]time.Time{}}
		sinks = append(sinks, s)
		o.Routes = append(o.Routes, Route{
			Name: fmt.Sprint("s", i), Sink: s, Filters: []Filter{s}, Batch: h.batch, Concurrency: h.concurrency, Rate: h.rate,
		})
	}
	src.onRead = func(at time.Time, c *record.Change) {
		for _, s := range sinks {
			if s.wants(c) {
				s.mu.Lock()
				s.owed[name(c)] = at
				s.mu.Unlock()
			}
		}
	}
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx, src, nil) }()
	return src, sinks, p, func() error { return <-done }
}

// patience returns how long a record may wait for each sink under these settings, if changes that fill the bounds are
// ahead of it and each batch has one change. It also returns how long a partition may be held back.
func (w standing) patience() (records []time.Duration, hold time.Duration) {
	held := 2 * w.changes
	for _, h := range w.habits {
		one := h.slow + 5*time.Millisecond
		if h.rate > 0 {
			one += time.Duration(float64(time.Second) / h.rate)
		}
		d := time.Duration(held)*one + h.throttled*2 + 20*time.Second
		records = append(records, h.batch.Linger+d)
		hold += d
	}
	for i := range records {
		records[i] += hold // a record that one sink holds back waits before it is routed to the others
	}
	return records, hold
}

// TestStanding_NothingWaitsForEver checks, for random partitions and sinks, that each record is written within the time
// that the settings allow. A partition is held back no longer than its cause lasts, and failures in one partition hold
// back no other.
func TestStanding_NothingWaitsForEver(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := drawStanding(rt)
		var wrong []string
		synctest.Test(t, func(t *testing.T) { wrong = w.check(t) })
		if len(wrong) > 0 {
			rt.Fatalf("%+v\n%q", w, wrong)
		}
	})
}

func (w standing) check(t *testing.T) (wrong []string) {
	errorf := func(format string, args ...any) {
		if len(wrong) < 5 {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	patience, hold := w.patience()
	trouble := hold + 5*time.Minute // duration of the faults
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	begun := time.Now()
	src, sinks, p, wait := w.start(ctx, t, trouble)
	for range 20 {
		time.Sleep(trouble / 8)
		synctest.Wait()
		now := time.Now()
		src.mu.Lock()
		ill := now.Sub(begun) < trouble+hold
		for _, part := range src.parts {
			if ill && w.fails() && part == src.parts[0] {
				continue
			}
			if !part.paused.IsZero() && now.Sub(part.paused) > hold {
				errorf("after %v: %s is paused for %v", now.Sub(begun), part.name, now.Sub(part.paused))
			}
		}
		if src.called.IsZero() && now.Sub(src.asked) > hold {
			errorf("after %v: nothing is read for %v", now.Sub(begun), now.Sub(src.asked))
		}
		for i, s := range sinks {
			s.mu.Lock()
			for name, at := range s.owed {
				part, _, _ := strings.Cut(name, "/")
				since := src.byName[part].paused // zero: the partition is not paused
				if since.IsZero() && src.called.IsZero() {
					since = src.asked
				}
				switch {
				// the sink holds nothing back, or not for long
				case s.habit.waitsForEver() && (s.habit.packs || since.IsZero() || now.Sub(since) <= hold):
				case ill && w.fails() && part == "p0":
				case now.Sub(at) > patience[i]:
					errorf("after %v: sink %d has not got %s after %v", now.Sub(begun), i, name, now.Sub(at))
				}
			}
			s.mu.Unlock()
		}
		src.mu.Unlock()
		if len(wrong) > 0 {
			break
		}
	}
	cancel()
	if err := wait(); err != nil {
		errorf("Run: %v", err)
	}
	for i, s := range sinks {
		if len(s.owed) > 0 {
			errorf("sink %d has not got %d records at the end", i, len(s.owed))
		}
	}
	if err := p.Ledger().Check(); err != nil {
		errorf("%v", err)
	}
	return wrong
}

// fails reports whether keys of the first partition fail.
func (w standing) fails() bool {
	for _, h := range w.habits {
		if h.ill > 0 {
			return true
		}
	}
	return false
}

// TestStanding_BusyAmongIdle checks that a busy partition keeps nine tenths of its rate beside a thousand other
// partitions that brought records once or bring one now and then.
func TestStanding_BusyAmongIdle(t *testing.T) {
	busy := pace{every: 200 * time.Millisecond, records: 50, size: 100, keys: 1000}
	idle := []pace{
		{keys: 1},
		{records: 1, size: 100, keys: 1},
		{every: 10 * time.Minute, records: 1, size: 100, keys: 1},
	}
	var habits []sinkHabit
	for _, batch := range []Batch{
		{},
		{Linger: time.Second},
		{Linger: 5 * time.Minute},
		{Count: 1 << 20, Bytes: 50_000, Fill: true},
		{Count: 1 << 20, Bytes: 1 << 30, Fill: true},
		{Count: 1 << 20, Bytes: 1 << 30, Fill: true, Linger: 5 * time.Minute},
	} {
		habits = append(habits,
			sinkHabit{batch: batch, concurrency: 1, keepsOrder: true, packs: true, takes: 1},
			sinkHabit{batch: batch, concurrency: 2, takes: 1, slow: 200 * time.Millisecond},
			sinkHabit{batch: batch, concurrency: 1, keepsOrder: true, takes: 50},
		)
	}
	for i, h := range habits {
		alone := standing{changes: 2000, bytes: 1 << 30, workers: 2, paces: []pace{busy}}
		alone.habits = []sinkHabit{h, {concurrency: 2, takes: 1, rate: 150}}
		one := alone.rate(t, 4*time.Minute)
		beside := alone
		for range 1000 {
			beside.paces = append(beside.paces[:len(beside.paces):len(beside.paces)], idle[i%len(idle)])
		}
		if among := beside.rate(t, 4*time.Minute); float64(among) < 0.9*float64(one) {
			t.Errorf("%+v: %d records alone, %d beside a thousand of %+v", h, one, among, idle[i%len(idle)])
		}
	}
	// This sink is fast only with many changes in flight.
	deep := standing{changes: 2000, bytes: 1 << 30, workers: 2, paces: []pace{busy}}
	deep.paces[0].every = 20 * time.Millisecond
	deep.habits = []sinkHabit{{concurrency: 4, takes: 1, slow: 500 * time.Millisecond}}
	one := deep.rate(t, time.Minute)
	for range 1000 {
		deep.paces = append(deep.paces, idle[1])
	}
	if among := deep.rate(t, time.Minute); float64(among) < 0.9*float64(one) {
		t.Errorf("%+v: %d records alone, %d beside a thousand idle ones", deep.habits[0], one, among)
	}
}

// TestStanding_FillingHoldsBackOne checks that a partition whose changes wait for an object to fill is read on, even if
// other partitions hold most of the bounds.
func TestStanding_FillingHoldsBackOne(t *testing.T) {
	object := sinkHabit{concurrency: 1, keepsOrder: true, takes: 1, of: "p0"}
	object.batch = Batch{Count: 1 << 20, Bytes: 1 << 30, Fill: true}
	w := standing{changes: 300, bytes: 1 << 30, workers: 1, habits: []sinkHabit{object, {
		concurrency: 1, takes: 1, of: "p1 p2 p3", rate: 20,
	}}}
	for range 4 {
		w.paces = append(w.paces, pace{every: 100 * time.Millisecond, records: 3, size: 20, keys: 1000})
	}
	if n, all := w.rate(t, 10*time.Minute), 18_000; n < all*9/10 {
		t.Errorf("%d records of %d are read of a partition that waits for nothing but its object", n, all)
	}
}

// TestStanding_FailedPackHoldsBackNoOther checks that no record is lost and that the other partitions are read on if
// all changes of a packed batch that is larger than the bounds fail.
func TestStanding_FailedPackHoldsBackNoOther(t *testing.T) {
	for name, batch := range map[string]Batch{
		"a full batch":        {Count: 1000, Linger: time.Hour},
		"a batch that is old": {Count: 2000, Linger: 4 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			ill := sinkHabit{concurrency: 1, keepsOrder: true, packs: true, takes: 1, of: "p0", ill: 1, batch: batch}
			w := standing{changes: 300, bytes: 1 << 30, workers: 1, habits: []sinkHabit{ill, {concurrency: 1, takes: 1, of: "p1"}}}
			w.paces = []pace{{every: 500 * time.Millisecond, records: 3, size: 20, keys: 1}, {every: 3 * time.Second, records: 1, size: 20, keys: 1}}
			synctest.Test(t, func(t *testing.T) {
				for _, wrong := range w.check(t) {
					t.Error(wrong)
				}
			})
		})
	}
}

// rate returns how many records of the first partition are read in a time window.
func (w standing) rate(t *testing.T, window time.Duration) (n int) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		src, _, _, wait := w.start(ctx, t, 0)
		time.Sleep(window / 5) // fills the bounds
		n = -src.read(0)
		time.Sleep(window)
		synctest.Wait()
		n += src.read(0)
		cancel()
		if err := wait(); err != nil {
			t.Error(err)
		}
	})
	return n
}
