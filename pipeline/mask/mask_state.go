package mask

import (
	"github.com/tablewake/tablewake/pipeline/item"
	"slices"
)

// maskState is the state of the mask's patterns at one path of an item.
type maskState struct {
	hidden             bool             // the value is hidden, except for its allowed parts
	sensitive, allowed [][]item.Segment // remaining segments of the patterns that match so far
}

// isClear reports whether neither the value nor anything inside it is hidden.
func (s maskState) isClear() bool { return !s.hidden && len(s.sensitive) == 0 }

// member returns the state of a member; top means that it is an attribute of the item.
func (s maskState) member(name string, top bool) maskState {
	return s.step(item.Segment{Name: name, Index: -1}, top)
}

// element returns the state of a list element.
func (s maskState) element(i int) maskState { return s.step(item.Segment{Index: i}, false) }

// step returns the state one step further.
func (s maskState) step(to item.Segment, top bool) maskState {
	if s.isClear() {
		return maskState{}
	}
	next := maskState{hidden: s.hidden}
	left, ended := advance(s.sensitive, to, top)
	next.sensitive, next.hidden = left, next.hidden || ended
	if len(s.allowed) > 0 && !next.isClear() {
		if next.allowed, ended = advance(s.allowed, to, top); ended {
			return maskState{}
		}
	}
	return next
}

// advance returns the remaining segments of the patterns that match a step; ended reports whether one of them ends with
// that step.
func advance(patterns [][]item.Segment, to item.Segment, top bool) (left [][]item.Segment, ended bool) {
	for _, p := range patterns {
		switch {
		case !matchesStep(p[0], to, top):
		case len(p) == 1:
			ended = true
		default:
			left = append(left, p[1:])
		}
	}
	return left, ended
}

// matchesStep reports whether a segment of a pattern matches a step; top means that the step goes to an attribute of
// the item.
func matchesStep(p, to item.Segment, top bool) bool {
	return overlap(p, to) && !(top && p.Wild == item.AnyMember && item.Replicated(to.Name))
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
	for name, e := range v.Members() { // none unless v is an M
		if s.member(name, false).hidesIn(e) {
			return true
		}
	}
	for i, e := range v.Elements() { // none if v is an M
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

// hidesInAttribute reports whether any part of an attribute is hidden. For most attributes no pattern matches; then it
// allocates nothing.
func (m *Mask) hidesInAttribute(name string, v item.Value) bool {
	to := item.Segment{Name: name, Index: -1}
	for _, p := range m.root.sensitive {
		if matchesStep(p[0], to, true) && hasMatch(p[1:], v) {
			return len(m.allowed) == 0 || m.root.step(to, true).hidesIn(v)
		}
	}
	return false
}

// hasMatch reports whether the rest p of a pattern matches v or a value inside it.
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

// patternReaches reports whether the pattern matches the path, a prefix of the path, or a path inside v, the value at
// the path.
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

// mayHide reports whether the mask may hide a value at a path that the pattern asked matches, or a value inside it. An
// allowed pattern counts only if it includes all these paths.
func (s maskState) mayHide(asked []item.Segment) bool {
	for _, a := range s.allowed {
		if includes(a, asked) {
			return false
		}
	}
	for _, p := range s.sensitive {
		n := min(len(p), len(asked))
		match := true
		for i := range n {
			match = match && overlap(p[i], asked[i])
		}
		if match {
			return true
		}
	}
	return false
}

// overlap reports whether some path matches both segments.
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

// includes reports whether p matches every path that q matches, or a prefix of it.
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
