package pipeline

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
)

// fill returns a setting with which the route's batches wait until they are full.
func fill(count int) func(*Options) {
	return func(o *Options) {
		o.Routes[0].Concurrency = 1
		o.Routes[0].Batch = Batch{Count: count, Fill: true}
	}
}

func TestBatch_FillCutsByTheInputAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := map[string]int{}
		s := &recorder{keepsOrder: true}
		p := newPipeline(t, s, fill(3))
		slow := pages(nil, pageOf(n, "p", 1, "a", "b"), pageOf(n, "p", 2, "a", "c"), pageOf(n, "p", 3, "a", "b", "c", "d"))
		err := p.Run(t.Context(), SourceFunc(func(ctx context.Context) (*Page, error) {
			time.Sleep(time.Hour)
			return slow.Read(ctx)
		}), nil)
		if err != nil {
			t.Fatal(err)
		}
		if want := "[[a1 b1 a2] [c1 a3 b2] [c2 d1]]"; fmt.Sprint(s.batches) != want {
			t.Errorf("batches %v, want %v", s.batches, want)
		}
	})
}

func TestBatch_Bytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := map[string]int{}
		one := change("a", 1)
		s := &recorder{keepsOrder: true}
		p := newPipeline(t, s, fill(100), func(o *Options) { o.Routes[0].Batch.Bytes = int64(2*len(one.Raw)) + 1 })
		big := pageOf(n, "p", 2, "a")
		big.Changes[0].Raw = make([]byte, 1000)
		err := p.Run(t.Context(), pages(nil, pageOf(n, "p", 1, "b", "c", "d"), big, pageOf(n, "p", 3, "e")), nil)
		if err != nil {
			t.Fatal(err)
		}
		if want := "[[b1 c1] [d1] [a1] [e1]]"; fmt.Sprint(s.batches) != want {
			t.Errorf("batches %v, want %v: none above its bytes but one larger change alone", s.batches, want)
		}
	})
}

func TestBatch_LingerEndsTheWait(t *testing.T) {
	for _, fill := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var at []time.Duration
			start := time.Now()
			s := &recorder{keepsOrder: true, fail: func(context.Context, []Delivery) error {
				at = append(at, time.Since(start))
				return nil
			}}
			p := newPipeline(t, s, func(o *Options) {
				o.Routes[0].Batch = Batch{Count: 3, Fill: fill, Linger: time.Minute}
			})
			n := map[string]int{}
			script := endless(pageOf(n, "p", 1, "a"), pageOf(n, "p", 2, "b"), pageOf(n, "p", 3, "c"), pageOf(n, "p", 4, "d", "e", "f"))
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			err := p.Run(ctx, SourceFunc(func(ctx context.Context) (*Page, error) {
				time.Sleep(40 * time.Second)
				return script.Read(ctx)
			}), nil)
			if err != nil {
				t.Fatal(err)
			}
			// Change a arrives at 40s, b at 80s, c at 120s and the rest at 160s.
			want := "[[a1 b1] [c1 d1 e1] [f1]]"
			times := []time.Duration{100 * time.Second, 160 * time.Second, 220 * time.Second}
			if fmt.Sprint(s.batches) != want || !slices.Equal(at, times) {
				t.Errorf("fill=%v: batches %v at %v, want %v at %v", fill, s.batches, at, want, times)
			}
		})
	}
}

func TestBatch_StopWritesWhatIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &recorder{}
		p := newPipeline(t, s, fill(100))
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var c commits
		if err := p.Run(ctx, endless(pageOf(map[string]int{}, "p", 1, "a", "b")), &c); err != nil {
			t.Fatal(err)
		}
		if want := "[[a1 b1]]"; fmt.Sprint(s.batches) != want || c.at("p") != "1" {
			t.Errorf("batches %v, want %v; committed %q", s.batches, want, c.at("p"))
		}
	})
}

// A batch that waits until it is full must not hold the memory that the pages to fill it need.
func TestBatch_PressureWritesWhatIsThere(t *testing.T) {
	run := func(t *testing.T, delay time.Duration) string {
		n := map[string]int{}
		s := &recorder{keepsOrder: true, fail: func(context.Context, []Delivery) error {
			time.Sleep(delay)
			return nil
		}}
		other := SinkFunc(func(context.Context, []Delivery) error {
			time.Sleep(3 * delay)
			return nil
		})
		p := newPipeline(t, s, fill(1000), func(o *Options) {
			o.MaxChanges = 10
			o.Routes = append(o.Routes, Route{Name: "other", Sink: other})
		})
		var ps []*Page
		for i := range 20 {
			ps = append(ps, pageOf(n, "p", i+1, "a", "b", "c"))
		}
		if err := p.Run(t.Context(), pages(nil, ps...), nil); err != nil {
			t.Fatal(err)
		}
		if got := len(s.all()); got != 60 {
			t.Errorf("%d changes written, want 60", got)
		}
		return fmt.Sprint(s.batches)
	}
	synctest.Test(t, func(t *testing.T) {
		first := run(t, 0)
		for _, delay := range []time.Duration{time.Millisecond, time.Hour} {
			if again := run(t, delay); again != first {
				t.Errorf("the batches depend on time:\n%s\n%s", first, again)
			}
		}
	})
}

// A sink that takes one change of each page clones the changes while its batch fills. It does not write tiny batches
// just because many pages are open.
func TestBatch_PressureClonesWhereThatFreesPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := map[string]int{}
		s := &recorder{keepsOrder: true}
		p := newPipeline(t, s, fill(20), func(o *Options) {
			o.MaxBytes = 40_000
			o.Routes[0].Filters = []Filter{FilterFunc(func(c *record.Change) (Verdict, error) {
				return Verdict{Drop: c.Key != "a"}, nil
			})}
		})
		var ps []*Page
		for i := range 40 {
			ps = append(ps, pageOf(n, "p", i+1, "a", "b", "c", "d", "e", "f", "g", "h", "i", "j"))
		}
		if err := p.Run(t.Context(), pages(nil, ps...), nil); err != nil {
			t.Fatal(err)
		}
		if len(s.batches) != 2 {
			t.Errorf("%d batches of %d changes: want 2 full ones: %v", len(s.batches), len(s.all()), s.batches)
		}
		checkLedger(t, p, SinkLedger{Routed: 40, Written: 40, NoEffect: map[string]int64{}, RouteFiltered: map[string]int64{"filter_1": 360}})
	})
}
