package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// planned is a sink whose Plan is a function.
type planned struct {
	recorder
	plan func(d *Delivery) error
}

var _ Planner = (*planned)(nil)

func (p *planned) Plan(d *Delivery) error { return p.plan(d) }

// named is a filter with a name.
type named struct {
	FilterFunc
	name string
}

var _ Named = named{}

func (n named) Name() string { return n.name }

var errBad = errors.New("bad value")

func TestStages_DropsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		drop := func(key item.Key, reason string) FilterFunc {
			return func(c *record.Change) (Verdict, error) { return Verdict{Drop: c.Key == key, Reason: reason}, nil }
		}
		s := &recorder{}
		p := newPipeline(t, s, func(o *Options) {
			o.Filters = []Filter{drop("a", "is_a"), named{drop("b", ""), "no_b"}, drop("c", "")}
			o.Routes[0].Filters = []Filter{drop("d", "is_d")}
		})
		if err := p.Run(t.Context(), pages(nil, pageOf(map[string]int{}, "p", 1, "a", "b", "c", "d", "e")), nil); err != nil {
			t.Fatal(err)
		}
		l := p.Ledger()
		if got := fmt.Sprint(l.Source); got != "{5 0 map[filter_3:1 is_a:1 no_b:1] 1 0 1}" {
			t.Errorf("source's ledger %v", got)
		}
		checkLedger(t, p, SinkLedger{Routed: 1, Written: 1, NoEffect: map[string]int64{}, RouteFiltered: map[string]int64{"is_d": 1}})
	})
}

func TestStages_PlanDecides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &graveyard{}
		s := &planned{plan: func(d *Delivery) error {
			switch d.Change.Key {
			case "a":
				d.Outcome, d.Reason = NoEffect, "sparse"
			case "b":
				return errBad
			case "c":
				panic("oops")
			case "d":
				d.Outcome = Superseded // a plan must not return this outcome
			}
			return nil
		}}
		p := newPipeline(t, s, func(o *Options) { o.DeadLetters = g })
		if err := p.Run(t.Context(), pages(nil, pageOf(map[string]int{}, "p", 1, "a", "b", "c", "d", "e")), nil); err != nil {
			t.Fatal(err)
		}
		if got := s.all(); !slices.Equal(got, []string{"e1"}) {
			t.Errorf("written %v", got)
		}
		for _, l := range g.letters {
			if l.Class != "plan" || !strings.Contains(l.Error, `sink "s"`) {
				t.Errorf("letter %+v", l)
			}
		}
		checkLedger(t, p, SinkLedger{Routed: 5, Written: 1, NoEffect: map[string]int64{"sparse": 1}, DeadLettered: 3, RouteFiltered: map[string]int64{}})
	})
}

func TestStages_SuppressedRoutePlansAndDoesNotWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &planned{plan: func(d *Delivery) error {
			if d.Change.Key == "a" {
				d.Outcome, d.Reason = NoEffect, "sparse"
			}
			return nil
		}}
		p := newPipeline(t, s, func(o *Options) { o.Routes[0].Suppress = "replay" })
		var c commits
		if err := p.Run(t.Context(), pages(nil, pageOf(map[string]int{}, "p", 1, "a", "b")), &c); err != nil {
			t.Fatal(err)
		}
		if len(s.all()) != 0 || c.at("p") != "1" {
			t.Errorf("written %v, committed %q", s.all(), c.at("p"))
		}
		checkLedger(t, p, SinkLedger{Routed: 2, Suppressed: 1, NoEffect: map[string]int64{"sparse": 1}, RouteFiltered: map[string]int64{}})
	})
}

func TestStages_FailureOfASourceFilterIsEveryRoutes(t *testing.T) {
	for _, panics := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			g := &graveyard{}
			s := &recorder{keepsOrder: true}
			p := newPipeline(t, s, func(o *Options) {
				o.DeadLetters = g
				o.Filters = []Filter{named{func(c *record.Change) (Verdict, error) {
					if c.Key == "a" && nth(c) == 2 {
						if panics {
							panic(errBad)
						}
						return Verdict{}, errBad
					}
					return Verdict{}, nil
				}, "picky"}}
				o.Routes = append(o.Routes, Route{Name: "t", Sink: &recorder{}})
			})
			n := map[string]int{}
			var c commits
			if err := p.Run(t.Context(), pages(nil, pageOf(n, "p", 1, "a", "a", "b", "a")), &c); err != nil {
				t.Fatal(err)
			}
			got := s.all()
			if want := []string{"a1", "b1", "a3"}; !slices.Equal(got, want) {
				t.Errorf("written %v, want %v", got, want)
			}
			var sinks []string
			for _, l := range g.letters {
				sinks = append(sinks, l.Sink)
				if l.Class != "filter" || l.Sequence != "2" || !strings.Contains(l.Error, `filter "picky"`) {
					t.Errorf("letter %+v", l)
				}
			}
			slices.Sort(sinks)
			if !slices.Equal(sinks, []string{"s", "t"}) {
				t.Errorf("letters for %v", sinks)
			}
			checkLedger(t, p, none(SinkLedger{Routed: 4, Written: 3, DeadLettered: 1}))
			if r := p.Ledger().Source.Routed; r != 4 {
				t.Errorf("routed %d, want 4", r)
			}
		})
	}
}

func TestStages_WithoutDeadLettersAFilterThatFailsBlocksItsKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipeline(t, &recorder{}, func(o *Options) {
			o.Filters = []Filter{FilterFunc(func(c *record.Change) (Verdict, error) {
				if c.Key == "a" {
					return Verdict{}, errBad
				}
				return Verdict{}, nil
			})}
		})
		n := map[string]int{}
		done := make(chan error, 1)
		go func() {
			done <- p.Run(t.Context(), endless(pageOf(n, "p", 1, "a", "b", "a")), nil)
		}()
		synctest.Wait()
		checkLedger(t, p, none(SinkLedger{Routed: 3, Written: 1, Pending: 2}))
		p.Stop(t.Context())
		if _, ok := errors.AsType[*StopError](<-done); !ok {
			t.Error("it stopped softly with a blocked key")
		}
	})
}

func TestStages_FailureOfADetectorIsOfRoutesThatNeedEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events []string
		g := &graveyard{}
		hear := SinkFunc(func(_ context.Context, ds []Delivery) error {
			for _, d := range ds {
				for _, e := range d.Events {
					events = append(events, fmt.Sprintf("%s of %s, id ok %v", e.Detector, e.Change.Key, e.ID() == EventID(e.Change, e.Detector, 0)))
				}
			}
			return nil
		})
		p := newPipeline(t, &recorder{}, func(o *Options) {
			o.DeadLetters = g
			o.Detectors = []NamedDetector{
				{"fails", DetectorFunc(func(dst []Event, c *record.Change) ([]Event, error) {
					if c.Key == "a" {
						panic("oops")
					}
					return dst, nil
				})},
				{"sees", DetectorFunc(func(dst []Event, c *record.Change) ([]Event, error) { return append(dst, Event{}), nil })},
			}
			o.Routes = append(o.Routes, Route{Name: "t", Sink: hear, NeedsEvents: true})
		})
		page := pageOf(map[string]int{}, "p", 1, "a", "b", "c")
		page.Changes[2].Op = record.Snapshot
		if err := p.Run(t.Context(), pages(nil, page), nil); err != nil {
			t.Fatal(err)
		}
		checkLedger(t, p, none(SinkLedger{Routed: 3, Written: 3}))
		if l := p.Ledger().Sinks["t"]; l.Written != 2 || l.DeadLettered != 1 || g.letters[0].Class != "detector" {
			t.Errorf("ledger %+v, letters %+v", l, g.letters)
		}
		if want := []string{"sees of b, id ok true"}; !slices.Equal(events, want) {
			t.Errorf("events %q, want %q: none of a snapshot", events, want)
		}
		if n := p.Ledger().Events; n["sees"] != 2 || n["fails"] != 0 {
			t.Errorf("events counted %v", n)
		}
	})
}

func TestStages_EventsOfManyChangesStayApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wrong []string
		total := 0
		p := newPipeline(t, SinkFunc(func(_ context.Context, ds []Delivery) error {
			for _, d := range ds {
				want := nth(d.Change) % 4
				if len(d.Events) != want {
					wrong = append(wrong, fmt.Sprintf("%s%s has %d events", d.Change.Key, d.Change.Sequence, len(d.Events)))
				}
				for _, e := range d.Events {
					total++
					if e.Change.Key != d.Change.Key || e.Change.Sequence != d.Change.Sequence {
						wrong = append(wrong, "an event of another change")
					}
				}
			}
			return nil
		}), func(o *Options) {
			o.Routes[0].Concurrency = 1
			o.Detectors = []NamedDetector{{"n", DetectorFunc(func(dst []Event, c *record.Change) ([]Event, error) {
				for range nth(c) % 4 {
					dst = append(dst, Event{})
				}
				return dst, nil
			})}}
		})
		n := map[string]int{}
		var ps []*Page
		for i := range 30 {
			ps = append(ps, pageOf(n, "p", i+1, "a", "b", "c", "a", "b", "a"))
		}
		if err := p.Run(t.Context(), pages(nil, ps...), nil); err != nil {
			t.Fatal(err)
		}
		if len(wrong) > 0 || total == 0 || int64(total) != p.Ledger().Events["n"] {
			t.Errorf("%v; %d events delivered, %d counted", wrong, total, p.Ledger().Events["n"])
		}
	})
}

// A change that waits for a retry is planned again without a lock held, so Plan may call methods of the pipeline.
func TestPlan_AgainWithoutALock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p *Pipeline
		plans := 0
		s := &planned{recorder: recorder{fail: failing("a", 1, Transient(errDown))}}
		s.plan = func(*Delivery) error {
			plans++
			p.Ledger()
			return nil
		}
		p = newPipeline(t, s)
		if err := p.Run(t.Context(), pages(nil, pageOf(map[string]int{}, "p", 1, "a")), nil); err != nil {
			t.Fatal(err)
		}
		if plans != 2 || len(s.all()) != 1 {
			t.Errorf("%d plans, written %v", plans, s.all())
		}
	})
}

// If a plan fails only at the retry, the change goes to dead letters like any other and keeps its place among the
// changes of its key.
func TestPlan_FailsTheSecondTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, plans := map[string]int{}, map[string]int{}
		s := &planned{recorder: recorder{keepsOrder: true, fail: failing("a", 1, Transient(errDown))}}
		s.plan = func(d *Delivery) error {
			if plans[name(d.Change)]++; name(d.Change) == "a2" && plans["a2"] == 2 {
				return errBad
			}
			return nil
		}
		g, q := &graveyard{}, &marks{}
		p := newPipeline(t, s, func(o *Options) { o.DeadLetters, o.Quarantine = g, q })
		if err := p.Run(t.Context(), pages(nil, pageOf(n, "p", 1, "a", "a", "a", "b")), nil); err != nil {
			t.Fatal(err)
		}
		if got := s.all(); !slices.Equal(got, []string{"b1", "a1"}) {
			t.Errorf("written %v", got)
		}
		if want := []string{"s a2 plan", "s a3 quarantined"}; !slices.Equal(g.lines(), want) {
			t.Errorf("letters %v, want %v", g.lines(), want)
		}
	})
}

// A partition can be revoked while one of its changes is planned again.
func TestPlan_AgainWhileItIsRevoked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &planned{recorder: recorder{fail: alwaysDown}}
		plans := 0
		s.plan = func(*Delivery) error {
			if plans++; plans == 2 {
				time.Sleep(time.Minute)
			}
			return nil
		}
		p, src, _, stop := running(t, s, []*Page{pageOf(map[string]int{}, "p", 1, "a")})
		time.Sleep(30 * time.Second) // the backoff has ended, and Plan still runs
		src.control.Revoke(errTaken, "p")
		time.Sleep(time.Hour)
		checkLedger(t, p, none(SinkLedger{Routed: 1, Revoked: 1}))
		holdsNothing(t, p)
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
