package pipeline

import (
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
