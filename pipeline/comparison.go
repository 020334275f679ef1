package pipeline

import (
	"bytes"
	"iter"
)

// differAt reports whether a place that one of the patterns fits differs by meaning between two images, or exists in
// one of them only.
func differAt(patterns []Pattern, old, new Image) bool {
	var w comparison
	for _, p := range patterns {
		if w.images(p.segs, old, new) {
			return true
		}
	}
	return false
}

// differencesAt are the places that [differAt] asks for, each once, in the order of the patterns.
func differencesAt(patterns []Pattern, old, new Image) iter.Seq[Difference] {
	return func(yield func(Difference) bool) {
		w := comparison{yield: yield, seen: map[string]bool{}}
		for _, p := range patterns {
			if w.images(p.segs, old, new) {
				return
			}
		}
	}
}

// comparison walks the places that a pattern fits, in two images at once. It ends at the first that differs; with
// yield, at the first that yield refuses.
type comparison struct {
	yield func(Difference) bool
	seen  map[string]bool // paths that were yielded: patterns may overlap
	path  []byte          // of the place where the walk is, kept only to yield
}

// images compares two items; true ends the walk.
func (w *comparison) images(segs []patternSegment, old, new Image) bool {
	if len(segs) == 0 {
		return false
	}
	seg, rest := segs[0], segs[1:]
	switch seg.wild {
	case noWildcard:
		o, _ := old.Get(seg.name)
		n, _ := new.Get(seg.name)
		return w.member(seg.name, rest, o, n)
	case wholeSubtree:
		if sameButReplication(old, new) {
			return false
		}
		return w.differs(old.Value(), new.Value())
	default:
		if w.yield != nil { // in the order of their names, which the ids of events depend on
			for _, p := range differingByName(old, new) {
				if w.member(p.name, rest, p.old, p.new) {
					return true
				}
			}
			return false
		}
		p := differing(old, new)
		for p.next() {
			if o, n := p.values(); w.values(rest, o, n) {
				return true
			}
		}
		return false
	}
}

// values compares what stands at one place; true ends the walk.
func (w *comparison) values(segs []patternSegment, old, new Value) bool {
	if old.kind == new.kind && bytes.Equal(old.raw, new.raw) {
		return false // no place within differs
	}
	if len(segs) == 0 || segs[0].wild == wholeSubtree {
		return !old.Equal(new) && w.differs(old, new)
	}
	seg, rest := segs[0], segs[1:]
	switch {
	case seg.wild == anyMember:
		for _, p := range differingMembers(old, new) {
			if w.member(p.name, rest, p.old, p.new) {
				return true
			}
		}
		return false
	case seg.wild == anyElement:
		p := differingElements(old, new)
		for p.next() {
			if w.element(p.index, rest, p.old, p.new) {
				return true
			}
		}
		return false
	case seg.index >= 0:
		return w.element(seg.index, rest, listElement(old, seg.index), listElement(new, seg.index))
	default:
		o, _ := old.Get(seg.name)
		n, _ := new.Get(seg.name)
		return w.member(seg.name, rest, o, n)
	}
}

func (w *comparison) member(name string, rest []patternSegment, old, new Value) bool {
	if w.yield == nil {
		return w.values(rest, old, new)
	}
	here := len(w.path)
	w.path = appendMember(w.path, name)
	stop := w.values(rest, old, new)
	w.path = w.path[:here]
	return stop
}

func (w *comparison) element(i int, rest []patternSegment, old, new Value) bool {
	if w.yield == nil {
		return w.values(rest, old, new)
	}
	here := len(w.path)
	w.path = appendElement(w.path, i)
	stop := w.values(rest, old, new)
	w.path = w.path[:here]
	return stop
}

// differs takes note of a place whose values differ.
func (w *comparison) differs(old, new Value) bool {
	if w.yield == nil {
		return true
	}
	if path := string(w.path); !w.seen[path] {
		w.seen[path] = true
		return !w.yield(Difference{path, old, new})
	}
	return false
}

// listElement is an element of a list. Sets have no places: their order means nothing.
func listElement(v Value, i int) Value {
	if v.kind != KindL {
		return Value{}
	}
	e, _ := v.Index(i)
	return e
}
