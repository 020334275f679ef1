package mask

import (
	"iter"
	"slices"

	"github.com/tablewake/tablewake/pipeline/item"
)

// maskState is the state of a mask at one path of an item. The mask walks from the item to a value, and each step to a
// member or an element makes a new state.
type maskState struct {
	isItem             bool             // the value is the item itself
	hidden             bool             // the value is hidden, except for its allowed parts
	sensitive, allowed [][]item.Segment // remaining segments of the patterns that match the path so far
}

// isClear reports whether neither the value nor anything inside it is hidden.
func (s maskState) isClear() bool { return !s.hidden && len(s.sensitive) == 0 }

// member returns the state at a member.
func (s maskState) member(name string) maskState { return s.step(item.Segment{Name: name, Index: -1}) }

// element returns the state at element i of a list.
func (s maskState) element(i int) maskState { return s.step(item.Segment{Index: i}) }

// step returns the state after a step to a member or an element.
func (s maskState) step(segment item.Segment) maskState {
	if s.isClear() {
		return maskState{}
	}
	remaining, isSensitive := s.advance(s.sensitive, segment)
	next := maskState{hidden: s.hidden || isSensitive, sensitive: remaining}
	if len(s.allowed) == 0 || next.isClear() {
		return next
	}
	allowed, isAllowed := s.advance(s.allowed, segment)
	if isAllowed {
		return maskState{}
	}
	next.allowed = allowed
	return next
}

// advance returns the patterns whose first segment matches segment, without this first segment. ended reports whether
// one of them has no other segment, so that it matches the value after the step.
func (s maskState) advance(patterns [][]item.Segment, segment item.Segment) (remaining [][]item.Segment, ended bool) {
	matches := overlap
	if s.isItem {
		matches = matchesAttribute
	}
	for _, p := range patterns {
		if !matches(p[0], segment) {
			continue
		}
		if len(p) == 1 {
			ended = true
		} else {
			remaining = append(remaining, p[1:])
		}
	}
	return remaining, ended
}

// matchesAttribute reports whether the first segment p of a pattern matches an attribute of the item. The wildcard *
// does not match the attributes that global tables add.
func matchesAttribute(p, attribute item.Segment) bool {
	isIgnored := p.Wild == item.AnyMember && item.Replicated(attribute.Name)
	return !isIgnored && overlap(p, attribute)
}

// maskAction is what a mask does with a value.
type maskAction uint8

const (
	show     maskAction = iota // the whole value is shown
	hide                       // the whole value is hidden
	goInside                   // some members or elements may be hidden, others not
)

// action returns what the mask does with v in the state s.
func (s maskState) action(v item.Value) maskAction {
	switch {
	case s.isClear() || v.Kind() == item.Absent:
		return show
	case s.hidden && len(s.allowed) == 0:
		return hide
	case v.Kind() == item.KindM || v.Kind() == item.KindL:
		return goInside
	case anyElements(s.allowed): // v is a set, a member of one, or another scalar
		return show
	case s.hidden || anyElements(s.sensitive):
		return hide
	}
	return show
}

// anyElements reports whether one of the patterns continues with a list element.
func anyElements(patterns [][]item.Segment) bool {
	return slices.ContainsFunc(patterns, func(p []item.Segment) bool { return p[0].IsElement() })
}

// hidesIn reports whether any part of v is hidden.
func (s maskState) hidesIn(v item.Value) bool {
	if a := s.action(v); a != goInside {
		return a == hide
	}
	for name, e := range v.Members() { // no members unless v is an M
		if s.member(name).hidesIn(e) {
			return true
		}
	}
	for i, e := range v.Elements() { // no elements if v is an M
		if s.element(i).hidesIn(e) {
			return true
		}
	}
	return false
}

// hidesIn reports whether any part of the image is hidden.
func (m *Mask) hidesIn(image item.Image) bool {
	if m == nil {
		return false
	}
	for name, v := range image.All() {
		if m.hidesInAttribute(name, v) {
			return true
		}
	}
	return false
}

// hidesInAttribute reports whether any part of an attribute is hidden. If no pattern matches, as for most attributes,
// it allocates nothing.
func (m *Mask) hidesInAttribute(name string, v item.Value) bool {
	segment := item.Segment{Name: name, Index: -1}
	for _, p := range m.root.sensitive {
		if matchesAttribute(p[0], segment) && hasMatch(p[1:], v) {
			return len(m.allowed) == 0 || m.root.step(segment).hidesIn(v)
		}
	}
	return false
}

// hasMatch reports whether a pattern matches v or a value inside v. p has the segments of the pattern after the path of
// v.
func hasMatch(p []item.Segment, v item.Value) bool {
	if len(p) == 0 {
		return v.Exists()
	}
	next, rest := p[0], p[1:]
	switch kind := v.Kind(); {
	case kind == item.KindM && next.Wild == item.AnyMember:
		return anyMatch(rest, v.Members())
	case kind == item.KindM && isMember(next):
		e, ok := v.Get(next.Name)
		return ok && hasMatch(rest, e)
	case kind == item.KindL && next.Wild == item.AnyElement:
		return anyMatch(rest, v.Elements())
	case kind == item.KindL && next.IsElement():
		e, ok := v.Index(next.Index)
		return ok && hasMatch(rest, e)
	case kind == item.KindM, kind == item.KindL, kind == item.Absent:
		return false
	}
	return next.IsElement() // v is a set, or a member of one
}

// anyMatch reports whether hasMatch is true for one of the values.
func anyMatch[K any](p []item.Segment, values iter.Seq2[K, item.Value]) bool {
	for _, v := range values {
		if hasMatch(p, v) {
			return true
		}
	}
	return false
}

// patternReaches reports whether the pattern matches the path of v, a prefix of the path, or a path inside v.
func patternReaches(pattern []item.Segment, path item.Path, v item.Value) bool {
	segments := path.Segments()
	for i := range min(len(segments), len(pattern)) {
		matches := overlap
		if i == 0 {
			matches = matchesAttribute
		}
		if !matches(pattern[i], segments[i]) {
			return false
		}
	}
	return len(segments) >= len(pattern) || hasMatch(pattern[len(segments):], v)
}

// mayHide reports whether the mask may hide a value that the pattern matches, or a value inside it. It returns false if
// one of the allowed patterns includes all paths that the pattern matches.
func (s maskState) mayHide(pattern []item.Segment) bool {
	for _, a := range s.allowed {
		if includes(a, pattern) {
			return false
		}
	}
	return slices.ContainsFunc(s.sensitive, func(p []item.Segment) bool { return prefixesOverlap(p, pattern) })
}

// prefixesOverlap reports whether a path that one of the patterns matches is a prefix of a path that the other matches.
func prefixesOverlap(p, q []item.Segment) bool {
	for i := range min(len(p), len(q)) {
		if !overlap(p[i], q[i]) {
			return false
		}
	}
	return true
}

// overlap reports whether some member or element matches both segments.
func overlap(p, q item.Segment) bool {
	if p.Wild == item.NoWildcard && q.Wild == item.NoWildcard {
		return p.Index == q.Index && p.Name == q.Name
	}
	return isMember(p) && isMember(q) || p.IsElement() && q.IsElement()
}

// isMember reports whether a segment matches members of a map.
func isMember(p item.Segment) bool {
	return p.Wild == item.AnyMember || p.Wild == item.NoWildcard && p.Index < 0
}

// includes reports whether, for every path that q matches, p matches the path or a prefix of the path.
func includes(p, q []item.Segment) bool {
	if len(p) > len(q) {
		return false
	}
	for i := range p {
		isNarrower := p[i].Wild == item.NoWildcard && q[i].Wild != item.NoWildcard
		if isNarrower || !overlap(p[i], q[i]) {
			return false
		}
	}
	return true
}
