package mask

import (
	"github.com/tablewake/tablewake/pipeline/item"
	"slices"
)

// maskState is the state of a mask at one path of an item. The mask walks from the item to a value, and each step to a
// member or an element makes a new state.
type maskState struct {
	hidden             bool             // the value is hidden, except for its allowed parts
	sensitive, allowed [][]item.Segment // remaining segments of the patterns that match the path so far
}

// isClear reports whether neither the value nor anything inside it is hidden.
func (s maskState) isClear() bool { return !s.hidden && len(s.sensitive) == 0 }

// member returns the state at a member. top means that the member is an attribute of the item.
func (s maskState) member(name string, top bool) maskState {
	return s.step(item.Segment{Name: name, Index: -1}, top)
}

// element returns the state at element i of a list.
func (s maskState) element(i int) maskState { return s.step(item.Segment{Index: i}, false) }

// step returns the state after a step to a member or an element. top means that the step goes to an attribute of the
// item.
func (s maskState) step(segment item.Segment, top bool) maskState {
	if s.isClear() {
		return maskState{}
	}
	next := maskState{hidden: s.hidden}
	remaining, ended := advance(s.sensitive, segment, top)
	next.sensitive, next.hidden = remaining, next.hidden || ended
	if len(s.allowed) > 0 && !next.isClear() {
		if next.allowed, ended = advance(s.allowed, segment, top); ended {
			return maskState{}
		}
	}
	return next
}

// advance returns the patterns that match a step, without the segment of the step. ended reports whether a pattern ends
// with the step, so that it matches the value after the step.
func advance(patterns [][]item.Segment, segment item.Segment, top bool) (remaining [][]item.Segment, ended bool) {
	for _, p := range patterns {
		switch {
		case !matchesStep(p[0], segment, top):
		case len(p) == 1:
			ended = true
		default:
			remaining = append(remaining, p[1:])
		}
	}
	return remaining, ended
}

// matchesStep reports whether the segment p of a pattern matches a step. top means that the step goes to an attribute
// of the item.
func matchesStep(p, segment item.Segment, top bool) bool {
	return overlap(p, segment) && !(top && p.Wild == item.AnyMember && item.Replicated(segment.Name))
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
	case anyElements(s.allowed): // v is a set, or a member of one
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
		if s.member(name, false).hidesIn(e) {
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
		if matchesStep(p[0], segment, true) && hasMatch(p[1:], v) {
			return len(m.allowed) == 0 || m.root.step(segment, true).hidesIn(v)
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
	switch {
	case v.Kind() == item.KindM && p[0].Wild == item.AnyMember:
		for _, e := range v.Members() {
			if hasMatch(p[1:], e) {
				return true
			}
		}
		return false
	case v.Kind() == item.KindM && p[0].Index < 0:
		e, ok := v.Get(p[0].Name)
		return ok && hasMatch(p[1:], e)
	case v.Kind() == item.KindL && p[0].Wild == item.AnyElement:
		for _, e := range v.Elements() {
			if hasMatch(p[1:], e) {
				return true
			}
		}
		return false
	case v.Kind() == item.KindL && p[0].Wild == item.NoWildcard:
		e, ok := v.Index(p[0].Index)
		return ok && hasMatch(p[1:], e)
	default: // v is a set, or a member of one
		return v.Exists() && v.Kind() != item.KindM && v.Kind() != item.KindL && p[0].IsElement()
	}
}

// patternReaches reports whether the pattern matches the path to, a prefix of to, or a path inside v. v is the value at
// to.
func patternReaches(pattern []item.Segment, to item.Path, v item.Value) bool {
	for n, seg := range to.Segments() {
		switch {
		case n == len(pattern):
			return true
		case !matchesStep(pattern[n], seg, n == 0):
			return false
		}
	}
	n := len(to.Segments())
	return n >= len(pattern) || hasMatch(pattern[n:], v)
}

// mayHide reports whether the mask may hide a value that the pattern asked matches, or a value inside it. An allowed
// pattern makes it false only if it includes all paths that asked matches.
func (s maskState) mayHide(pattern []item.Segment) bool {
	for _, a := range s.allowed {
		if includes(a, pattern) {
			return false
		}
	}
	for _, p := range s.sensitive {
		n := min(len(p), len(pattern))
		match := true
		for i := range n {
			match = match && overlap(p[i], pattern[i])
		}
		if match {
			return true
		}
	}
	return false
}

// overlap reports whether some member or element matches both segments.
func overlap(p, q item.Segment) bool {
	switch {
	case p.Wild == item.AnyMember:
		return q.Wild == item.AnyMember || q.Wild == item.NoWildcard && q.Index < 0
	case p.Wild == item.AnyElement:
		return q.Wild == item.AnyElement || q.Wild == item.NoWildcard && q.Index >= 0
	case q.Wild != item.NoWildcard:
		return overlap(q, p)
	}
	return p.Index == q.Index && p.Name == q.Name
}

// includes reports whether p matches every path that q matches, or a prefix of this path.
func includes(p, q []item.Segment) bool {
	if len(p) > len(q) {
		return false
	}
	for i := range p {
		if p[i].Wild == item.NoWildcard && q[i].Wild != item.NoWildcard || !overlap(p[i], q[i]) {
			return false
		}
	}
	return true
}
