// Package why is the command why. It compares an item of the source table with the contents of all sinks.
//
// The expected contents are the plans of the pipeline for the item. Package audit compares them with the actual
// contents: rows, documents, tombstones, guards and contributions. [Compare] adds the dead letters. Read why.go first,
// then sink_comparison.go. item.go finds the item, and letters.go its dead letters.
package why

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/letters"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/audit"
	"github.com/tablewake/tablewake/sinks/state"
)

// Request is the input of [Compare].
type Request struct {
	Config *config.Config
	Stores sinks.Stores // they are only read

	Mask  *mask.Mask    // masks sensitive attributes in the result
	Item  record.Change // the item as a SNAPSHOT; or its REMOVE, with the old image if that is known
	From  string        // where it was read
	Known bool          // false: only the key of the item is known

	Extensions []sinks.Extension // Go code of the program. Default: none
}

// Comparison is the result for one item, and the output of `why -o json`.
type Comparison struct {
	Key       item.Key             `json:"key"`
	From      string               `json:"from"`     // where the item was read
	Compared  bool                 `json:"compared"` // false: the expected contents are unknown
	There     bool                 `json:"there"`
	Version   string               `json:"version,omitempty"`
	Dropped   string               `json:"dropped_by,omitempty"` // the source filter that drops the item; "": none
	Differing int                  `json:"differing"`            // number of findings with a problem
	Sinks     []Sink               `json:"sinks"`
	Letters   []letters.LetterJSON `json:"dead_letters"` // dead letters of the item, the oldest first

	attributes int                   // number of attributes of the item
	letters    []pipeline.DeadLetter // the masked letters of Letters
}

// Sink is the result for one sink.
type Sink struct {
	Name string `json:"sink"`
	Kind string `json:"kind"` // view, aggregate, search, archive, notify or custom
	// Note is the reason why the sink was not compared, or the part that was not; "": all was compared
	Note             string     `json:"says,omitempty"`
	QuarantinedSince *time.Time `json:"quarantined_since,omitempty"` // nil: the item's key is not quarantined
	Findings         []Finding  `json:"places,omitempty"`
}

// Finding is the result for one row, document or guard that the item has, or should have.
type Finding struct {
	Kind    string   `json:"kind"`  // row, guard, claim, contribution, group or document
	Where   string   `json:"where"` // key of the row, or index and id of the document
	Found   string   `json:"found"` // describes the actual contents
	Version string   `json:"version,omitempty"`
	Verdict Verdict  `json:"verdict,omitempty"`
	Differs []string `json:"differs,omitempty"` // the differing attributes, or a line for each difference
}

// Verdict is the result of a comparison.
type Verdict string

// The verdicts.
const (
	Same     Verdict = "same"
	Missing  Verdict = "missing"  // it should exist, and does not
	Differs  Verdict = "differs"  // it exists with other contents
	Leftover Verdict = "leftover" // it exists, and should not
	Taken    Verdict = "taken"    // another item owns the row, and this item should
	Waits    Verdict = "waits"    // another item owns the row, by the rule for collisions
	Gone     Verdict = "gone"     // it does not exist, as it should
	Info     Verdict = ""         // nothing to compare
)

func (v Verdict) isProblem() bool { return v == Missing || v == Differs || v == Leftover || v == Taken }

// Compare compares the item with each sink. An error names the sink that could not be read.
func Compare(ctx context.Context, q Request) (Comparison, error) {
	p, err := sinks.Assemble(ctx, q.Config, sinks.PlanOnly(), sinks.WithExtensions(q.Extensions...),
		sinks.HoldCustom("why"), sinks.SuppressEvents("why"))
	if err != nil {
		return Comparison{}, err
	}
	item := &q.Item
	a := Comparison{
		Key: q.Mask.Key(item), From: q.From, Compared: q.Known, There: item.New.Exists(), attributes: item.New.Len(),
		Sinks: []Sink{}, Letters: []letters.LetterJSON{},
	}
	if item.Sequence != "0" {
		a.Version = versionText(item.Version)
	}
	x := p.Explain(item)
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
	audited, err := q.audited(ctx)
	if err != nil {
		return a, err
	}
	stages, err := q.unfilledStages(ctx)
	if err != nil {
		return a, err
	}
	for i, s := range q.Config.Sinks {
		sink := Sink{Name: s.Name}
		if m, ok := marks[s.Name]; ok {
			sink.QuarantinedSince = &m.Since
		}
		if err := compareSink(ctx, item, s, audited[s.Name], x.Routes[i], &sink); err != nil {
			return a, fmt.Errorf("%s: %w", s.Name, err)
		}
		stage, isUnfilled := stages[s.Name]
		if isUnfilled {
			sink.Note = fmt.Sprintf("is %s: fill it first, with tablewake backfill --sink %s", stage, s.Name)
		}
		for i := range sink.Findings {
			f := &sink.Findings[i]
			if isUnfilled || !q.Known {
				f.Verdict, f.Differs = Info, nil
			}
			if f.Verdict.isProblem() {
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

// unfilledStages returns the stages of the sinks that wait or are filling, by name. Missing entries in them are not
// differences.
func (q Request) unfilledStages(ctx context.Context) (map[string]state.Stage, error) {
	stages := make(map[string]state.Stage)
	kept, err := q.Stores.State(ctx, q.Config)
	if err != nil || kept == nil {
		return stages, err
	}
	for b, err := range kept.Births(ctx) {
		if err != nil {
			return stages, err
		}
		sink, known := q.Config.Sink(b.Sink)
		if known && b.Target == sinks.Target(sink) && (b.Stage == state.Waiting || b.Stage == state.Filling) {
			stages[b.Sink] = b.Stage
		}
	}
	return stages, nil
}

// audited returns the sinks that keep state, by name.
func (q Request) audited(ctx context.Context) (map[string]audit.Sink, error) {
	byName := make(map[string]audit.Sink)
	if !slices.ContainsFunc(q.Config.Sinks, func(s config.Sink) bool { return s.KeepsState() }) {
		return byName, nil
	}
	opened, err := audit.Open(ctx, q.Config, q.Stores, audit.Options{AllowUnfilled: true, Extensions: q.Extensions})
	for _, s := range opened {
		byName[s.Name()] = s
	}
	return byName, err
}
