package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// of makes a change from each name, which is a key and a number.
func of(names ...string) []*record.Change {
	var cs []*record.Change
	for _, n := range names {
		c := change(n[:1], int(n[1]-'0'))
		cs = append(cs, &c)
	}
	return cs
}

// said describes the results of a Redeliver, one word for each change.
func said(out []Redelivery) string {
	var words []string
	for _, r := range out {
		switch {
		case r.Untried:
			words = append(words, "behind")
		case r.Err != nil:
			words = append(words, "failed")
		default:
			words = append(words, r.Outcome.String()+r.Reason)
		}
	}
	return fmt.Sprint(words)
}

func TestRedeliver(t *testing.T) {
	bad := func(key string) func(context.Context, []Delivery) error { return failing(key, 1, errDown, errDown) }
	whole := func(_ context.Context, ds []Delivery) error {
		for i := range ds {
			if ds[i].Change.Key == "b" {
				return errDown
			}
		}
		return nil
	}
	panics := func(_ context.Context, ds []Delivery) error {
		if ds[0].Change.Key == "b" || len(ds) > 1 {
			panic("boom")
		}
		return nil
	}
	for name, test := range map[string]struct {
		keepsOrder bool
		fail       func(context.Context, []Delivery) error
		want, got  string
	}{
		"all":                             {false, nil, "[written written written written]", "[[a1 b1] [a2 c1]]"},
		"all, in one Write":               {true, nil, "[written written written written]", "[[a1 b1 a2 c1]]"},
		"behind one that fails":           {false, bad("a"), "[failed written behind written]", "[[b1] [c1]]"},
		"a whole batch has a culprit":     {false, whole, "[written failed written written]", "[[a1] [a2 c1]]"},
		"a culprit, where order is kept":  {true, whole, "[written failed written written]", "[[a1] [a2] [c1]]"},
		"a panic has a culprit":           {true, panics, "[written failed written written]", "[[a1] [a2] [c1]]"},
		"for now: a whole batch comes so": {true, downUntil(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)), "[failed failed failed failed]", "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &recorder{keepsOrder: test.keepsOrder, fail: test.fail}
			p := newPipeline(t, s)
			out, err := p.Redeliver(t.Context(), "s", of("a1", "b1", "a2", "c1"))
			if err != nil {
				t.Fatal(err)
			}
			if said(out) != test.want || fmt.Sprint(s.batches) != test.got {
				t.Errorf("it said %s and wrote %v; want %s and %s", said(out), s.batches, test.want, test.got)
			}
			checkLedger(t, p, none(SinkLedger{})) // the ledger counts only what the run did
		})
	}
}

// Redeliver runs all stages of the pipeline before the sink: filters, detectors and the plan.
func TestRedeliver_Stages(t *testing.T) {
	drop := func(key item.Key) FilterFunc {
		return func(c *record.Change) (Verdict, error) {
			if c.Key == "f" {
				return Verdict{}, errBad
			}
			return Verdict{Drop: c.Key == key, Reason: string(key)}, nil
		}
	}
	var events int
	s := &planned{plan: func(d *Delivery) error {
		switch events += len(d.Events); {
		case d.Change.Key == "p" && nth(d.Change) == 2:
			return errBad
		case d.Change.Key == "n":
			d.Outcome, d.Reason = NoEffect, "sparse"
		}
		return nil
	}}
	other := &recorder{}
	p := newPipeline(t, s, func(o *Options) {
		o.Filters = []Filter{drop("x")}
		o.Routes[0].Filters = []Filter{drop("y")}
		o.Detectors = []NamedDetector{{"all", DetectorFunc(func(dst []Event, c *record.Change) ([]Event, error) { return append(dst, Event{}), nil })}}
		o.Routes = append(o.Routes, Route{Name: "other", Sink: other, Suppress: "replay"})
	})
	out, err := p.Redeliver(t.Context(), "s", of("x1", "y1", "f1", "p1", "p2", "p3", "n1", "a1"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := said(out), "[no_effectx no_effecty failed written failed behind no_effectsparse written]"; got != want {
		t.Errorf("it said %s, want %s", got, want)
	}
	if got := s.all(); !slices.Equal(got, []string{"p1", "a1"}) || len(other.all()) > 0 || events != 5 {
		t.Errorf("written %v and %v, with %d events planned", got, other.all(), events)
	}
	out, err = p.Redeliver(t.Context(), "other", of("a1"))
	if err != nil || said(out) != "[suppressedreplay]" || len(other.all()) > 0 {
		t.Errorf("a suppressed route said %s (%v), and wrote %v", said(out), err, other.all())
	}
	if _, err := p.Redeliver(t.Context(), "no", nil); err == nil {
		t.Error("there is no such route, and no error")
	}
	routes := p.Routes()
	for i := range routes {
		routes[i].Wrote, routes[i].Failed = time.Time{}, time.Time{}
	}
	if want := []RouteInfo{{Name: "s"}, {Name: "other", Suppressed: true}}; !slices.Equal(routes, want) {
		t.Errorf("routes %+v", routes)
	}
}

// Redeliver uses the batches and the rate of the route. When its context ends, the remaining changes fail with the
// error of the context.
func TestRedeliver_BatchesAtTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &recorder{}
		p := newPipeline(t, s, func(o *Options) { o.Routes[0].Batch.Count, o.Routes[0].Rate = 2, 1 })
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		out, err := p.Redeliver(ctx, "s", of("a1", "b1", "c1", "d1", "e1", "f1"))
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(s.batches); got != "[[a1 b1] [c1 d1]]" || time.Since(start) != 3*time.Second {
			t.Errorf("batches %s after %v", got, time.Since(start))
		}
		if said(out) != "[written written written written failed failed]" || !errors.Is(out[5].Err, context.DeadlineExceeded) {
			t.Errorf("it said %s, and of the last %v", said(out), out[5].Err)
		}
	})
}
