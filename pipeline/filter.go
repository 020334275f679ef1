package pipeline

import (
	"cmp"
	"fmt"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Verdict is what a filter says of a change. The zero Verdict keeps it.
type Verdict struct {
	Drop   bool
	Reason string // counted when Drop is set
}

// Filter keeps or drops a change. Check is called concurrently and must be pure.
// An error is permanent: the change goes to dead letters, it is never dropped.
type Filter interface {
	Check(c *record.Change) (Verdict, error)
}

// Named is implemented by filters that have a name: it stands in explanations,
// in errors, and in place of a drop's reason that is empty.
type Named interface {
	Name() string
}

// FilterFunc makes a function a Filter.
type FilterFunc func(c *record.Change) (Verdict, error)

// Check calls f.
func (f FilterFunc) Check(c *record.Change) (Verdict, error) { return f(c) }

// Condition is a pure question about a change, for building filters.
type Condition interface {
	Match(c *record.Change) (bool, error)
}

// ConditionFunc makes a function a Condition.
type ConditionFunc func(c *record.Change) (bool, error)

// Match calls f.
func (f ConditionFunc) Match(c *record.Change) (bool, error) { return f(c) }

// ItemCondition is a pure question about an item, asked of its old image and of its new one.
type ItemCondition interface {
	Match(item item.Image) (bool, error)
}

// ItemConditionFunc makes a function an ItemCondition.
type ItemConditionFunc func(item item.Image) (bool, error)

// Match calls f.
func (f ItemConditionFunc) Match(item item.Image) (bool, error) { return f(item) }

// filterStage is a Filter of the pipeline and what it is called.
type filterStage struct {
	Filter
	name  string
	stage string // for errors: `filter "large"`
}

func (f *filterStage) check(c *record.Change) (v Verdict, err error) {
	defer func() {
		if r := recover(); r != nil {
			v, err = Verdict{}, recovered(f.stage, r)
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

// nameFilters gives each filter the name it is counted and shown by. of is empty
// for those of the source, else ` of route "orders"`.
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

// runFilters asks the filters in order, up to the first that drops or fails.
// trace, where given, gets what each said.
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
