// Package why is the command why. It compares an item of the source table with what all sinks have stored for it.
//
// The pipeline plans the expected contents for the item. Package audit compares the plans with the actual contents:
// rows, documents, tombstones, guards and contributions. [Compare] adds the dead letters. Read why.go first, then
// sink_comparison.go. item_finder.go finds the item, and item_dead_letters.go finds its dead letters.
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
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/audit"
	"github.com/tablewake/tablewake/sinks/state"
)

// Request is the input of [Compare].
type Request struct {
	Config *config.Config
	Stores sinks.Stores // the stores, which are only read

	Mask   *mask.Mask // masks sensitive attributes in the result
	Item   audit.ItemState
	Source string // where the item was read

	Extensions []sinks.Extension // Go code that the program adds. Default: none
}

// Comparison is the result for one item, and the output of `why -o json`.
type Comparison struct {
	Key       item.Key             `json:"key"`
	From      string               `json:"from"`     // where the item was read
	Compared  bool                 `json:"compared"` // false: the expected contents are unknown, so nothing is compared
	There     bool                 `json:"there"`
	Version   string               `json:"version,omitempty"`
	Dropped   string               `json:"dropped_by,omitempty"` // the source filter that drops the item; "": none
	Differing int                  `json:"differing"`            // number of findings with a problem
	Sinks     []Sink               `json:"sinks"`
	Letters   []letters.LetterJSON `json:"dead_letters"` // in the order in which they were stored

	attributes int                   // number of attributes that the item has
	letters    []pipeline.DeadLetter // the same letters, masked, for people
}

// Sink is the result for one sink.
type Sink struct {
	Name string `json:"sink"`
	Kind string `json:"kind"` // view, aggregate, search, archive, notify or custom
	// Note says why the sink was not compared, or what was not compared; "": everything was
	Note             string     `json:"says,omitempty"`
	QuarantinedSince *time.Time `json:"quarantined_since,omitempty"` // nil: the item's key is not quarantined
	Findings         []Finding  `json:"places,omitempty"`
}

// Finding is the result for one entry of the item in a sink, such as a row, a document or a guard. The entry exists or
// should exist.
type Finding struct {
	Kind    string   `json:"kind"`  // row, guard, claim, contribution, group or document
	Where   string   `json:"where"` // where the entry is: key of the row, or index and id of the document
	Found   string   `json:"found"` // describes the actual contents
	Version string   `json:"version,omitempty"`
	Verdict Verdict  `json:"verdict,omitempty"`
	Differs []string `json:"differs,omitempty"` // the attributes that differ, or a line for each difference
}

// Verdict is the result of a comparison.
type Verdict string

// The verdicts.
const (
	Same     Verdict = "same"
	Missing  Verdict = "missing"  // the entry should exist, and does not
	Differs  Verdict = "differs"  // the entry exists with other contents
	Leftover Verdict = "leftover" // the entry exists, and should not
	Taken    Verdict = "taken"    // another item owns the row, and this item should own it
	Waits    Verdict = "waits"    // another item rightly owns the row, and this item waits
	Gone     Verdict = "gone"     // the entry does not exist, which is correct
	Info     Verdict = ""         // the entry is only shown, not compared
)

func (v Verdict) isProblem() bool { return v == Missing || v == Differs || v == Leftover || v == Taken }

// Compare compares the item with each sink. If a sink cannot be read, the error names the sink.
func Compare(ctx context.Context, q Request) (Comparison, error) {
	p, err := sinks.Assemble(ctx, q.Config, sinks.PlanOnly(), sinks.WithExtensions(q.Extensions...),
		sinks.HoldCustom("why"), sinks.SuppressEvents("why"))
	if err != nil {
		return Comparison{}, err
	}
	item := &q.Item.Change
	result := Comparison{
		Key: q.Mask.Key(item), From: q.Source, Compared: q.Item.Evidence != audit.NoEvidence,
		There: item.New.Exists(), attributes: item.New.Len(), Sinks: []Sink{}, Letters: []letters.LetterJSON{},
	}
	if q.Item.Evidence == audit.LastRecord {
		result.Version = versionText(item.Version)
	}
	explanation := p.Explain(item)
	drops := func(f pipeline.FilterTrace) bool { return f.Verdict.Drop }
	if i := slices.IndexFunc(explanation.Filters, drops); i >= 0 {
		result.Dropped = explanation.Filters[i].Name
		return result, nil
	}
	if result.Sinks, err = q.compareSinks(ctx, explanation.Routes); err != nil {
		return result, err
	}
	for i := range result.Sinks {
		result.Differing += result.Sinks[i].countProblems()
	}
	if result.letters, err = q.letters(ctx); err != nil {
		return result, err
	}
	for i, l := range result.letters {
		result.letters[i] = letters.Mask(q.Mask, l)
		result.Letters = append(result.Letters, letters.NewLetterJSON(result.letters[i]))
	}
	return result, nil
}

// countProblems returns the number of findings with a problem.
func (s *Sink) countProblems() (n int) {
	for _, f := range s.Findings {
		if f.Verdict.isProblem() {
			n++
		}
	}
	return n
}

// compareSinks compares the item with each sink. plans are the plans of the pipeline for the item, by sink.
func (q Request) compareSinks(ctx context.Context, plans []pipeline.RouteTrace) ([]Sink, error) {
	results := []Sink{}
	marks, err := q.marks(ctx)
	if err != nil {
		return results, err
	}
	audited, err := q.audited(ctx)
	if err != nil {
		return results, err
	}
	stages, err := q.unfilledStages(ctx)
	if err != nil {
		return results, err
	}
	isKnown := q.Item.Evidence != audit.NoEvidence
	for i, s := range q.Config.Sinks {
		sink := Sink{Name: s.Name}
		if mark, ok := marks[s.Name]; ok {
			sink.QuarantinedSince = &mark.Since
		}
		if err := compareSink(ctx, q.Item, s, audited[s.Name], plans[i], &sink); err != nil {
			return results, fmt.Errorf("%s: %w", s.Name, err)
		}
		stage, isUnfilled := stages[s.Name]
		switch {
		case isUnfilled:
			sink.Note = fmt.Sprintf("is %s: %s", stage, stage.FillHint(s.Name))
		case !isKnown && s.KeepsState() && len(sink.Findings) == 0:
			sink.Note = "no record of the item was read: its places are unknown"
		}
		if isUnfilled || !isKnown {
			sink.removeVerdicts()
		}
		results = append(results, sink)
	}
	return results, nil
}

// removeVerdicts removes the verdicts, so that all findings are only shown.
func (s *Sink) removeVerdicts() {
	for i := range s.Findings {
		s.Findings[i].Verdict, s.Findings[i].Differs = Info, nil
	}
}

// unfilledStages returns the stages of the sinks that are not filled yet: they wait for a backfill, or it is filling
// them. The keys are names of sinks. A missing entry in such a sink is not a difference.
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
		sink, isConfigured := q.Config.Sink(b.Sink)
		isUnfilled := b.Stage == state.Waiting || b.Stage == state.Filling
		if isConfigured && isUnfilled && b.Target == sinks.Target(sink) {
			stages[b.Sink] = b.Stage
		}
	}
	return stages, nil
}

// audited returns the sinks that keep state, so that they can be compared. The keys are names of sinks.
func (q Request) audited(ctx context.Context) (map[string]audit.Sink, error) {
	byName := make(map[string]audit.Sink)
	if !slices.ContainsFunc(q.Config.Sinks, func(s config.Sink) bool { return s.KeepsState() }) {
		return byName, nil
	}
	opened, err := audit.Open(ctx, q.Config, q.Stores,
		audit.Options{AllowUnfilled: true, Extensions: q.Extensions})
	for _, s := range opened {
		byName[s.Name()] = s
	}
	return byName, err
}
