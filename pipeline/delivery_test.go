package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
)

var errDown = errors.New("down")

// none sets the maps of a ledger that counted nothing by reason.
func none(l SinkLedger) SinkLedger {
	l.NoEffect, l.RouteFiltered = map[string]int64{}, map[string]int64{}
	return l
}

// failing returns a Write that fails change n of a key, with one of errs for each try. The later changes of the key in
// the same Write fail too.
func failing(key string, n int, errs ...error) func(context.Context, []Delivery) error {
	return func(_ context.Context, ds []Delivery) error {
		var failed BatchError
		for i := range ds {
			switch c := ds[i].Change; {
			case string(c.Key) != key:
			case len(failed.Failed) > 0:
				failed.Add(i, Transient(errors.New("behind one that failed")))
			case nth(c) == n && len(errs) > 0:
				failed.Add(i, errs[0])
				errs = errs[1:]
			}
		}
		return failed.OrNil()
	}
}

func TestDelivery_FailedKeyWaitsAndOthersGoOn(t *testing.T) {
	for _, keepsOrder := range []bool{false, true} {
		t.Run(fmt.Sprintf("keepsOrder=%v", keepsOrder), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := map[string]int{}
				s := &recorder{keepsOrder: keepsOrder, fail: failing("a", 1, Transient(errDown), Transient(errDown))}
				p := newPipeline(t, s, func(o *Options) { o.Routes[0].Concurrency = 1 })
				if err := p.Run(t.Context(), pages(nil, pageOf(n, "p", 1, "a", "b"), pageOf(n, "p", 2, "a", "b"), pageOf(n, "p", 3, "b")), nil); err != nil {
					t.Fatal(err)
				}
				if got := s.all(); !slices.Equal(got, []string{"b1", "b2", "b3", "a1", "a2"}) {
					t.Errorf("written %v", got)
				}
				checkLedger(t, p, none(SinkLedger{Routed: 5, Written: 5}))
			})
		})
	}
}

func TestDelivery_OneChangeOfAKeyUnlessTheSinkKeepsOrder(t *testing.T) {
	for _, keepsOrder := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			n := map[string]int{}
			s := &recorder{keepsOrder: keepsOrder}
			p := newPipeline(t, s)
			if err := p.Run(t.Context(), pages(nil, pageOf(n, "p", 1, "a", "a", "b", "a")), nil); err != nil {
				t.Fatal(err)
			}
			want := [][]string{{"a1", "b1"}, {"a2"}, {"a3"}}
			if keepsOrder {
				want = [][]string{{"a1", "a2", "b1", "a3"}}
			}
			if fmt.Sprint(s.batches) != fmt.Sprint(want) {
				t.Errorf("keepsOrder=%v: batches %v, want %v", keepsOrder, s.batches, want)
			}
		})
	}
}

// If a change fails in the same Write after a change of its key that is retried, it is tried again, since the first
// failure may be the cause.
func TestDelivery_WhatFailsBehindARetryIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := map[string]int{}
		first := true
		s := &recorder{keepsOrder: true, fail: func(context.Context, []Delivery) error {
			if !first {
				return nil
			}
			first = false
			return &BatchError{Failed: map[int]error{0: Transient(errDown), 1: errors.New("the one before it failed")}}
		}}
		g := &graveyard{}
		p := newPipeline(t, s, func(o *Options) { o.DeadLetters = g })
		if err := p.Run(t.Context(), pages(nil, pageOf(n, "p", 1, "a", "a")), nil); err != nil {
			t.Fatal(err)
		}
		if got := s.all(); !slices.Equal(got, []string{"a1", "a2"}) || len(g.letters) > 0 {
			t.Errorf("written %v, letters %v", got, g.letters)
		}
	})
}

func TestDelivery_ServersWaitIsHonoured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &recorder{fail: failing("a", 1, RetryAfter(errDown, time.Hour))}
		p := newPipeline(t, s)
		start := time.Now()
		if err := p.Run(t.Context(), pages(nil, pageOf(map[string]int{}, "p", 1, "a")), nil); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(start); waited != time.Hour {
			t.Errorf("it waited %v, the server asked for an hour", waited)
		}
	})
}

func TestDelivery_PermanentGoesToDeadLettersAndTheKeyGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := map[string]int{}
		tries := 0
		g := &graveyard{fail: func() error {
			if tries++; tries < 3 {
				return errDown
			}
			return nil
		}}
		s := &recorder{fail: failing("a", 1, errDown)}
		var order []string
		inner := s.fail
		s.fail = func(ctx context.Context, ds []Delivery) error {
			for _, d := range ds {
				if nth(d.Change) == 2 && len(g.letters) == 0 {
					order = append(order, "a2 overtook the letter of a1")
				}
			}
			return inner(ctx, ds)
		}
		p := newPipeline(t, s, func(o *Options) { o.DeadLetters = g })
		var c commits
		if err := p.Run(t.Context(), pages(nil, pageOf(n, "p", 1, "a"), pageOf(n, "p", 2, "a")), &c); err != nil {
			t.Fatal(err)
		}
		if len(order) > 0 {
			t.Error(order)
		}
		if got := s.all(); !slices.Equal(got, []string{"a2"}) {
			t.Errorf("written %v", got)
		}
		if len(g.letters) != 1 {
			t.Fatalf("letters %+v", g.letters)
		}
		l := g.letters[0]
		if l.Pipeline != "test" || l.Sink != "s" || l.Key != "a" || l.Sequence != "1" || l.Partition != "p" ||
			l.Class != "write" || l.Error != "down" || string(l.Raw) != `{"key":"a","n":1}` || l.Time.IsZero() {
			t.Errorf("letter %+v", l)
		}
		checkLedger(t, p, none(SinkLedger{Routed: 2, Written: 1, DeadLettered: 1}))
	})
}

// A line of an export is not a stream record, but its dead letter contains one: a redrive decodes the record to the
// same change.
func TestDelivery_LetterOfABackfilledItemHasARecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := record.NewSnapshotDecoder(record.SnapshotOptions{DecoderOptions: record.DecoderOptions{EpochZero: true}, Keys: []string{"PK"}})
		page := &Page{Partition: "p", Position: "1", Page: *d.DecodeLines([]byte(`{"Item":{"PK":{"S":"a"},"Total":{"N":"7"}}}`))}
		g := &graveyard{}
		p := newPipeline(t, &recorder{fail: func(context.Context, []Delivery) error { return errDown }}, func(o *Options) { o.DeadLetters = g })
		if err := p.Run(t.Context(), pages(nil, page), nil); err != nil {
			t.Fatal(err)
		}
		if len(g.letters) != 1 {
			t.Fatalf("letters %+v", g.letters)
		}
		again, err := record.NewDecoder(record.DecoderOptions{EpochZero: true}).Decode(g.letters[0].Raw)
		if err != nil || len(again.Changes) != 1 || again.Changes[0].Key != g.letters[0].Key || again.Changes[0].Version != g.letters[0].Version {
			t.Errorf("%s: %v %v", g.letters[0].Raw, err, again.Errors)
		}
	})
}

func TestDelivery_WithoutDeadLettersAPermanentErrorBlocksItsKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := map[string]int{}
		s := &recorder{fail: func(_ context.Context, ds []Delivery) error {
			var failed BatchError
			for i := range ds {
				if ds[i].Change.Key == "a" {
					failed.Add(i, errDown)
				}
			}
			return failed.OrNil()
		}}
		p := newPipeline(t, s)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var c commits
		err := p.Run(ctx, endless(pageOf(n, "p", 1, "b"), pageOf(n, "p", 2, "a", "b"), pageOf(n, "p", 3, "a", "b")), &c)
		stop, ok := errors.AsType[*StopError](err)
		if !ok || stop.Pending != 2 || !errors.Is(err, errStopTimeout) {
			t.Errorf("Run returned %v", err)
		}
		if c.at("p") != "1" {
			t.Errorf("committed %q", c.at("p"))
		}
		checkLedger(t, p, none(SinkLedger{Routed: 5, Written: 3, Pending: 2}))
	})
}

func TestDelivery_WholePermanentErrorIsNotBelievedOfAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &graveyard{}
		s := &recorder{fail: func(_ context.Context, ds []Delivery) error {
			for i := range ds {
				if ds[i].Change.Key == "b" {
					return errDown
				}
			}
			return nil
		}}
		p := newPipeline(t, s, func(o *Options) { o.DeadLetters = g })
		if err := p.Run(t.Context(), pages(nil, pageOf(map[string]int{}, "p", 1, "a", "b", "c")), nil); err != nil {
			t.Fatal(err)
		}
		if got := s.all(); !slices.Equal(got, []string{"a1", "c1"}) {
			t.Errorf("written %v", got)
		}
		checkLedger(t, p, none(SinkLedger{Routed: 3, Written: 2, DeadLettered: 1}))
	})
}

func TestDelivery_PanicIsIsolated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &graveyard{}
		s := &recorder{fail: func(_ context.Context, ds []Delivery) error {
			for i := range ds {
				if ds[i].Change.Key == "b" {
					panic(Transient(errors.New("boom"))) // a panic is not retried, even if its value is a Transient error
				}
			}
			return nil
		}}
		p := newPipeline(t, s, func(o *Options) { o.DeadLetters = g })
		if err := p.Run(t.Context(), pages(nil, pageOf(map[string]int{}, "p", 1, "a", "b", "c")), nil); err != nil {
			t.Fatal(err)
		}
		if got := s.all(); !slices.Equal(got, []string{"a1", "c1"}) {
			t.Errorf("written %v", got)
		}
		if len(g.letters) != 1 || g.letters[0].Class != "panic" || !strings.Contains(g.letters[0].Error, "delivery_test.go") {
			t.Errorf("letters %+v: want one of class panic with its trace", g.letters)
		}
	})
}

func TestDelivery_OnePanicIsForgiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calm := false
		s := &recorder{fail: func(context.Context, []Delivery) error {
			if !calm {
				calm = true
				panic("only once")
			}
			return nil
		}}
		p := newPipeline(t, s, func(o *Options) { o.DeadLetters = &graveyard{} })
		if err := p.Run(t.Context(), pages(nil, pageOf(map[string]int{}, "p", 1, "a")), nil); err != nil {
			t.Fatal(err)
		}
		checkLedger(t, p, none(SinkLedger{Routed: 1, Written: 1}))
	})
}

func TestDelivery_IsolationHoldsBackWhatFollowsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := map[string]int{}
		var tried []string
		down := true
		s := &recorder{keepsOrder: true, fail: func(_ context.Context, ds []Delivery) error {
			if len(ds) > 1 {
				return errDown
			}
			tried = append(tried, string(ds[0].Change.Key)+ds[0].Change.Sequence)
			if ds[0].Change.Key == "a" && down {
				down = false
				return Transient(errDown)
			}
			return nil
		}}
		p := newPipeline(t, s, func(o *Options) { o.DeadLetters = &graveyard{}; o.Routes[0].Concurrency = 1 })
		if err := p.Run(t.Context(), pages(nil, pageOf(n, "p", 1, "a", "b", "a")), nil); err != nil {
			t.Fatal(err)
		}
		if want := []string{"a1", "b1", "a1", "a2"}; !slices.Equal(tried, want) {
			t.Errorf("tried %v, want %v", tried, want)
		}
	})
}

// A change that was not tried has not failed: the error of its key is that of the earlier change, and it counts as no
// retry.
func TestDelivery_UntriedChangesAreNoFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader := metric.NewManualReader()
		refused, failures := redact.Class("mapping").New("no number"), 0
		s := &recorder{keepsOrder: true, fail: func(_ context.Context, ds []Delivery) error {
			if ds[0].Change.Key != "a" {
				return nil
			}
			if len(ds) == 1 {
				failures++
			}
			return refused
		}}
		p := newPipeline(t, s, func(o *Options) { o.Meter = metric.NewMeterProvider(metric.WithReader(reader)) })
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- p.Run(ctx, endless(pageOf(map[string]int{}, "p", 1, "a", "a", "a", "b")), nil) }()
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if got := p.Sinks()[0]; got.Blocked != 1 || got.Pending != 3 || got.Error != redact.LogText(refused) {
			t.Errorf("%+v", got)
		}
		if retries := numbers(t, reader)["tablewake.sink.retries pipeline=test,sink=s"]; int(retries) != failures {
			t.Errorf("%v deliveries are counted as tried again, and %d failed", retries, failures)
		}
		stop()
		<-ended
	})
}

// If changes of a key fail together, the key's error is that of the first: it decides whether the key is blocked.
func TestDelivery_TheFirstFailureIsThatOfTheKey(t *testing.T) {
	for name, test := range map[string]struct {
		first, second error
		blocked       int
	}{
		"blocked": {errDown, Transient(errDown), 1},
		"parked":  {Transient(errDown), errDown, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &recorder{keepsOrder: true, fail: func(context.Context, []Delivery) error {
					return &BatchError{Failed: map[int]error{0: test.first, 1: test.second}}
				}}
				p := newPipeline(t, s)
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- p.Run(ctx, endless(pageOf(map[string]int{}, "p", 1, "a", "a")), nil) }()
				time.Sleep(5 * time.Minute)
				synctest.Wait()
				if got := p.Sinks()[0]; got.Blocked != test.blocked {
					t.Errorf("%+v", got)
				}
				stop()
				<-ended
			})
		})
	}
}

func TestDelivery_SinksThatBreakTheContract(t *testing.T) {
	for name, fail := range map[string]func(context.Context, []Delivery) error{
		"index out of range":      func(context.Context, []Delivery) error { return &BatchError{Failed: map[int]error{7: nil}} },
		"outcome of the pipeline": func(_ context.Context, ds []Delivery) error { ds[0].Outcome = DeadLettered; return nil },
		"no cause":                func(context.Context, []Delivery) error { return &BatchError{Failed: map[int]error{0: nil}} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &graveyard{}
				p := newPipeline(t, SinkFunc(fail), func(o *Options) { o.DeadLetters = g })
				if err := p.Run(t.Context(), pages(nil, pageOf(map[string]int{}, "p", 1, "a")), nil); err != nil {
					t.Fatal(err)
				}
				checkLedger(t, p, none(SinkLedger{Routed: 1, DeadLettered: 1}))
				if len(g.letters) != 1 || g.letters[0].Error == "" {
					t.Errorf("letters %+v", g.letters)
				}
			})
		})
	}
}

func TestDelivery_FatalStopsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fatal := Fatal(errors.New("the store is of another pipeline"))
		s := &recorder{fail: failing("b", 1, fatal)}
		p := newPipeline(t, s)
		start := time.Now()
		err := p.Run(t.Context(), endless(pageOf(map[string]int{}, "p", 1, "a", "b")), nil)
		if !errors.Is(err, fatal) || time.Since(start) != 0 {
			t.Errorf("Run returned %v after %v", err, time.Since(start))
		}
		checkLedger(t, p, none(SinkLedger{Routed: 2, Written: 1, Pending: 1}))
	})
}

func TestDelivery_OutcomesAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outcomes := map[item.Key]Outcome{"b": Superseded, "c": NoEffect, "d": Coalesced, "e": Suppressed}
		p := newPipeline(t, SinkFunc(func(_ context.Context, ds []Delivery) error {
			for i := range ds {
				if ds[i].Outcome = outcomes[ds[i].Change.Key]; ds[i].Outcome == NoEffect {
					ds[i].Reason = "sparse"
				}
			}
			return nil
		}))
		if err := p.Run(t.Context(), pages(nil, pageOf(map[string]int{}, "p", 1, "a", "b", "c", "d", "e")), nil); err != nil {
			t.Fatal(err)
		}
		checkLedger(t, p, SinkLedger{Routed: 5, Written: 1, Superseded: 1, NoEffect: map[string]int64{"sparse": 1}, Coalesced: 1, Suppressed: 1,
			RouteFiltered: map[string]int64{}})
	})
}

func TestDelivery_BatchThatFailsAsAWholeComesBackAsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		s := &recorder{fail: func(context.Context, []Delivery) error {
			if tries++; tries <= 5 {
				return Transient(errDown)
			}
			return nil
		}}
		p := newPipeline(t, s)
		if err := p.Run(t.Context(), pages(nil, pageOf(map[string]int{}, "p", 1, "a", "b", "c", "d")), nil); err != nil {
			t.Fatal(err)
		}
		if tries != 6 || len(s.batches) != 1 {
			t.Errorf("%d Writes, the last of %v: want the batch whole each time", tries, s.batches)
		}
	})
}

func TestDelivery_Concurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var flying, most atomic.Int64
		p := newPipeline(t, SinkFunc(func(context.Context, []Delivery) error {
			most.Store(max(most.Load(), flying.Add(1)))
			time.Sleep(time.Second)
			flying.Add(-1)
			return nil
		}), func(o *Options) { o.Routes[0].Concurrency = 3; o.Routes[0].Batch.Count = 1 })
		start := time.Now()
		if err := p.Run(t.Context(), pages(nil, pageOf(map[string]int{}, "p", 1, "a", "b", "c", "d", "e", "f")), nil); err != nil {
			t.Fatal(err)
		}
		if most.Load() > 3 || time.Since(start) != 2*time.Second {
			t.Errorf("%d Writes at once and %v for 6 of a second each; want 3 and 2s", most.Load(), time.Since(start))
		}
	})
}

func TestDelivery_Rate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipeline(t, &recorder{}, func(o *Options) { o.Routes[0].Rate = 2; o.Routes[0].Batch.Count = 1 })
		start := time.Now()
		if err := p.Run(t.Context(), pages(nil, pageOf(map[string]int{}, "p", 1, "a", "b", "c", "d", "e")), nil); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("5 deliveries at 2 a second took %v, want 2s", took)
		}
	})
}
