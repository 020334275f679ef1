package item

import (
	"bytes"
	"iter"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
)

// DifferAt reports whether a place that one of the patterns fits differs by meaning between two images, or exists in
// one of them only.
func DifferAt(patterns []Pattern, old, new Image) bool {
	var w comparison
	for _, p := range patterns {
		if w.images(p.segs, old, new) {
			return true
		}
	}
	return false
}

// DifferencesAt are the places that [DifferAt] asks for, each once, in the order of the patterns.
func DifferencesAt(patterns []Pattern, old, new Image) iter.Seq[Difference] {
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
func (w *comparison) images(segs []Segment, old, new Image) bool {
	if len(segs) == 0 {
		return false
	}
	seg, rest := segs[0], segs[1:]
	switch seg.Wild {
	case NoWildcard:
		o, _ := old.Get(seg.Name)
		n, _ := new.Get(seg.Name)
		return w.member(seg.Name, rest, o, n)
	case wholeSubtree:
		if EqualButReplicated(old, new) {
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
func (w *comparison) values(segs []Segment, old, new Value) bool {
	if old.kind == new.kind && bytes.Equal(old.raw, new.raw) {
		return false // no place within differs
	}
	if len(segs) == 0 || segs[0].Wild == wholeSubtree {
		return !old.Equal(new) && w.differs(old, new)
	}
	seg, rest := segs[0], segs[1:]
	switch {
	case seg.Wild == AnyMember:
		for _, p := range differingMembers(old, new) {
			if w.member(p.name, rest, p.old, p.new) {
				return true
			}
		}
		return false
	case seg.Wild == AnyElement:
		p := differingElements(old, new)
		for p.next() {
			if w.element(p.index, rest, p.old, p.new) {
				return true
			}
		}
		return false
	case seg.Index >= 0:
		return w.element(seg.Index, rest, listElement(old, seg.Index), listElement(new, seg.Index))
	default:
		o, _ := old.Get(seg.Name)
		n, _ := new.Get(seg.Name)
		return w.member(seg.Name, rest, o, n)
	}
}

func (w *comparison) member(name string, rest []Segment, old, new Value) bool {
	if w.yield == nil {
		return w.values(rest, old, new)
	}
	here := len(w.path)
	w.path = ddbjson.AppendMember(w.path, name)
	stop := w.values(rest, old, new)
	w.path = w.path[:here]
	return stop
}

func (w *comparison) element(i int, rest []Segment, old, new Value) bool {
	if w.yield == nil {
		return w.values(rest, old, new)
	}
	here := len(w.path)
	w.path = ddbjson.AppendElement(w.path, i)
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
