package rules

import (
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// KeyReader is implemented by conditions and filters that can promise to judge
// every change of an item alike, because they read nothing but its key. Only
// such a filter may stand above a sink that keeps state: any other could let an
// item in and then drop the change that takes it out.
type KeyReader interface {
	KeysOnly() bool
}

// ReadsKeysOnly tells whether x, a condition or a filter, is a [KeyReader] that promises it.
func ReadsKeysOnly(x any) bool {
	k, ok := x.(KeyReader)
	return ok && k.KeysOnly()
}

// All is true when every one of cs is; it asks them in order, up to the first
// that is false or fails. All() is true.
func All(cs ...pipeline.Condition) pipeline.Condition { return all(cs) }

// Any is true when one of cs is; it asks them in order, up to the first that is
// true or fails. Any() is false.
func Any(cs ...pipeline.Condition) pipeline.Condition { return anyOf(cs) }

// Not is true when c is false.
func Not(c pipeline.Condition) pipeline.Condition { return not{c} }

type (
	all   []pipeline.Condition
	anyOf []pipeline.Condition
	not   struct{ pipeline.Condition }
)

// Match asks the parts.
func (cs all) Match(c *record.Change) (bool, error) {
	for _, part := range cs {
		if ok, err := part.Match(c); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// Match asks the parts.
func (cs anyOf) Match(c *record.Change) (bool, error) {
	for _, part := range cs {
		if ok, err := part.Match(c); ok || err != nil {
			return err == nil, err
		}
	}
	return false, nil
}

// Match asks the part.
func (n not) Match(c *record.Change) (bool, error) {
	ok, err := n.Condition.Match(c)
	return !ok && err == nil, err
}

// Requires is what any of the parts needs.
func (cs all) Requires() pipeline.Needs { return needs(cs...) }

// Requires is what any of the parts needs.
func (cs anyOf) Requires() pipeline.Needs { return needs(cs...) }

// Requires is what the part needs.
func (n not) Requires() pipeline.Needs { return needs(n.Condition) }

// KeysOnly is true when it is of every part.
func (cs all) KeysOnly() bool { return keysOnly(cs) }

// KeysOnly is true when it is of every part.
func (cs anyOf) KeysOnly() bool { return keysOnly(cs) }

// KeysOnly is what the part says.
func (n not) KeysOnly() bool { return ReadsKeysOnly(n.Condition) }

func keysOnly(cs []pipeline.Condition) bool {
	for _, c := range cs {
		if !ReadsKeysOnly(c) {
			return false
		}
	}
	return true
}

// needs merges what its arguments need; one that is no [pipeline.Requirer] needs nothing.
func needs[T any](xs ...T) (n pipeline.Needs) {
	for _, x := range xs {
		if r, ok := any(x).(pipeline.Requirer); ok {
			m := r.Requires()
			n.Old = n.Old || m.Old
			n.New = n.New || m.New
		}
	}
	return n
}
