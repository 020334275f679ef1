package pipeline

import (
	"cmp"
	"fmt"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Verdict is the result of a filter for a change. The zero Verdict keeps the change.
type Verdict struct {
	Drop   bool
	Reason string // the ledger counts dropped changes by reason
}

// Filter keeps or drops a change. Check is called concurrently and must be pure. An error is permanent: the change goes
// to dead letters and is never dropped.
type Filter interface {
	Check(c *record.Change) (Verdict, error)
}

// Named is implemented by filters with a name. Explanations and errors show the name. A Verdict that drops a change
// with an empty Reason gets the name as its reason.
type Named interface {
	Name() string
}

// FilterFunc adapts a function to a Filter.
type FilterFunc func(c *record.Change) (Verdict, error)

// Check calls f.
func (f FilterFunc) Check(c *record.Change) (Verdict, error) { return f(c) }

// Condition tests a change; filters are built of conditions. Match must be pure.
type Condition interface {
	Match(c *record.Change) (bool, error)
}

// ConditionFunc adapts a function to a Condition.
type ConditionFunc func(c *record.Change) (bool, error)

// Match calls f.
func (f ConditionFunc) Match(c *record.Change) (bool, error) { return f(c) }

// ItemCondition tests an image of an item, old or new. Match must be pure.
type ItemCondition interface {
	Match(item item.Image) (bool, error)
}

// SplitCondition returns the condition as one of its results, and nil as the other: as ofElement if the condition reads
// an element (see [ElementCondition]), otherwise as ofItem.
func SplitCondition(when ItemCondition) (ofItem ItemCondition, ofElement ElementCondition) {
	element, ok := when.(ElementCondition)
	if ok && element.ReadsElement() {
		return nil, element
	}
	return when, nil
}

// ElementCondition is an [ItemCondition] that can also read an element of the item. An element is a part of an item
// that for_each gives an entry of its own. The methods must be pure. Match tests the item without an element.
type ElementCondition interface {
	ItemCondition

	// ReadsElement reports whether MatchElement depends on the element.
	ReadsElement() bool

	// MatchElement tests one element of an image of an item.
	MatchElement(item item.Image, element item.Value) (bool, error)
}

// ItemConditionFunc adapts a function to an ItemCondition.
type ItemConditionFunc func(item item.Image) (bool, error)

// Match calls f.
func (f ItemConditionFunc) Match(item item.Image) (bool, error) { return f(item) }

// filterStage is a Filter with its name. In the texts of errors, stage names the filter.
type filterStage struct {
	Filter
	name  string
	stage string // for errors: `filter "large"`
}

func (f *filterStage) check(c *record.Change) (v Verdict, err error) {
	defer func() {
		if r := recover(); r != nil {
			v, err = Verdict{}, panicError(f.stage, r)
		}
	}()
	v, err = f.Check(c)
	if err != nil {
		return Verdict{}, fmt.Errorf("%s: %w", f.stage, err)
	}
	if !v.Drop {
		return Verdict{}, nil
	}
	v.Reason = cmp.Or(v.Reason, f.name)
	return v, nil
}

// nameFilters names filters for counts and errors. suffix is appended to the name in errors. It is empty for the
// filters of the source. For the filters of a route it is, for example, ` of route "orders"`.
func nameFilters(fs []Filter, suffix string) []filterStage {
	named := make([]filterStage, len(fs))
	for i, f := range fs {
		name := fmt.Sprintf("filter_%d", i+1)
		if n, ok := f.(Named); ok {
			name = cmp.Or(n.Name(), name)
		}
		named[i] = filterStage{f, name, fmt.Sprintf("filter %q", name) + suffix}
	}
	return named
}

// runFilters runs filters in order, until one drops the change or fails. If trace is not nil, runFilters appends the
// result of each filter to it.
func runFilters(fs []filterStage, c *record.Change, trace *[]FilterTrace) (Verdict, error) {
	for i := range fs {
		v, err := fs[i].check(c)
		if trace != nil {
			*trace = append(*trace, FilterTrace{Verdict: v, Err: err, Name: fs[i].name})
		}
		if err != nil || v.Drop {
			return v, err
		}
	}
	return Verdict{}, nil
}
