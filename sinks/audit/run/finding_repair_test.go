package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/audit"
	"github.com/tablewake/tablewake/sinks/state"
)

// repairedSink is a sink that records its repairs and fails the test if related repairs run at the same time.
type repairedSink struct {
	audit.Sink
	repairs func(ctx context.Context, n int, f *audit.Finding) (audit.Outcome, error) // repair of f; n counts its tries

	mu      sync.Mutex
	running []*audit.Finding
	most    int      // largest number of repairs at the same time
	begun   []string // numbers of the findings whose repair began, from their field Found
	tries   map[string]int
	fail    func(format string, args ...any)
	differs []string // places in which Look finds an extra entry
}

func (s *repairedSink) Name() string { return "rows" }

func (s *repairedSink) Repair(ctx context.Context, _ *audit.ItemState, f audit.Finding) (audit.Outcome, error) {
	s.mu.Lock()
	for _, o := range s.running {
		if related(o, &f) {
			s.fail("%+v is repaired beside %+v", f, *o)
		}
	}
	s.running = append(s.running, &f)
	s.most = max(s.most, len(s.running))
	s.begun = append(s.begun, f.FoundText)
	if s.tries == nil {
		s.tries = make(map[string]int)
	}
	s.tries[f.FoundText]++
	n := s.tries[f.FoundText]
	s.mu.Unlock()
	done, err := s.repairs(ctx, n, &f)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = slices.DeleteFunc(s.running, func(o *audit.Finding) bool { return o == &f })
	return done, err
}

func (s *repairedSink) Compare(_ context.Context, _ *audit.ItemState, places []audit.Entry) ([]audit.Finding, error) {
	f := audit.Finding{Kind: places[0].Kind, Place: places[0].Place, Verdict: audit.Equal}
	if slices.Contains(s.differs, f.Place) {
		f.Verdict = audit.Extra
	}
	return []audit.Finding{f, {Kind: audit.Row, Place: "another", Verdict: audit.Missing}}, nil
}

// related reports whether a Repairer must repair a and b one after the other.
func related(a, b *audit.Finding) bool {
	rows := []audit.Kind{audit.Row, audit.Claim, audit.Owner}
	return a.Item == b.Item || a.Place == b.Place && (a.Kind == b.Kind || slices.Contains(rows, a.Kind) && slices.Contains(rows, b.Kind))
}

// knownItems is a Lookup that finds every item, except the item with the key "damaged".
type knownItems struct{}

func (knownItems) Read(_ context.Context, keys []item.Key) ([]Item, error) {
	items := make([]Item, len(keys))
	for i, k := range keys {
		items[i].Change.Key = k
		if k == "damaged" {
			items[i].Err = errors.New("not an item")
		}
	}
	return items, nil
}

// repairAll repairs findings of one sink. It returns the number and the result of each finding in the order of Done.
func repairAll(ctx context.Context, s *repairedSink, fs []audit.Finding, items Lookup) (outcomes []string, err error) {
	r := NewRepairer(RepairOptions{
		Sinks: []audit.Sink{s}, Lookup: items, Concurrency: 4,
		Done: func(_ int, f *audit.Finding, o audit.Outcome) {
			outcomes = append(outcomes, f.FoundText+" "+string(o.Result))
		},
	})
	for i := range fs {
		fs[i].FoundText = fmt.Sprint(i)
		if err := r.Add(ctx, 0, &fs[i]); err != nil {
			return outcomes, err
		}
	}
	return outcomes, r.Flush(ctx)
}

// unrelated returns n findings of different items.
func unrelated(n int) []audit.Finding {
	fs := make([]audit.Finding, n)
	for i := range fs {
		fs[i] = audit.Finding{Kind: audit.Row, Place: fmt.Sprint("p", i), Item: item.Key(fmt.Sprint("i", i))}
	}
	return fs
}

// A Repairer repairs findings about the same item or place one after the other, and other findings at the same time. It
// calls Done in the order of Add.
func TestRepairer_Order(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		kinds := []audit.Kind{audit.Row, audit.Claim, audit.Guard, audit.Document}
		fs := make([]audit.Finding, rapid.IntRange(0, 250).Draw(r, "findings"))
		waits := make([]time.Duration, len(fs))
		for i := range fs {
			fs[i].Kind = rapid.SampledFrom(kinds).Draw(r, "kind")
			fs[i].Place = fmt.Sprint(rapid.IntRange(0, 60).Draw(r, "place"))
			fs[i].Item = item.Key(fmt.Sprint(rapid.IntRange(0, 60).Draw(r, "item")))
			waits[i] = time.Duration(rapid.IntRange(0, 3).Draw(r, "wait")) * time.Second
		}
		synctest.Test(t, func(t *testing.T) {
			s := &repairedSink{fail: t.Errorf, repairs: func(_ context.Context, _ int, f *audit.Finding) (audit.Outcome, error) {
				time.Sleep(waits[numberOf(f)])
				return audit.Outcome{Result: audit.Repaired}, nil
			}}
			told, err := repairAll(t.Context(), s, fs, knownItems{})
			if err != nil || s.most > 4 {
				t.Errorf("%v, %d at once", err, s.most)
			}
			var want []string
			for i := range fs {
				want = append(want, fmt.Sprint(i, " repaired"))
			}
			if !slices.Equal(told, want) {
				t.Errorf("told %v", told)
			}
			at := make(map[string]int)
			for n, found := range s.begun {
				at[found] = n
			}
			for i := range fs {
				for j := range i {
					if related(&fs[j], &fs[i]) && at[fs[j].FoundText] > at[fs[i].FoundText] {
						t.Errorf("%+v is repaired before %+v", fs[i], fs[j])
					}
				}
			}
		})
	})
}

func numberOf(f *audit.Finding) (n int) {
	_, _ = fmt.Sscan(f.FoundText, &n)
	return n
}

// A Repairer always runs as many repairs as Concurrency allows.
func TestRepairer_AtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &repairedSink{fail: t.Errorf, repairs: func(context.Context, int, *audit.Finding) (audit.Outcome, error) {
			time.Sleep(time.Second)
			return audit.Outcome{Result: audit.Repaired}, nil
		}}
		begun := time.Now()
		if _, err := repairAll(t.Context(), s, unrelated(40), knownItems{}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); s.most != 4 || took != 10*time.Second {
			t.Errorf("%d at once, %s", s.most, took)
		}
	})
}

// A Repairer refuses findings without an item, with a damaged item or with a damaged entry, and repairs the others. Any
// other error ends the repair. Repairs that are running end first, and Done is called for them.
func TestRepairer_Errors(t *testing.T) {
	broken := errors.New("broken")
	synctest.Test(t, func(t *testing.T) {
		s := &repairedSink{fail: t.Errorf, repairs: func(_ context.Context, _ int, f *audit.Finding) (audit.Outcome, error) {
			time.Sleep(time.Duration(1+numberOf(f)) * time.Second)
			switch f.Place {
			case "p1":
				return audit.Outcome{}, fmt.Errorf("read: %w", &state.DamagedError{Err: broken})
			case "broken":
				return audit.Outcome{}, broken
			}
			return audit.Outcome{Result: audit.Repaired}, nil
		}}
		fs := unrelated(12)
		fs[0].Item, fs[2].Item = "", "damaged"
		told, err := repairAll(t.Context(), s, fs[:5], knownItems{})
		if want := []string{"0 refused", "1 refused", "2 refused", "3 repaired", "4 repaired"}; err != nil || !slices.Equal(told, want) {
			t.Errorf("%v, told %v", err, told)
		}
		s.begun, fs = nil, unrelated(12)
		fs[1].Place, fs[5].Item = "broken", fs[1].Item
		told, err = repairAll(t.Context(), s, fs, knownItems{})
		// 4 begins when 0 ends; 1 fails, and 2, 3 and 4 end.
		if want := []string{"0 repaired", "2 repaired", "3 repaired", "4 repaired"}; !errors.Is(err, broken) || !slices.Equal(told, want) {
			t.Errorf("%v, told %v", err, told)
		}
		if len(s.begun) != 5 {
			t.Errorf("%d repairs began", len(s.begun))
		}
	})
}

// A Repairer tries a repair that lost a race a few more times. It tries a throttled repair until the repair is no
// longer throttled.
func TestRepairer_LooksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const throttled = redact.Class("throttled")
		s := &repairedSink{fail: t.Errorf, repairs: func(_ context.Context, n int, f *audit.Finding) (audit.Outcome, error) {
			time.Sleep(time.Second)
			switch {
			case f.Place == "p0" && n < 3:
				return audit.Outcome{Result: audit.ChangedMeanwhile, Overtaken: true}, nil
			case f.Place == "p1":
				return audit.Outcome{Result: audit.ChangedMeanwhile, Overtaken: true}, nil
			case f.Place == "p2" && n < 4:
				return audit.Outcome{}, throttled.New("slow down")
			case f.Place == "p3":
				return audit.Outcome{Result: audit.ChangedMeanwhile}, nil
			}
			return audit.Outcome{Result: audit.Repaired}, nil
		}}
		told, err := repairAll(t.Context(), s, unrelated(8), knownItems{})
		want := []string{"0 repaired", "1 moved", "2 repaired", "3 moved", "4 repaired", "5 repaired", "6 repaired", "7 repaired"}
		if err != nil || !slices.Equal(told, want) {
			t.Errorf("%v, told %v", err, told)
		}
		if s.tries["0"] != 3 || s.tries["1"] != maxRepairTries || s.tries["2"] != 4 || s.tries["3"] != 1 {
			t.Errorf("tries %v", s.tries)
		}
	})
}

// changingItems is a Lookup whose first read finds all items. Later reads find some of them removed.
type changingItems struct {
	removed []item.Key
	reads   int
}

func (l *changingItems) Read(_ context.Context, keys []item.Key) ([]Item, error) {
	items := make([]Item, len(keys))
	for i, k := range keys {
		if l.reads == 0 || !slices.Contains(l.removed, k) {
			image, err := item.Parse([]byte(`{"PK": {"S": "p"}}`))
			if err != nil {
				return nil, err
			}
			items[i].Change.New = image
		}
	}
	l.reads++
	return items, nil
}

// If an item is removed after it was read, the repair may have written the old item to an empty place. The Repairer
// therefore looks at the place again, and the result is moved if the place differs.
func TestRepairer_ItemChanges(t *testing.T) {
	s := &repairedSink{fail: t.Errorf, differs: []string{"p1", "p3"}, repairs: func(_ context.Context, _ int, f *audit.Finding) (audit.Outcome, error) {
		if f.Place == "p4" {
			return audit.Outcome{Result: audit.AlreadyEqual}, nil
		}
		return audit.Outcome{Result: audit.Repaired}, nil
	}}
	items := &changingItems{removed: []item.Key{"i1", "i2", "i4"}}
	told, err := repairAll(t.Context(), s, unrelated(5), items)
	if want := []string{"0 repaired", "1 moved", "2 repaired", "3 repaired", "4 equal"}; err != nil || !slices.Equal(told, want) {
		t.Errorf("%v, told %v, want %v", err, told, want)
	}
	if items.reads != 2 {
		t.Errorf("items were read %d times", items.reads)
	}
}

// A throttled repair halves the limit of a gate. Repairs that ran at the same time do not halve the limit again. Later
// repairs without throttling restore the limit.
func TestGate(t *testing.T) {
	g := newGate(8)
	burst := func(throttled bool) {
		var entered []int
		for range g.limit {
			entered = append(entered, g.enter())
		}
		for _, halved := range entered {
			g.leave(halved, throttled)
		}
	}
	for _, want := range []int{4, 2, 1, 1} {
		if burst(true); g.limit != want {
			t.Errorf("%d may run after a burst was throttled, want %d", g.limit, want)
		}
	}
	for range 40 {
		g.leave(g.enter(), false)
	}
	if g.limit != 8 || g.running != 0 {
		t.Errorf("%d may run, and %d run", g.limit, g.running)
	}
}

// A cancelled Repairer begins no more repairs and returns the cause.
func TestRepairer_Cancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := errors.New("stopped")
		s := &repairedSink{fail: t.Errorf, repairs: func(ctx context.Context, _ int, f *audit.Finding) (audit.Outcome, error) {
			if time.Sleep(time.Second); f.Place == "p5" {
				cancel(stop)
			}
			return audit.Outcome{Result: audit.Repaired}, context.Cause(ctx)
		}}
		if _, err := repairAll(ctx, s, unrelated(50), knownItems{}); !errors.Is(err, stop) || len(s.begun) > 11 { // up to 3 run beside p5
			t.Errorf("%v, %d repairs began", err, len(s.begun))
		}
	})
}
