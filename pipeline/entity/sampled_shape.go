package entity

import (
	"maps"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/item"
)

const (
	maxSampled = 10_000 // maximum number of names of a map that are counted
	// maxDeclared is the maximum number of names of a map that a shape declares. If a map has more names, the names are
	// data, such as dates or ids.
	maxDeclared = 200
)

// Sampled counts the values at one path of a sample, by kind (type). The zero Sampled has no values.
type Sampled struct {
	Kinds   map[item.Kind]int
	Members map[string]*Sampled // the members of all values of kind M together, by name
	Elem    *Sampled            // the elements of all values of kind L together; nil if there are none
}

// Add adds a value.
func (s *Sampled) Add(v item.Value) {
	if s.Kinds == nil {
		s.Kinds = make(map[item.Kind]int)
	}
	s.Kinds[v.Kind()]++
	switch v.Kind() {
	case item.KindM:
		for name, inside := range v.Members() {
			s.addMember(name, inside)
		}
	case item.KindL:
		for _, inside := range v.Elements() {
			if s.Elem == nil {
				s.Elem = &Sampled{}
			}
			s.Elem.Add(inside)
		}
	}
}

func (s *Sampled) addMember(name string, v item.Value) {
	m := s.Members[name]
	if m == nil {
		if len(s.Members) >= maxSampled {
			return
		}
		if s.Members == nil {
			s.Members = make(map[string]*Sampled)
		}
		m = &Sampled{}
		s.Members[strings.Clone(name)] = m
	}
	m.Add(v)
}

// Count returns the number of values that were added.
func (s *Sampled) Count() int {
	n := 0
	for _, count := range s.Kinds {
		n += count
	}
	return n
}

// Kind returns the kind of the values that are not NULL. It returns NULL if all values are NULL, and Absent if the
// values have several kinds.
func (s *Sampled) Kind() item.Kind {
	found := item.KindNULL
	for kind := range s.Kinds {
		switch {
		case kind == item.KindNULL:
		case found != item.KindNULL:
			return item.Absent
		default:
			found = kind
		}
	}
	return found
}

// Shape returns a shape that all values have. The shape of a map with more than maxDeclared names allows any names. The
// shape of a list whose elements have several kinds allows any elements.
func (s *Sampled) Shape() *Shape {
	shape := &Shape{Kind: s.Kind()}
	switch {
	case shape.Kind == item.KindM && len(s.Members) <= maxDeclared:
		for _, name := range slices.Sorted(maps.Keys(s.Members)) {
			shape.Members = append(shape.Members, Member{name, s.Members[name].Shape()})
		}
	case shape.Kind == item.KindL && s.Elem != nil && s.Elem.Kind() != item.Absent:
		shape.Elem = s.Elem.Shape()
	}
	return shape
}
