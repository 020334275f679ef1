package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/record"
)

// countedShards is a live source of partitions. Each partition has a number of pages and stays open after the last one.
type countedShards struct {
	mu     sync.Mutex
	left   map[string]int // pages that are not read yet
	read   map[string]int
	since  map[string]time.Time // when the last page was read
	paused map[string]bool
	wake   chan struct{}
	counts map[string]int
	keys   int // keys of a page
}

var (
	_ Pauser     = (*countedShards)(nil)
	_ Controlled = (*countedShards)(nil)
)

func newCountedShards(keys int, pages ...int) *countedShards {
	s := &countedShards{left: map[string]int{}, read: map[string]int{}, since: map[string]time.Time{}, paused: map[string]bool{}, wake: make(chan struct{}, 1), counts: map[string]int{}, keys: keys}
	for i, n := range pages {
		s.left[fmt.Sprintf("p%d", i)] = n
	}
	return s
}

func (s *countedShards) Control(Control) {}

func (s *countedShards) Pause(partition string, paused bool) {
	s.mu.Lock()
	s.paused[partition] = paused
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *countedShards) Read(ctx context.Context) (*Page, error) {
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

func (s *countedShards) next() *Page {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(s.left)) {
		if s.left[name] == 0 || s.paused[name] {
			continue
		}
		s.left[name]--
		s.read[name]++
		s.since[name] = time.Now()
		var keys []string
		for i := range s.keys {
			keys = append(keys, fmt.Sprintf("%s-%d-", name, i))
		}
		return pageOf(s.counts, name, s.read[name], keys...)
	}
	return nil
}

// entries returns what is held back, with "partition sink reason" as the key.
func entries(p *Pipeline) map[string]HeldBack {
	all := make(map[string]HeldBack)
	for _, h := range p.HeldBack() {
		all[h.Partition+" "+h.Sink+" "+h.Reason] = h
	}
	return all
}

// heldLines is a log that keeps its lines.
type heldLines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *heldLines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

// with returns the lines that contain all of the given texts.
func (l *heldLines) with(parts ...string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.b.String()) {
		if !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(line, p) }) {
			found = append(found, line)
		}
	}
	return found
}

// heldWorld is a pipeline whose sinks are of several kinds. Its source has shards that never end.
type heldWorld struct {
	*Pipeline
	src       *countedShards
	committed *commits
	log       *heldLines
	healed    chan struct{} // closed once every sink works
}

// heldKinds are the ways in which a sink may hold back its partitions.
var heldKinds = []string{"fast", "hangs", "slow", "fails", "fills"}

func newHeldWorld(src *countedShards, kinds ...string) (*heldWorld, error) {
	w := &heldWorld{src: src, committed: &commits{}, log: &heldLines{}, healed: make(chan struct{})}
	o := Options{Name: "p", MaxChanges: 60, Live: true, Logger: slog.New(slog.NewTextHandler(w.log, nil)), Backoff: Backoff{Base: 5 * time.Second, Max: 20 * time.Second}}
	for i, kind := range kinds {
		rt := Route{Name: fmt.Sprintf("%s%d", kind, i), Batch: Batch{Count: 20}, Concurrency: 2}
		if kind == "fills" {
			rt.Batch = Batch{Count: 1000, Fill: true, Linger: 2 * time.Minute}
		}
		rt.Sink = &recorder{fail: func(ctx context.Context, _ []Delivery) error {
			select {
			case <-w.healed:
				return nil
			default:
			}
			switch kind {
			case "hangs":
				select {
				case <-w.healed:
				case <-ctx.Done():
					return ctx.Err()
				}
			case "slow":
				time.Sleep(3 * time.Second)
			case "fails":
				return Transient(errors.New("down"))
			}
			return nil
		}}
		o.Routes = append(o.Routes, rt)
	}
	var err error
	w.Pipeline, err = New(o)
	return w, err
}

// uncommitted returns the partitions that read their last page longer ago than the given time and have not committed
// all pages.
func (w *heldWorld) uncommitted(ago time.Duration) (parts []string) {
	w.src.mu.Lock()
	defer w.src.mu.Unlock()
	for name, n := range w.src.read {
		if string(w.committed.at(name)) != fmt.Sprint(n) && time.Since(w.src.since[name]) > ago {
			parts = append(parts, name)
		}
	}
	return parts
}

// For all kinds of sinks, exactly the paused partitions are held back by their share, and never for a fast sink. Each
// partition whose checkpoint waits for more than a short Write is held back for a reason that applies to its sink.
// After all changes are written, no partition is held back.
func TestHeldBack_SaysWhyNothingMoves(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		kinds := rapid.SliceOfN(rapid.SampledFrom(heldKinds), 1, 3).Draw(rt, "sinks")
		pages := rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 2, 30}), 1, 6).Draw(rt, "pages")
		keys := rapid.SampledFrom([]int{1, 7, 25}).Draw(rt, "keys")
		synctest.Test(t, func(t *testing.T) {
			w, err := newHeldWorld(newCountedShards(keys, pages...), kinds...)
			if err != nil {
				rt.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() {
				if err := w.Run(ctx, w.src, w.committed); err != nil {
					rt.Error(err)
				}
			})
			for range 12 {
				time.Sleep(7 * time.Second)
				synctest.Wait()
				w.check(rt, kinds)
			}
			close(w.healed)
			time.Sleep(2 * time.Hour)
			synctest.Wait()
			if left := w.uncommitted(0); len(left) > 0 {
				rt.Errorf("%v are not committed", left)
			}
			if held := w.HeldBack(); len(held) > 0 {
				rt.Errorf("nothing is in flight, and held back is %+v", held)
			}
			stop()
			running.Wait()
			if held := w.HeldBack(); held != nil {
				rt.Errorf("nothing runs, and held back is %+v", held)
			}
		})
	})
}

func (w *heldWorld) check(rt *rapid.T, kinds []string) {
	held := w.HeldBack()
	share, any := map[string]bool{}, map[string]bool{}
	for _, h := range held {
		any[h.Partition] = true
		kind := strings.TrimRight(h.Sink, "0123456789")
		want := map[string][]string{HeldByBackoff: {"fails"}, HeldByFilling: {"fills"}, HeldByShare: heldKinds[1:], HeldByMemory: heldKinds[1:], HeldByWriting: {"hangs"}}[h.Reason]
		if !slices.Contains(want, kind) {
			rt.Errorf("%+v: it is no reason of that sink", h)
		}
		if h.Since.IsZero() || h.Since.After(time.Now()) || h.Bytes <= 0 {
			rt.Errorf("%+v", h)
		}
		if h.Reason == HeldByShare {
			share[h.Partition] = true
		}
	}
	w.src.mu.Lock()
	for name, paused := range w.src.paused {
		if paused != share[name] {
			rt.Errorf("%s is paused: %v, by its share: %v", name, paused, share[name])
		}
	}
	w.src.mu.Unlock()
	if slices.Contains(kinds, "slow") {
		return // a change that waits only for a short Write is in flight, not held back
	}
	ago := time.Second
	if slices.Contains(kinds, "hangs") {
		ago += heldBackLogAfter
	}
	for _, name := range w.uncommitted(ago) {
		if !any[name] {
			rt.Errorf("the checkpoint of %s waits, and nothing says why: %+v", name, held)
		}
	}
}

// HeldBack reports a partition as soon as it waits. The log has its first line after half a minute, then one line a
// minute while the partition waits, and one when it moves again.
func TestHeldBack_IsLogged(t *testing.T) {
	for kind, want := range map[string]struct{ reasons, level string }{
		"hangs": {"share bounds", "level=WARN"},
		"slow":  {"share bounds", "level=INFO"},
		"fails": {"backoff", "level=WARN"},
	} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, err := newHeldWorld(newCountedShards(25, 0, 60, 1), kind)
				if err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				var running sync.WaitGroup
				running.Go(func() { _ = w.Run(ctx, w.src, w.committed) })
				time.Sleep(20*time.Second + time.Millisecond)
				reason := ""
				for _, h := range w.HeldBack() {
					if h.Partition == "p1" && h.Sink == kind+"0" && strings.Contains(want.reasons, h.Reason) {
						reason = h.Reason
					}
				}
				if reason == "" {
					t.Fatalf("held back: %+v", w.HeldBack())
				}
				if said := w.log.with("held back"); len(said) > 0 {
					t.Errorf("too soon: %q", said)
				}
				about := func(texts ...string) (lines []string) {
					for _, reason := range strings.Fields(want.reasons) { // the reason can change between these
						lines = append(lines, w.log.with(append(texts, "reason="+reason+" ", "sink="+kind+"0 ", "age=")...)...)
					}
					return lines
				}
				time.Sleep(15 * time.Second)
				if said := about("partitions are held back", "bytes=", want.level); len(said) != 1 {
					t.Errorf("after 35 seconds: %q in\n%s", said, w.log.b.String())
				}
				time.Sleep(2 * time.Minute)
				if said := about("partitions are held back", "bytes=", want.level); len(said) != 3 {
					t.Errorf("after 155 seconds: %q", said)
				}
				if said := w.log.with("partitions move again"); len(said) > 0 {
					t.Errorf("nothing moves: %q", said)
				}
				close(w.healed)
				time.Sleep(time.Minute)
				// The backoff is random, so the two partitions can move again one after the other.
				oneEach := kind == "fails" && len(w.log.with("partitions move again", "reason=backoff ", "partitions=1 ")) == 2
				if said := about("partitions move again"); len(said) != 1 && !oneEach {
					t.Errorf("it moves again:\n%s", w.log.b.String())
				}
				n := len(w.log.with("partitions are held back"))
				time.Sleep(time.Hour)
				if said := w.log.with("partitions are held back"); len(said) != n {
					t.Errorf("it moves, and the log says %q", said)
				}
				stop()
				running.Wait()
			})
		})
	}
}

// The status shows an object that fills. The log has no line about it while it fills within its linger.
func TestHeldBack_Filling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, err := newHeldWorld(newCountedShards(3, 1), "fills", "fast")
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var running sync.WaitGroup
		begin := time.Now()
		running.Go(func() { _ = w.Run(ctx, w.src, w.committed) })
		time.Sleep(2*time.Minute - 20*time.Second)
		if h, ok := entries(w.Pipeline)["p0 fills0 filling"]; !ok || !h.Since.Equal(begin) {
			t.Errorf("held back: %+v, want since %v", w.HeldBack(), begin)
		}
		time.Sleep(time.Minute)
		if held := w.HeldBack(); len(held) > 0 {
			t.Errorf("held back behind its linger: %+v", held)
		}
		if said := w.log.with("partitions"); len(said) > 0 {
			t.Errorf("the log says %q", said)
		}
		stop()
		running.Wait()
	})
}

// While the dead letter queue is down, a refused change holds back its partition. So does a record that cannot be
// decoded, and its entry names no sink.
func TestHeldBack_DeadLetters(t *testing.T) {
	for name, tt := range map[string]struct {
		page Page
		want string
	}{
		"refused":     {Page{Page: record.Page{Changes: []record.Change{change("a", 1)}}}, "p s backoff"},
		"undecodable": {Page{Page: record.Page{Errors: []*record.RecordError{{Index: 0, Err: errors.New("no record")}}}}, "p  backoff"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				down := make(chan struct{})
				g := &graveyard{fail: func() error {
					select {
					case <-down:
						return nil
					default:
						return errors.New("down")
					}
				}}
				refuses := &recorder{fail: func(context.Context, []Delivery) error { return Permanent(errors.New("refused")) }}
				p, err := New(Options{Name: "p", DeadLetters: g, Routes: []Route{{Name: "s", Sink: refuses}}})
				if err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				var running sync.WaitGroup
				page := tt.page
				page.Partition, page.Position, page.Bytes = "p", "1", 10
				running.Go(func() { _ = p.Run(ctx, endless(&page), &commits{}) })
				time.Sleep(time.Minute)
				if _, ok := entries(p)[tt.want]; !ok {
					t.Errorf("held back: %+v, want %q", p.HeldBack(), tt.want)
				}
				close(down)
				time.Sleep(time.Minute)
				if held := p.HeldBack(); len(held) > 0 {
					t.Errorf("the letter is kept, and held back is %+v", held)
				}
				stop()
				running.Wait()
			})
		})
	}
}

// A Write that does not return holds back its partition, and the later changes, after half a minute. So does a Put of
// dead letters, whose entry names no sink. The log reports both.
func TestHeldBack_Writing(t *testing.T) {
	hang := make(chan struct{})
	hangs := func(ctx context.Context) error {
		select {
		case <-hang:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	sink := &recorder{fail: func(ctx context.Context, _ []Delivery) error { return hangs(ctx) }}
	refuses := &recorder{fail: func(context.Context, []Delivery) error { return Permanent(errors.New("refused")) }}
	for name, tt := range map[string]struct {
		route Route
		want  []string
	}{
		"sink":    {Route{Name: "s", Sink: sink, Concurrency: 1}, []string{"p s writing", "q s writing"}},
		"letters": {Route{Name: "s", Sink: refuses}, []string{"p  writing", "q  writing"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hang = make(chan struct{})
				log := &heldLines{}
				p, err := New(Options{Name: "p", Live: true, Logger: slog.New(slog.NewTextHandler(log, nil)), Routes: []Route{tt.route},
					DeadLetters: &graveyard{fail: func() error { return hangs(t.Context()) }}})
				if err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				var running sync.WaitGroup
				pages := []*Page{
					{Partition: "p", Position: "1", Page: record.Page{Bytes: 10, Changes: []record.Change{change("a", 1)}}},
					{Partition: "q", Position: "1", Page: record.Page{Bytes: 10, Changes: []record.Change{change("b", 1)}}},
				}
				begin := time.Now()
				running.Go(func() { _ = p.Run(ctx, endless(pages...), &commits{}) })
				time.Sleep(29 * time.Second)
				if held := p.HeldBack(); len(held) > 0 {
					t.Errorf("too soon: %+v", held)
				}
				time.Sleep(10 * time.Second)
				held := entries(p)
				for _, want := range tt.want {
					if h, ok := held[want]; !ok || !h.Since.Equal(begin) {
						t.Errorf("held back: %+v, want %q since %v", held, want, begin)
					}
				}
				if said := log.with("partitions are held back", "reason=writing", "partitions=2", "level=WARN"); len(said) != 1 {
					t.Errorf("the log says %q", log.b.String())
				}
				close(hang)
				time.Sleep(time.Minute)
				if held := p.HeldBack(); len(held) > 0 {
					t.Errorf("it answers, and held back is %+v", held)
				}
				if said := log.with("partitions move again", "reason=writing"); len(said) != 1 {
					t.Errorf("the log says %q", log.b.String())
				}
				stop()
				running.Wait()
			})
		})
	}
}
