package item

import (
	"bytes"
	"iter"
	"strings"
)

// DifferAt reports whether two images differ by meaning at a path that matches one of the patterns. A path that only
// one of the images has is a difference.
func DifferAt(patterns []Pattern, old, new Image) bool {
	var w comparison
	for _, p := range patterns {
		if w.compareImages(p.segs, old, new) {
			return true
		}
	}
	return false
}

// DifferencesAt iterates over the differences at paths that match one of the patterns. It yields each path once, in the
// order of the patterns.
func DifferencesAt(patterns []Pattern, old, new Image) iter.Seq[Difference] {
	return func(yield func(Difference) bool) {
		w := comparison{yield: yield, seen: map[string]bool{}}
		for _, p := range patterns {
			if w.compareImages(p.segs, old, new) {
				return
			}
		}
	}
}

// comparison walks two images at the same time, at the paths that match a pattern. Its methods return true to end the
// walk: when yield returned false, or at the first difference if yield is nil.
type comparison struct {
	yield func(Difference) bool
	seen  map[string]bool // yielded paths, because patterns may overlap; nil in Diff, which has one pattern
	path  []byte          // path of the current values; unused without yield
}

// compareImages compares two items. In all methods, segs are the remaining segments of the pattern.
func (w *comparison) compareImages(segs []Segment, old, new Image) bool {
	if len(segs) == 0 {
		return false
	}
	seg, rest := segs[0], segs[1:]
	switch seg.Wild {
	case NoWildcard:
		o, _ := old.Get(seg.Name)
		n, _ := new.Get(seg.Name)
		return w.compareUnder(seg, rest, o, n)
	case wholeSubtree:
		if EqualButReplicated(old, new) {
			return false
		}
		return w.handleDifference(old.Value(), new.Value())
	case allInside:
		return w.compareAttributes(segs, old, new)
	default:
		return w.compareAttributes(rest, old, new)
	}
}

// compareAttributes compares all attributes of two items.
func (w *comparison) compareAttributes(rest []Segment, old, new Image) bool {
	if w.yield != nil { // pairs are sorted by name, because the ids of events depend on the order
		return w.comparePairs(rest, differingByName(old, new))
	}
	p := differingPairs(old, new)
	for p.next() {
		if o, n := p.values(); w.compareValues(rest, o, n) {
			return true
		}
	}
	return false
}

// compareValues compares two values under one path.
func (w *comparison) compareValues(segs []Segment, old, new Value) bool {
	if old.kind == new.kind && bytes.Equal(old.raw, new.raw) {
		return false
	}
	if len(segs) == 0 || segs[0].Wild == wholeSubtree {
		return !old.Equal(new) && w.handleDifference(old, new)
	}
	seg, rest := segs[0], segs[1:]
	isInside := seg.Wild == allInside && old.kind == new.kind
	if isInside {
		rest = segs
	}
	switch {
	case seg.Wild == AnyMember, isInside && old.kind == KindM:
		return w.comparePairs(rest, differingMembers(old, new))
	case seg.Wild == AnyElement, isInside && old.kind == KindL:
		return w.compareElements(rest, old, new)
	case seg.Wild == allInside:
		return w.handleDifference(old, new)
	case seg.Index >= 0:
		return w.compareUnder(seg, rest, listElement(old, seg.Index), listElement(new, seg.Index))
	default:
		o, _ := old.Get(seg.Name)
		n, _ := new.Get(seg.Name)
		return w.compareUnder(seg, rest, o, n)
	}
}

// comparePairs compares the values of each pair.
func (w *comparison) comparePairs(rest []Segment, ps []pair) bool {
	for _, p := range ps {
		if w.compareUnder(Segment{Name: p.name, Index: -1}, rest, p.old, p.new) {
			return true
		}
	}
	return false
}

// compareElements compares the elements of two lists with the same index. A value that is not a list has no elements.
func (w *comparison) compareElements(rest []Segment, old, new Value) bool {
	restOld, restNew := elementsFrom(old), elementsFrom(new)
	for i := 0; ; i++ {
		o, ok := restOld.element(KindL)
		n, otherOK := restNew.element(KindL)
		if !ok && !otherOK {
			return false
		}
		if !o.Equal(n) && w.compareUnder(Segment{Index: i}, rest, o, n) {
			return true
		}
	}
}

// compareUnder compares the values under seg, which is a name or an index.
func (w *comparison) compareUnder(seg Segment, rest []Segment, old, new Value) bool {
	pathLen := len(w.path)
	if w.yield != nil {
		w.path = seg.AppendTo(w.path)
	}
	stop := w.compareValues(rest, old, new)
	w.path = w.path[:pathLen]
	return stop
}

// handleDifference yields a difference at the current path, unless the path was already yielded. It returns true to end
// the walk.
func (w *comparison) handleDifference(old, new Value) bool {
	if w.yield == nil {
		return true
	}
	path := string(w.path)
	if w.seen[path] {
		return false
	}
	if w.seen != nil {
		w.seen[path] = true
	}
	return !w.yield(Difference{path, old, new})
}

// listElement returns element i of an L, or an absent value. The members of a set have no index, because their order
// has no meaning.
func listElement(v Value, i int) Value {
	if v.kind != KindL {
		return Value{}
	}
	e, _ := v.Index(i)
	return e
}

// replicationPrefix starts the names of the attributes that legacy global tables (version 2017.11.29) add to items:
// aws:rep:deleting, aws:rep:updatetime, aws:rep:updateregion. Users do not write them.
const replicationPrefix = "aws:rep:"

// EqualButReplicated reports whether two images are equal by meaning if their aws:rep:* attributes are ignored.
func EqualButReplicated(a, b Image) bool {
	p := differingPairs(a, b)
	return !p.next()
}

// Replicated reports whether name is the name of an aws:rep:* attribute.
func Replicated(name string) bool { return strings.HasPrefix(name, replicationPrefix) }
