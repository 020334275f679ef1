package pipeline

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tablewake/tablewake/pipeline/record"
)

// op is an Op whose String is its own text.
type op string

func (o op) String() string { return string(o) }

func TestExplain_RunsTheCodeOfRun(t *testing.T) {
	plan := func(d *Delivery) error {
		switch d.Change.Key {
		case "sparse":
			d.Outcome, d.Reason = NoEffect, "sparse"
		case "bad":
			return errBad
		default:
			d.Ops = append(d.Ops, op("put "+d.Change.Key))
		}
		return nil
	}
	s := &planned{plan: plan}
	p := newPipeline(t, s, func(o *Options) {
		o.Filters = []Filter{
			named{func(*record.Change) (Verdict, error) { return Verdict{}, nil }, "first"},
			named{func(c *record.Change) (Verdict, error) {
				return Verdict{Drop: c.Key == "dropped", Reason: "unwanted"}, nil
			}, "second"},
		}
		o.Detectors = []NamedDetector{{"all", DetectorFunc(func(dst []Event, c *record.Change) ([]Event, error) { return append(dst, Event{Path: "x"}), nil })}}
		o.Routes = append(o.Routes,
			Route{Name: "picky", Sink: s, Filters: []Filter{named{func(*record.Change) (Verdict, error) { return Verdict{Drop: true}, nil }, "never"}}},
			Route{Name: "quiet", Sink: s, Suppress: "replay"})
	})
	show := func(x *Explanation) []string {
		var out []string
		for _, f := range x.Filters {
			out = append(out, fmt.Sprintf("%s %+v %v", f.Name, f.Verdict, f.Err))
		}
		for _, e := range x.Events {
			out = append(out, "event "+e.Detector+" "+e.Path)
		}
		for _, r := range x.Routes {
			out = append(out, fmt.Sprintf("%s %v %v %v %s %q %v", r.Name, r.Filters, r.Taken, r.Ops, r.Outcome, r.Reason, r.Err))
		}
		return out
	}
	explainer := p.Explainer()
	keep := []string{"first {Drop:false Reason:} <nil>", "second {Drop:false Reason:} <nil>", "event all x"}
	for key, want := range map[string][]string{
		"dropped": {"first {Drop:false Reason:} <nil>", "second {Drop:true Reason:unwanted} <nil>"},
		"good": append(slices.Clone(keep), `s [] true [put good] written "" <nil>`, `picky [{{true never} <nil> never}] false [] written "" <nil>`,
			`quiet [] true [put good] suppressed "replay" <nil>`),
		"sparse": append(slices.Clone(keep), `s [] true [] no_effect "sparse" <nil>`, `picky [{{true never} <nil> never}] false [] written "" <nil>`,
			`quiet [] true [] no_effect "sparse" <nil>`),
		"bad": append(slices.Clone(keep), `s [] true [] dead_lettered "" sink "s": bad value`, `picky [{{true never} <nil> never}] false [] written "" <nil>`,
			`quiet [] true [] dead_lettered "" sink "quiet": bad value`),
	} {
		c := change(key, 1)
		x := p.Explain(&c)
		if got := show(&x); !slices.Equal(got, want) {
			t.Errorf("%s:\n got %q\nwant %q", key, got, want)
		}
		if got := show(explainer.Explain(&c)); !slices.Equal(got, want) {
			t.Errorf("%s, by an Explainer:\n got %q\nwant %q", key, got, want)
		}
	}
	if len(s.all()) != 0 || p.Ledger().Source.Read != 0 {
		t.Error("Explain wrote or counted something")
	}
}
