package rules

import (
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// KeyReader is implemented by conditions and filters that may read only the key. If they read nothing else, all changes
// of an item have the same result. Only such a filter is allowed before a sink that keeps state. Any other filter could
// keep the first change of an item and drop its removal, and the sink would keep the item.
type KeyReader interface {
	KeysOnly() bool // true if the condition reads nothing but the key
}

// ReadsKeysOnly reports whether x, a condition or a filter, is a [KeyReader] that reads nothing but the key.
func ReadsKeysOnly(x any) bool {
	k, ok := x.(KeyReader)
	return ok && k.KeysOnly()
}

// All is true if all conditions are true. It evaluates the conditions in order, up to the first that is false or fails.
// Without conditions it is true.
func All(cs ...pipeline.Condition) pipeline.Condition { return all(cs) }

// Any is true if one of the conditions is true. It evaluates the conditions in order, up to the first that is true or
// fails. Without conditions it is false.
func Any(cs ...pipeline.Condition) pipeline.Condition { return anyOf(cs) }

// Not is true if c is false.
func Not(c pipeline.Condition) pipeline.Condition { return not{c} }

type (
	all   []pipeline.Condition
	anyOf []pipeline.Condition
	not   struct{ pipeline.Condition }
)

// Match evaluates the parts.
func (cs all) Match(c *record.Change) (bool, error) {
	for _, part := range cs {
		if ok, err := part.Match(c); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// Match evaluates the parts.
func (cs anyOf) Match(c *record.Change) (bool, error) {
	for _, part := range cs {
		ok, err := part.Match(c)
		if err != nil {
			return false, err
		}
		if ok {
			return true, nil
		}
	}
	return false, nil
}

// Match evaluates the part.
func (n not) Match(c *record.Change) (bool, error) {
	ok, err := n.Condition.Match(c)
	if err != nil {
		return false, err
	}
	return !ok, nil
}

// Requires merges the needs of the parts.
func (cs all) Requires() pipeline.Needs { return mergeNeeds(cs...) }

// Requires merges the needs of the parts.
func (cs anyOf) Requires() pipeline.Needs { return mergeNeeds(cs...) }

// Requires returns the needs of the part.
func (n not) Requires() pipeline.Needs { return mergeNeeds(n.Condition) }

// KeysOnly reports whether all parts read nothing but the key.
func (cs all) KeysOnly() bool { return keysOnly(cs) }

// KeysOnly reports whether all parts read nothing but the key.
func (cs anyOf) KeysOnly() bool { return keysOnly(cs) }

// KeysOnly reports whether the part reads nothing but the key.
func (n not) KeysOnly() bool { return ReadsKeysOnly(n.Condition) }

func keysOnly(cs []pipeline.Condition) bool {
	for _, c := range cs {
		if !ReadsKeysOnly(c) {
			return false
		}
	}
	return true
}

// mergeNeeds merges the needs of its arguments. An argument that is not a [pipeline.Requirer] needs nothing.
func mergeNeeds[T any](xs ...T) (n pipeline.Needs) {
	for _, x := range xs {
		if r, ok := any(x).(pipeline.Requirer); ok {
			m := r.Requires()
			n.Old = n.Old || m.Old
			n.New = n.New || m.New
		}
	}
	return n
}
