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
	"time"

	"github.com/tablewake/tablewake/cmd/internal/letters"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks"
)

// Question asks of one item.
type Question struct {
	Config *config.Config
	Stores sinks.Stores // that are looked into; nothing is written

	Mask  *mask.Mask    // hides what is sensitive in the answer
	Item  record.Change // the item as it is, as a SNAPSHOT; or its REMOVE, with the image it had where that is known
	From  string        // where it was read
	Known bool          // false: only its key is
}

// Answer is what the sinks hold of the item; it is what `why -o json` prints.
type Answer struct {
	Key       item.Key             `json:"key"`
	From      string               `json:"from"`     // where the item was read
	Compared  bool                 `json:"compared"` // false: nothing is known of what the item should come to
	There     bool                 `json:"there"`
	Version   string               `json:"version,omitempty"`
	Dropped   string               `json:"dropped_by,omitempty"` // the source filter that drops the item; "": none does
	Differing int                  `json:"differing"`            // places that are not as they should be
	Sinks     []Sink               `json:"sinks"`
	Letters   []letters.LetterJSON `json:"dead_letters"` // of the item, in the order in which they came

	attributes int                   // of the item
	letters    []pipeline.DeadLetter // as Letters
}

// Sink is what one sink holds.
type Sink struct {
	Name   string     `json:"sink"`
	Kind   string     `json:"kind"`                        // view, aggregate, search, archive, notify or custom
	Says   string     `json:"says,omitempty"`              // why the sink has nothing to look at, or what was not looked at; "": all was
	Held   *time.Time `json:"quarantined_since,omitempty"` // since when the item's key is quarantined there; nil: it is not
	Places []Place    `json:"places,omitempty"`
}

// Place is one place that has, or should have, something of the item.
type Place struct {
	Kind    string   `json:"kind"`  // row, guard, claim, contribution, group or document
	Where   string   `json:"where"` // key of the row, or index and id of the document
	Found   string   `json:"found"` // what is there, in words
	Version string   `json:"version,omitempty"`
	Verdict Verdict  `json:"verdict,omitempty"`
	Differs []string `json:"differs,omitempty"` // what is other than it should be: attribute names, or a line each
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
	item := &q.Item
	a := Answer{
		Key: q.Mask.Key(item), From: q.From, Compared: q.Known, There: item.New.Exists(), attributes: item.New.Len(),
		Sinks: []Sink{}, Letters: []letters.LetterJSON{},
	}
	if item.Sequence != "0" {
		a.Version = versionText(item.Version)
	}
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
			sink.Held = &m.Since
		}
		l := look{
			Question: q, spec: s, out: &sink, plan: x.Routes[i], gone: removed.Routes[i].Ops,
			shown: shown.Routes[i].Ops, shownGone: shownRemoved.Routes[i].Ops,
		}
		if err := l.run(ctx); err != nil {
			return a, fmt.Errorf("%s: %w", s.Name, err)
		}
		for i := range sink.Places {
			if p := &sink.Places[i]; !q.Known {
				p.Verdict, p.Differs = Info, nil
			} else if p.Verdict.wrong() {
				a.Differing++
			}
		}
		a.Sinks = append(a.Sinks, sink)
	}
	if a.letters, err = q.letters(ctx); err != nil {
		return a, err
	}
	for i, l := range a.letters {
		a.letters[i] = letters.Mask(q.Mask, l)
		a.Letters = append(a.Letters, letters.NewLetterJSON(a.letters[i]))
	}
	return a, nil
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
func (q Question) unseen() *record.Change {
	c := q.Item
	c.Op, c.ViewType, c.Old, c.New = record.Remove, record.KeysOnly, item.Image{}, item.Image{}
	return &c
}
