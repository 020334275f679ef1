package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
)

func TestBounds_ReadingStopsWhereTheyAreReached(t *testing.T) {
	for name, bound := range map[string]func(*Options){
		"changes": func(o *Options) { o.MaxChanges = 4 },
		"bytes":   func(o *Options) { o.MaxBytes = 2 * pinnedBytes(pageOf(map[string]int{}, "p", 1, "a", "b")) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := map[string]int{}
				read, held := 0, make(chan struct{})
				p := newPipeline(t, SinkFunc(func(context.Context, []Delivery) error { <-held; return nil }), bound)
				done := make(chan error, 1)
				go func() {
					done <- p.Run(t.Context(), SourceFunc(func(context.Context) (*Page, error) {
						if read == 10 {
							return nil, io.EOF
						}
						read++
						return pageOf(n, "p", read, "a", "b"), nil
					}), nil)
				}()
				synctest.Wait()
				if read != 2 {
					t.Errorf("%d pages of 2 changes read, want 2: bounds of 4 are reached then", read)
				}
				close(held)
				if err := <-done; err != nil || read != 10 {
					t.Errorf("%d pages read, %v", read, err)
				}
				checkLedger(t, p, none(SinkLedger{Routed: 20, Written: 20}))
			})
		})
	}
}

func TestBounds_LargerPagePassesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := map[string]int{}
		s := &recorder{}
		p := newPipeline(t, s, func(o *Options) { o.MaxChanges, o.MaxBytes = 1, 1 })
		if err := p.Run(t.Context(), pages(nil, pageOf(n, "p", 1, "a", "b", "c"), pageOf(n, "p", 2, "d", "e")), nil); err != nil {
			t.Fatal(err)
		}
		if got := s.all(); len(got) != 5 {
			t.Errorf("written %v", got)
		}
	})
}

// The deliveries to many sinks take more memory than the records. The bound holds for the sum of both.
func TestBounds_ManySinks(t *testing.T) {
	const limit, sinks, records = 8 << 20, 8, 250
	synctest.Test(t, func(t *testing.T) {
		held := make(chan struct{})
		o := Options{Name: "many", MaxBytes: limit, Workers: 1}
		for i := range sinks {
			o.Routes = append(o.Routes, Route{
				Name: fmt.Sprint(i), Concurrency: 1, Sink: SinkFunc(func(context.Context, []Delivery) error { <-held; return nil }),
			})
		}
		p, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		before := liveBytes()
		decoder, n := record.NewDecoder(record.DecoderOptions{EpochZero: true}), 0
		done := make(chan error, 1)
		go func() {
			done <- p.Run(ctx, SourceFunc(func(context.Context) (*Page, error) {
				var b []byte
				for range records {
					n++
					b = fmt.Appendf(b, `{"eventName":"INSERT","dynamodb":{"SequenceNumber":"%021d","Keys":{"PK":{"S":"%d"}},"NewImage":{"PK":{"S":"%[2]d"},"Text":{"S":"%200d"}}}}`+"\n", n, n, n)
				}
				b = bytes.Clone(b)
				return &Page{
					Partition: "p", Position: Position(fmt.Sprint(n)), Page: record.Page{Bytes: len(b)},
					Decode: func() (*record.Page, error) { return decoder.DecodeLines(b), nil },
				}, nil
			}), nil)
		}()
		synctest.Wait()
		if live := liveBytes() - before; live > limit*5/4 {
			t.Errorf("%d changes to %d sinks have %d KB, and the bound is %d KB", n, sinks, live>>10, limit>>10)
		}
		cancel()
		close(held)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
}

// liveBytes returns the bytes of the heap that are still in use after a garbage collection.
func liveBytes() int64 {
	runtime.GC()
	runtime.GC() // a sync.Pool keeps its objects over the first collection
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// apart is a source whose partitions are read independently. It returns pages of the partitions that are not paused, in
// turn.
type apart struct {
	mu     sync.Mutex
	left   map[string][]*Page
	turn   []string
	paused map[string]bool
	pauses []string
	wake   chan struct{}
}

var _ Pauser = (*apart)(nil)

func (s *apart) Pause(partition string, paused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused[partition] = paused
	s.pauses = append(s.pauses, fmt.Sprint(partition, paused))
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *apart) Read(ctx context.Context) (*Page, error) {
	for {
		if page := s.next(); page != nil {
			return page, nil
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (s *apart) next() *Page {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, name := range s.turn {
		if !s.paused[name] && len(s.left[name]) > 0 {
			s.turn = append(append(slices.Clone(s.turn[:i]), s.turn[i+1:]...), name)
			page := s.left[name][0]
			s.left[name] = s.left[name][1:]
			return page
		}
	}
	return nil
}

func TestBounds_PartitionAtItsShareIsPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := map[string]int{}
		src := &apart{left: map[string][]*Page{}, turn: []string{"p", "q"}, paused: map[string]bool{}, wake: make(chan struct{}, 1)}
		for i := range 50 {
			src.left["p"] = append(src.left["p"], pageOf(n, "p", i+1, "hot"))
			src.left["q"] = append(src.left["q"], pageOf(n, "q", i+1, "b"))
		}
		var up atomic.Bool
		s := &recorder{fail: func(_ context.Context, ds []Delivery) error {
			var failed BatchError
			for i := range ds {
				if ds[i].Change.Key == "hot" && !up.Load() {
					failed.Add(i, Transient(errDown))
				}
			}
			return failed.OrNil()
		}}
		p := newPipeline(t, s, func(o *Options) { o.MaxChanges = 20; o.Routes[0].Concurrency = 1 })
		var c commits
		done := make(chan error, 1)
		go func() { done <- p.Run(t.Context(), src, &c) }()
		time.Sleep(time.Hour)
		synctest.Wait()
		if c.at("q") != "50" {
			t.Errorf("partition q stands at %q: the blocked key of p held it up", c.at("q"))
		}
		if read := 50 - len(src.left["p"]); read > 20 || !src.paused["p"] {
			t.Errorf("%d pages of p read, paused %v: half of the bounds is 10 changes", read, src.paused["p"])
		}
		up.Store(true)
		time.Sleep(time.Hour)
		synctest.Wait()
		if c.at("p") != "50" {
			t.Errorf("partition p stands at %q after the outage", c.at("p"))
		}
		p.Stop(t.Context())
		if err := <-done; err != nil {
			t.Error(err)
		}
		if len(src.pauses) == 0 || src.paused["p"] || src.paused["q"] {
			t.Errorf("pauses %v", src.pauses)
		}
	})
}

// A change that waits for a retry is cloned. The clone holds the bytes of the change, not those of its page.
func TestBounds_WaitingChangePinsNoPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := map[string]int{}
		s := &recorder{fail: func(_ context.Context, ds []Delivery) error {
			var failed BatchError
			for i := range ds {
				if ds[i].Change.Key == "bad" {
					failed.Add(i, Transient(errDown))
				}
			}
			return failed.OrNil()
		}}
		p := newPipeline(t, s)
		done := make(chan error, 1)
		page := pageOf(n, "p", 1, "bad", "a", "b", "c", "d")
		one := cloneMemory(1, int64(len(page.Changes[0].Raw))).bytes
		go func() { done <- p.Run(t.Context(), endless(page), nil) }()
		synctest.Wait()
		if use := inFlight(p.run); use != (amount{one, 1}) {
			t.Errorf("%+v is held for one waiting change of %d bytes", use, one)
		}
		p.Stop(t.Context())
		if _, ok := errors.AsType[*StopError](<-done); !ok {
			t.Error("no StopError with a change that waits")
		}
	})
}

// While the dead letter queue is down, the keys that wait for it are blocked. The later changes of those keys must not
// keep the pages of all other keys in memory.
func TestBounds_ChangeBehindALetterPinsNoPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := map[string]int{}
		ill := errors.New("refused")
		s := &recorder{fail: func(_ context.Context, ds []Delivery) error {
			var e BatchError
			for i := range ds {
				if ds[i].Change.Key == "ill" && nth(ds[i].Change) == 1 {
					e.Add(i, ill)
				}
			}
			return e.OrNil()
		}}
		var down atomic.Bool
		down.Store(true)
		g := &graveyard{fail: func() error {
			if down.Load() {
				return errors.New("down")
			}
			return nil
		}}
		p := newPipeline(t, s, func(o *Options) { o.DeadLetters, o.MaxChanges = g, 30 })
		done := make(chan error, 1)
		const all = 8
		read := 0
		go func() {
			done <- p.Run(t.Context(), SourceFunc(func(context.Context) (*Page, error) {
				if read == all {
					return nil, io.EOF
				}
				read++
				keys := []string{"ill"}
				for i := range 9 {
					keys = append(keys, fmt.Sprint("well", i))
				}
				return pageOf(n, "p", read, keys...), nil
			}), nil)
		}()
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := len(s.all()); got != all*9 {
			t.Errorf("%d changes of other keys are written while dead letters are down, want %d", got, all*9)
		}
		down.Store(false)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		checkLedger(t, p, none(SinkLedger{Routed: all * 10, Written: all*10 - 1, DeadLettered: 1}))
	})
}

func TestBounds_NothingIsHeldAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := map[string]int{}
		s := &recorder{fail: failing("a", 2, Transient(errDown), Transient(errDown), errDown)}
		p := newPipeline(t, s, func(o *Options) {
			o.DeadLetters = &graveyard{}
			o.Routes = append(o.Routes, Route{Name: "t", Sink: &recorder{}, Batch: Batch{Fill: true}})
		})
		var held *run
		page := withBad(pageOf(n, "p", 3, "a", "b"))
		script := pages(nil, pageOf(n, "p", 1, "a", "b"), pageOf(n, "p", 2, "a", "a"), page)
		err := p.Run(t.Context(), SourceFunc(func(ctx context.Context) (*Page, error) {
			held = p.run
			return script.Read(ctx)
		}), nil)
		if err != nil {
			t.Fatal(err)
		}
		if use := inFlight(held); use != (amount{}) {
			t.Errorf("%+v is held", use)
		}
	})
}

// A revoked partition has no share of the memory.
func TestBounds_RevokedPartitionHasNoShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := map[string]int{}
		p, src, _, stop := running(t, &recorder{}, []*Page{pageOf(n, "p", 1, "a"), pageOf(n, "q", 1, "b")})
		if shares := len(p.run.memory.shares); shares != 2 {
			t.Errorf("%d shares of 2 partitions", shares)
		}
		src.control.Revoke(errTaken, "p")
		if shares := len(p.run.memory.shares); shares != 1 {
			t.Errorf("%d shares after one was revoked", shares)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// Partitions that hold nothing take no share from a busy partition. Failures in one partition leave memory for the
// others.
func TestBounds_SharesAreOfWhatIsHeld(t *testing.T) {
	const kb, most = 1 << 10, 64 << 20
	for _, c := range []struct {
		name string
		fill func(b *memoryLimit)
		add  amount // taken by busy
		want bool   // whether busy is paused
	}{
		{"alone", func(*memoryLimit) {}, amount{most - 5<<20, 1000}, false},
		{"alone and nearly full", func(*memoryLimit) {}, amount{most - 3<<20, 1000}, true},
		{"two, and room", func(b *memoryLimit) { b.acquire("other", amount{20 << 20, 1}) }, amount{35 << 20, 1}, false},
		{"two, nearly full", func(b *memoryLimit) { b.acquire("other", amount{20 << 20, 1}) }, amount{41 << 20, 1}, true},
		{"two, nearly full, and the smaller", func(b *memoryLimit) { b.acquire("other", amount{41 << 20, 1}) }, amount{20 << 20, 1}, false},
		{"many that hold little", func(b *memoryLimit) {
			for i := range 5000 {
				b.acquire(fmt.Sprint(i), amount{kb, 1})
			}
		}, amount{50 << 20, 1000}, false},
		{"half of it is cloned by another", func(b *memoryLimit) {
			for range 33 {
				b.takeClones("other", amount{1 << 20, 1})
			}
		}, amount{1 << 20, 1}, false},
	} {
		b := newMemoryLimit(most, 64_000, true)
		for i := range 10_000 {
			b.acquire(fmt.Sprint(i), amount{100, 1})
			b.release(fmt.Sprint(i), amount{100, 1})
		}
		c.fill(b)
		b.acquire("busy", c.add)
		if pausedNow(b, "busy") != c.want {
			t.Errorf("%s: paused %v", c.name, pausedNow(b, "busy"))
		}
		b.release("busy", c.add)
		if pausedNow(b, "busy") {
			t.Errorf("%s: paused, and holds nothing", c.name)
		}
	}
}

// A partition whose changes fail is paused once these changes take more than half of the bounds.
func TestBounds_ParkedChangesTakeHalf(t *testing.T) {
	b := newMemoryLimit(64<<20, 64_000, true)
	b.acquire("other", amount{1, 1})
	for range 32 {
		b.takeClones("ill", amount{1 << 20, 1})
	}
	if pausedNow(b, "ill") {
		t.Error("paused with half of the bounds cloned")
	}
	b.takeClones("ill", amount{1 << 20, 1})
	if !pausedNow(b, "ill") {
		t.Error("read on with more than half of the bounds cloned")
	}
	b.releaseClones("ill", amount{1 << 20, 1})
	if pausedNow(b, "ill") {
		t.Error("still paused with half of the bounds cloned")
	}
}

// pausedNow returns the argument of the last call of Pause for a partition.
func pausedNow(b *memoryLimit, partition string) (paused bool) {
	for _, p := range b.pauseCalls {
		if p.partition == partition {
			paused = p.paused
		}
	}
	return paused
}

// inFlight returns the memory that a run has in flight.
func inFlight(r *run) amount {
	r.p.mu.Lock()
	defer r.p.mu.Unlock()
	return r.memory.used
}
