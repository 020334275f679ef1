package pushdown

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/rules"
)

// Limits of Lambda (Developer Guide, "Control which events Lambda sends to your function"; CloudFormation,
// AWS::Lambda::EventSourceMapping Filter).
const (
	DefaultLimit = 5    // patterns of a FilterCriteria
	MaxLimit     = 10   // with a raised quota
	maxLength    = 4096 // characters of a pattern
)

// Options are the options of a [Plan].
type Options struct {
	// MatchUserIdentity lets patterns use userIdentity, which distinguishes TTL deletes from other deletes. Default:
	// false. Lambda's documentation names the field, but no test here proves that a filter sees it.
	MatchUserIdentity bool
	// Limit is the number of patterns that the event source mapping may have. Default: [DefaultLimit]
	Limit int
	// FunctionEntities has the names of the entities whose changes go to Go functions (sinks.OnEntities). The
	// configuration file does not name these functions. The part about the sinks lets every record pass whose key
	// belongs to one of these entities. Default: none
	FunctionEntities []string
}

// Plan has the patterns for Lambda.
type Plan struct {
	Patterns []string // JSON, in order. A record passes if it matches one of them. Empty: Lambda can drop no record
	Parts    []Part   // the parts of the configuration that drop changes, in order
}

// Part is a part of the configuration that drops changes. It says how much of this Lambda can do.
type Part struct {
	What   string // such as: filter "keep_op", or: what the sinks take
	Line   int    // line in the file; 0 if the part has several lines
	Pushed Extent
	Left   []string // reasons why the part is not pushed down, or only in part
}

// Extent says how much of a part is pushed down.
type Extent uint8

// The extents.
const (
	NotAtAll Extent = iota
	Partly          // Lambda lets more records pass than the function keeps
	Whole           // Lambda drops what the function would drop, except records without both images or a known operation
)

// String returns "not", "in part" or "whole".
func (e Extent) String() string { return [...]string{"not", "in part", "whole"}[e] }

// New plans the patterns of a configuration. It fails if o.Limit is out of range.
func New(cfg *config.Config, o Options) (Plan, error) {
	limit := cmp.Or(o.Limit, DefaultLimit)
	if limit < 1 || limit > MaxLimit {
		return Plan{}, fmt.Errorf("a limit of %d patterns: Lambda takes 1 to %d", limit, MaxLimit)
	}
	w := planner{identity: o.MatchUserIdentity, limit: limit, needed: anything}
	if cfg.Source.Kinesis != "" {
		w.parts = []Part{{What: "every filter", Line: cfg.Source.Line,
			Left: []string{"Lambda drops records of a Kinesis stream that are no JSON as soon as it has a filter: they would be lost instead of dead-lettered"}}}
		return w.makePlan(), nil
	}
	for i, f := range cfg.Filters {
		kept := keptBy(f.Filter)
		t := w.newTranslator()
		w.add(Part{What: filterName(f), Line: f.Line}, t, t.condition(kept, false))
		if canFail(kept) {
			w.leaveParts(cfg.Filters[i+1:], filterName(f)+" before it can fail on a record, which then goes to dead letters")
			return w.makePlan(), nil
		}
	}
	var scopes []*entity.Scope
	for _, name := range o.FunctionEntities {
		scope, err := cfg.ScopeOf(name)
		if err != nil {
			return Plan{}, err
		}
		scopes = append(scopes, scope)
	}
	t := w.newTranslator()
	w.add(Part{What: sinksPart}, t, t.sinks(cfg, scopes))
	return w.makePlan(), nil
}

// sinksPart names the part with the sinks' own filters, `when` and kinds.
const sinksPart = "what the sinks take"

func filterName(f config.Filter) string { return fmt.Sprintf("filter %q", f.Name) }

// keptBy returns the condition that is true for the changes that a filter keeps.
func keptBy(f pipeline.Filter) pipeline.Condition {
	if c, ok := rules.KeptCondition(f); ok {
		return c
	}
	return pipeline.ConditionFunc(func(c *record.Change) (bool, error) { // this condition cannot be translated
		v, err := f.Check(c)
		return !v.Drop, err
	})
}

// planner adds the parts of the configuration one after the other. Each part narrows which records pass. The planner
// skips a part whose patterns Lambda would not allow.
type planner struct {
	identity bool
	limit    int
	needed   alternatives
	images   bool // a part of needed reads images
	parts    []Part
}

func (w *planner) newTranslator() *translator { return &translator{identity: w.identity} }

// add adds a part of the configuration. c has the patterns of the records that the part keeps, and t is the translator
// that made them.
func (w *planner) add(part Part, t *translator, c alternatives) {
	both, images := t.intersection(w.needed, c), w.images || t.images
	patterns := renderPatterns(both, images)
	isAnyTooLong := slices.ContainsFunc(patterns, func(p string) bool { return len(p) > maxLength })
	part.Left = slices.Sorted(maps.Keys(t.reasons))
	switch {
	case c.matchesAll(): // the part narrows nothing
	case len(both) == 0:
		part.Left = append(part.Left, "no record would pass, which no pattern can say")
	case len(patterns) > w.limit || isAnyTooLong:
		part.Left = append(part.Left,
			fmt.Sprintf("the patterns would be %d, or longer than %d characters; an event source mapping takes %d",
				len(patterns), maxLength, w.limit))
	case len(part.Left) > 0:
		w.needed, w.images, part.Pushed = both, images, Partly
	default:
		w.needed, w.images, part.Pushed = both, images, Whole
	}
	w.parts = append(w.parts, part)
}

// leaveParts adds the remaining filters and the sinks as parts that are not pushed down.
func (w *planner) leaveParts(filters []config.Filter, reason string) {
	for _, f := range filters {
		w.parts = append(w.parts, Part{What: filterName(f), Line: f.Line, Left: []string{reason}})
	}
	w.parts = append(w.parts, Part{What: sinksPart, Left: []string{reason}})
}

func (w *planner) makePlan() Plan {
	return Plan{Patterns: renderPatterns(w.needed, w.images), Parts: w.parts}
}

// OtherViewType is a pattern that is added if another pattern reads an image. It lets records of a stream without both
// images pass, so that the function can refuse the stream.
var OtherViewType = pattern{viewType: noneOf("NEW_AND_OLD_IMAGES")}.String()

// OtherOperation is a pattern that is added if another pattern reads an image. It lets records of unknown operations
// pass. They may have no image, and belong in dead letters.
var OtherOperation = pattern{eventName: anyBut("INSERT", "MODIFY", "REMOVE")}.String()

// renderPatterns returns the patterns as JSON. images means that a translated condition reads images. It may be set
// even if no pattern of c reads an image.
func renderPatterns(c alternatives, images bool) []string {
	if c.matchesAll() {
		return nil
	}
	var patterns []string
	for _, p := range c {
		patterns = append(patterns, p.String())
	}
	if images {
		patterns = append(patterns, OtherViewType, OtherOperation)
	}
	return patterns
}
