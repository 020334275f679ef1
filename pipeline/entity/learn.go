package entity

import (
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/item"
)

// maxLearned is the most names that a map has attributes for. A map with more has values of items as names, such as dates or
// ids, and any name can be in it.
const maxLearned = 200

// Learn returns the shape that has everything that s has, and the value. A nil s has nothing. Where values have several types,
// the shape has any type.
func (s *Shape) Learn(v item.Value) *Shape {
	kind := v.Kind()
	if s == nil {
		s = &Shape{Kind: kind}
	}
	switch {
	case kind == item.KindNULL || s.Kind == item.Absent:
		return s
	case s.Kind == item.KindNULL:
		s = &Shape{Kind: kind}
	case s.Kind != kind:
		return &Shape{Kind: item.Absent}
	}
	switch kind {
	case item.KindM:
		for name, inside := range v.Members() {
			s.learnMember(name, inside)
		}
	case item.KindL:
		for _, inside := range v.Elements() {
			s.Elem = s.Elem.Learn(inside)
		}
	}
	return s
}

// learnMember learns a member of an M.
func (s *Shape) learnMember(name string, v item.Value) {
	if len(s.Members) > maxLearned {
		return
	}
	i := slices.IndexFunc(s.Members, func(m Member) bool { return m.Name == name })
	if i < 0 {
		s.Members = append(s.Members, Member{strings.Clone(name), (*Shape)(nil).Learn(v)})
		return
	}
	s.Members[i].Shape = s.Members[i].Shape.Learn(v)
}

// Settled returns the shape for a configuration. A map with more than maxLearned names may have any names, and a list with
// elements of several types may have any elements. A settled shape must not learn more values.
func (s *Shape) Settled() *Shape {
	out := &Shape{Kind: s.Kind}
	if len(s.Members) <= maxLearned {
		for _, m := range s.Members {
			out.Members = append(out.Members, Member{m.Name, m.Shape.Settled()})
		}
	}
	if s.Elem != nil && s.Elem.Kind != item.Absent {
		out.Elem = s.Elem.Settled()
	}
	return out
}
