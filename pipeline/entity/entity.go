package entity

import (
	"slices"

	"github.com/tablewake/tablewake/pipeline/item"
)

// Entity is one kind of item.
type Entity struct {
	Name       string
	Key        []KeyPattern // patterns of one or two key attributes; other key attributes may have any value
	When       Condition    // condition that the item must also meet. Default: the key decides
	Unique     []string     // bound names that identify an item of the entity. Default: none
	Attributes *Shape       // shape of the declared attributes, an M. Default: any attributes

	equalPairs   []samePair // pairs of names whose values must be equal
	predecessors []*Entity  // earlier entities of the set that may match the same keys
}

// KeyPattern is the pattern of a key attribute.
type KeyPattern struct {
	Attribute string
	Pattern   *Pattern
}

// Condition is a condition on an item, such as an expression over it.
type Condition interface {
	Match(m item.Image) (bool, error)
	Paths() []string // top-level attributes that the condition reads
}

// samePair has two positions in the key that have the same name.
type samePair struct{ a, b position }

// position is the position of a name in a key. keyIndex is the index of the key attribute in Entity.Key, and nameIndex
// is the index of the name in its pattern.
type position struct{ keyIndex, nameIndex int }

// Set has the entities of a table, in the order of the file. It is safe for concurrent use.
type Set struct{ entities []*Entity }

// NewSet returns the set of es. If a key can match two entities, an item that meets the conditions of both belongs to
// the first of them.
func NewSet(es ...*Entity) *Set {
	for i, e := range es {
		e.equalPairs = e.repeatedNames()
		e.predecessors = nil
		for _, predecessor := range es[:i] {
			if Compare(predecessor, e).Overlap != Disjoint {
				e.predecessors = append(e.predecessors, predecessor)
			}
		}
	}
	return &Set{es}
}

// repeatedNames returns a pair for each repetition of a name. The pair has the first position of the name, and the
// position of the repetition.
func (e *Entity) repeatedNames() []samePair {
	firstPositions := make(map[string]position) // by name
	var pairs []samePair
	for i, k := range e.Key {
		for j, name := range k.Pattern.names {
			if first, isRepeated := firstPositions[name]; isRepeated {
				pairs = append(pairs, samePair{first, position{i, j}})
			} else {
				firstPositions[name] = position{i, j}
			}
		}
	}
	return pairs
}

// All returns the entities.
func (s *Set) All() []*Entity {
	if s == nil {
		return nil
	}
	return slices.Clone(s.entities)
}

// Named returns the entity with this name, or nil if there is none.
func (s *Set) Named(name string) *Entity {
	for _, e := range s.All() {
		if e.Name == name {
			return e
		}
	}
	return nil
}

// Of returns the entity of an item, or nil if the item belongs to no entity. m is an image of the item. If no entity
// has a condition, an image with only the key is enough. An error is the error of a condition.
func (s *Set) Of(m item.Image) (*Entity, error) {
	if s == nil {
		return nil, nil
	}
	for _, e := range s.entities {
		if !e.MatchKey(m) {
			continue
		}
		if isMet, err := e.meetsCondition(m); isMet || err != nil {
			return e, err
		}
	}
	return nil, nil
}

// Conditions returns the conditions of the entities.
func (s *Set) Conditions() []Condition {
	var cs []Condition
	for _, e := range s.All() {
		if e.When != nil {
			cs = append(cs, e.When)
		}
	}
	return cs
}

// MatchKey reports whether the patterns match the key of an item.
func (e *Entity) MatchKey(m item.Image) bool {
	for i := range e.Key {
		k := &e.Key[i]
		if v, ok := m.Get(k.Attribute); !ok || !k.Pattern.Matches(v) {
			return false
		}
	}
	for _, pair := range e.equalPairs {
		if !e.value(m, pair.a).Equal(e.value(m, pair.b)) {
			return false
		}
	}
	return true
}

// Match reports whether an item belongs to the entity. It does not if it belongs to an earlier entity of the set. An
// error is the error of a condition.
func (e *Entity) Match(m item.Image) (bool, error) {
	if !e.MatchKey(m) {
		return false, nil
	}
	for _, predecessor := range e.predecessors {
		if !predecessor.MatchKey(m) {
			continue
		}
		if isMet, err := predecessor.meetsCondition(m); isMet || err != nil { // then m is an item of the predecessor
			return false, err
		}
	}
	return e.meetsCondition(m)
}

// meetsCondition reports whether the item meets the condition.
func (e *Entity) meetsCondition(m item.Image) (bool, error) {
	if e.When == nil {
		return true, nil
	}
	return e.When.Match(m)
}

func (e *Entity) value(m item.Image, at position) item.Value {
	k := &e.Key[at.keyIndex]
	v, _ := m.Get(k.Attribute)
	return k.Pattern.value(v, at.nameIndex)
}

// Names returns the names that the key binds, each once, in order.
func (e *Entity) Names() []string {
	var names []string
	for _, k := range e.Key {
		for _, name := range k.Pattern.names {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// Predecessors returns the entities that are before e in the set and whose keys overlap with the keys of e.
// [Entity.Match] evaluates the conditions of these entities before the condition of e.
func (e *Entity) Predecessors() []*Entity { return slices.Clone(e.predecessors) }

// pattern returns the pattern of a key attribute, or nil if the entity has none.
func (e *Entity) pattern(attribute string) *Pattern {
	for _, k := range e.Key {
		if k.Attribute == attribute {
			return k.Pattern
		}
	}
	return nil
}
