package mask

import (
	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
	"github.com/tablewake/tablewake/pipeline/item"
)

// sight is what of a mask still matters at one place of an item: whether it is
// hidden, and what is left of the patterns that lead on from there.
type sight struct {
	hidden             bool // and so is all below, but for what is allowed
	sensitive, allowed [][]item.Segment
}

// pathStep is one step of a path: a name, or an index and no name.
type pathStep struct {
	name  string
	index int // -1 if there is a name
}

// isClear tells whether nothing is hidden here or below.
func (s sight) isClear() bool { return !s.hidden && len(s.sensitive) == 0 }

// member is the sight of a member by its name; top tells that it is an attribute of the item.
func (s sight) member(name []byte, top bool) sight {
	return s.step(pathStep{name: ddbjson.View(name), index: -1}, top)
}

// element is the sight of an element of a list.
func (s sight) element(i int) sight { return s.step(pathStep{index: i}, false) }

// step is the sight one step further.
func (s sight) step(to pathStep, top bool) sight {
	if s.isClear() {
		return sight{}
	}
	next := sight{hidden: s.hidden}
	left, ended := follow(s.sensitive, to, top)
	next.sensitive, next.hidden = left, next.hidden || ended
	if len(s.allowed) > 0 && !next.isClear() {
		if next.allowed, ended = follow(s.allowed, to, top); ended {
			return sight{}
		}
	}
	return next
}

// follow is what is left of the patterns that lead to a place; ended tells whether
// one of them ends there.
func follow(patterns [][]item.Segment, to pathStep, top bool) (left [][]item.Segment, ended bool) {
	for _, p := range patterns {
		switch {
		case !leadsTo(p[0], to, top):
		case len(p) == 1:
			ended = true
		default:
			left = append(left, p[1:])
		}
	}
	return left, ended
}

// leadsTo reports whether a segment of a pattern fits a step; top means a step to an attribute of the item.
func leadsTo(p item.Segment, to pathStep, top bool) bool {
	switch p.Wild {
	case item.AnyMember:
		return to.index < 0 && !(top && item.Replicated(to.name))
	case item.AnyElement:
		return to.index >= 0
	}
	return p.Index == to.index && p.Name == to.name
}

// isElement reports whether a segment of a pattern stands for elements of a list.
func isElement(p item.Segment) bool {
	return p.Wild == item.AnyElement || p.Wild == item.NoWildcard && p.Index >= 0
}

// look is what a mask does with a value.
type look uint8

const (
	showWhole look = iota
	hideWhole
	lookInside
)

// of is what is done with v here.
func (s sight) of(v item.Value) look {
	switch {
	case s.isClear() || v.Kind() == item.Absent:
		return showWhole
	case s.hidden && len(s.allowed) == 0:
		return hideWhole
	case v.Kind() == item.KindM || v.Kind() == item.KindL:
		return lookInside
	case intoList(s.allowed): // v is a set, or a member of one
		return showWhole
	case s.hidden || intoList(s.sensitive):
		return hideWhole
	}
	return showWhole
}

// intoList tells whether one of the patterns goes on with an element.
func intoList(patterns [][]item.Segment) bool {
	for _, p := range patterns {
		if isElement(p[0]) {
			return true
		}
	}
	return false
}

// touches tells whether anything of v is hidden.
func (s sight) touches(v item.Value) bool {
	l := s.of(v)
	if l != lookInside {
		return l == hideWhole
	}
	found := false
	if v.Kind() == item.KindM {
		item.EachMember(v.Raw(), func(name []byte, e item.Value) bool {
			found = s.member(ddbjson.TextOf(name), false).touches(e)
			return !found
		})
		return found
	}
	i := -1
	item.EachElement(v.Raw(), item.KindL, func(e item.Value) bool {
		i++
		found = s.element(i).touches(e)
		return !found
	})
	return found
}

// touches tells whether anything of the item is hidden.
func (m *Mask) touches(item item.Image) bool {
	if m == nil {
		return false
	}
	for name, v := range item.All() {
		if m.touchesMember(name, v) {
			return true
		}
	}
	return false
}

// touchesMember tells whether anything of an attribute is hidden. As a rule no
// pattern leads there, and that is found out without allocation.
func (m *Mask) touchesMember(name string, v item.Value) bool {
	to := pathStep{name: name, index: -1}
	for _, p := range m.root.sensitive {
		if leadsTo(p[0], to, true) && hasPlace(p[1:], v) {
			return len(m.allowed) == 0 || m.root.step(to, true).touches(v)
		}
	}
	return false
}

// hasPlace tells whether there is a place in v that the rest of a pattern fits.
func hasPlace(p []item.Segment, v item.Value) bool {
	if len(p) == 0 {
		return v.Exists()
	}
	found := false
	switch {
	case v.Kind() == item.KindM && p[0].Wild == item.AnyMember:
		item.EachMember(v.Raw(), func(_ []byte, e item.Value) bool {
			found = hasPlace(p[1:], e)
			return !found
		})
	case v.Kind() == item.KindM && p[0].Index < 0:
		e, ok := v.Get(p[0].Name)
		return ok && hasPlace(p[1:], e)
	case v.Kind() == item.KindL && p[0].Wild == item.AnyElement:
		item.EachElement(v.Raw(), item.KindL, func(e item.Value) bool {
			found = hasPlace(p[1:], e)
			return !found
		})
	case v.Kind() == item.KindL && p[0].Wild == item.NoWildcard:
		e, ok := v.Index(p[0].Index)
		return ok && hasPlace(p[1:], e)
	default: // a set, or a member of one
		return v.Exists() && v.Kind() != item.KindM && v.Kind() != item.KindL && isElement(p[0])
	}
	return found
}

// reaches tells whether the pattern fits a place on the way to the one of v, or in v.
func reaches(pattern []item.Segment, to item.Path, v item.Value) bool {
	n := 0
	for name, index := range to.Segments() {
		switch {
		case n == len(pattern):
			return true
		case !leadsTo(pattern[n], pathStep{name, index}, n == 0):
			return false
		}
		n++
	}
	return n >= len(pattern) || hasPlace(pattern[n:], v)
}

// mayHide tells whether something at or inside some place that asked fits may be
// hidden. What is allowed counts only where it holds for all these places.
func (s sight) mayHide(asked []item.Segment) bool {
	for _, a := range s.allowed {
		if covers(a, asked) {
			return false
		}
	}
	for _, p := range s.sensitive {
		n := min(len(p), len(asked))
		meets := true
		for i := range n {
			meets = meets && meet(p[i], asked[i])
		}
		if meets {
			return true
		}
	}
	return false
}

// meet tells whether some place fits both segments.
func meet(p, q item.Segment) bool {
	switch {
	case p.Wild == item.AnyMember:
		return q.Wild == item.AnyMember || q.Wild == item.NoWildcard && q.Index < 0
	case p.Wild == item.AnyElement:
		return q.Wild == item.AnyElement || q.Wild == item.NoWildcard && q.Index >= 0
	case q.Wild != item.NoWildcard:
		return meet(q, p)
	}
	return p.Index == q.Index && p.Name == q.Name
}

// covers tells whether every place that q fits is a place that p fits, or below one.
func covers(p, q []item.Segment) bool {
	if len(p) > len(q) {
		return false
	}
	for i := range p {
		if p[i].Wild == item.NoWildcard && q[i].Wild != item.NoWildcard || !meet(p[i], q[i]) {
			return false
		}
	}
	return true
}
