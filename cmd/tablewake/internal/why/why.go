// Package why compares an item of a table with all that the sinks of a pipeline hold
// of it, and says where they differ.
//
// What should be there is what the pipeline's own planners make of the item; what is
// there is read from the stores, tombstones, guards, contributions and dead letters
// included.
package why

import (
	"context"
	"fmt"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/state"
)

// Question asks of one item.
type Question struct {
	Config *config.Config
	Stores sinks.Stores // that are looked into; nothing is written

	Mask *pipeline.Mask  // hides what is sensitive in the answer
	Item pipeline.Change // the item as it is, as a SNAPSHOT; or its REMOVE, with the image it had where that is known
}

// Answer is what the sinks hold of the item.
type Answer struct {
	Dropped string // the source filter that drops the item; "": none does
	Sinks   []Sink
	Letters []pipeline.DeadLetter // of the item, in the order in which they came
}

// Differing is how many places are not as they should be.
func (a Answer) Differing() int {
	n := 0
	for _, s := range a.Sinks {
		for _, p := range s.Places {
			if p.Verdict.wrong() {
				n++
			}
		}
	}
	return n
}

// Sink is what one sink holds.
type Sink struct {
	Name   string
	Kind   string      // view, aggregate, search, archive, notify or custom
	Says   string      // why the sink has nothing to look at, or what was not looked at; "": all was
	Held   *state.Mark // the item's key is quarantined there; nil: it is not
	Places []Place
}

// Place is one place that has, or should have, something of the item.
type Place struct {
	Kind    string // row, guard, claim, contribution, group or document
	Where   string // key of the row, or index and id of the document
	Version pipeline.Version
	Verdict Verdict
	Found   string   // what is there, in words
	Differs []string // what is other than it should be: attribute names, or a line each
}

// Verdict says whether a place is as the item says that it should be.
type Verdict string

// The verdicts.
const (
	Same     Verdict = "same"
	Missing  Verdict = "missing"  // it should be there, and is not
	Differs  Verdict = "differs"  // it is there, with something else in it
	Leftover Verdict = "leftover" // it should be gone, and is there
	Taken    Verdict = "taken"    // another item has it, and this one waits
	Gone     Verdict = "gone"     // rightly so
	Info     Verdict = ""         // nothing to compare
)

func (v Verdict) wrong() bool { return v == Missing || v == Differs || v == Leftover || v == Taken }

// Ask looks at every sink. An error names the sink that could not be looked at.
func Ask(ctx context.Context, q Question) (Answer, error) {
	births, err := q.births(ctx)
	if err != nil {
		return Answer{}, err
	}
	p, err := sinks.Assemble(ctx, q.Config, sinks.PlanOnly(), sinks.Suppressed("why"), sinks.BornAs(births))
	if err != nil {
		return Answer{}, err
	}
	masked, err := sinks.Assemble(ctx, q.Config, sinks.PlanOnly(), sinks.Suppressed("why"), sinks.BornAs(births), sinks.MaskAll())
	if err != nil {
		return Answer{}, err
	}
	var a Answer
	x, shown := p.Explain(&q.Item), masked.Explain(&q.Item)
	for _, f := range x.Filters {
		if f.Verdict.Drop {
			a.Dropped = f.Name
			return a, nil
		}
	}
	marks, err := q.marks(ctx)
	if err != nil {
		return a, err
	}
	removed, shownRemoved := p.Explain(q.unseen()), masked.Explain(q.unseen())
	for i, s := range q.Config.Sinks {
		sink := Sink{Name: s.Name}
		if m, held := marks[s.Name]; held {
			sink.Held = &m
		}
		l := look{
			Question: q, spec: s, out: &sink, plan: x.Routes[i], gone: removed.Routes[i].Ops,
			shown: shown.Routes[i].Ops, shownGone: shownRemoved.Routes[i].Ops,
		}
		if err := l.run(ctx); err != nil {
			return a, fmt.Errorf("%s: %w", s.Name, err)
		}
		a.Sinks = append(a.Sinks, sink)
	}
	a.Letters, err = q.letters(ctx)
	return a, err
}

// births are those under which the state knows what the sinks wrote.
func (q Question) births(ctx context.Context) (map[string]string, error) {
	kept, err := q.Stores.State(ctx, q.Config)
	if err != nil || kept == nil {
		return nil, err
	}
	return sinks.Births(ctx, q.Config, kept)
}

// unseen is the removal of the item by a stream that shows no images: what a sink
// does then is where it would look for what is left of an item.
func (q Question) unseen() *pipeline.Change {
	c := q.Item
	c.Op, c.ViewType, c.Old, c.New = pipeline.Remove, pipeline.KeysOnly, pipeline.Image{}, pipeline.Image{}
	return &c
}
