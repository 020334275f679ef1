package item

import (
	"iter"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
)

// Difference is one path with its different values in the old and the new image.
type Difference struct {
	Path     string
	Old, New Value // absent if the image does not have the path
}

// Differences iterates over the attributes that differ by meaning between a and b, or that only one of them has. It
// yields the attributes of a in the order of a, then the attributes that only b has. Each attribute is one Difference;
// [Difference.Inside] returns the differences inside it. The aws:rep:* attributes of legacy global tables are left out.
//
// It allocates nothing if the attributes of the images have a similar order, as in the two images of a record, except a
// path for each name that needs quotes.
func Differences(a, b Image) iter.Seq2[string, Difference] {
	return func(yield func(string, Difference) bool) {
		p := differing(a, b)
		for p.next() {
			old, new := p.values()
			name := p.name()
			if !yield(name, Difference{attributePath(name), old, new}) {
				return
			}
		}
	}
}

// Inside iterates over the paths inside d whose values differ by meaning: members of maps by name, elements of lists by
// index, sets as a whole. If the values are not both maps or both lists, it yields only d itself. A path that only one
// side has is one Difference, which includes everything below the path.
func (d Difference) Inside() iter.Seq[Difference] {
	return func(yield func(Difference) bool) {
		w := insideWalk{path: []byte(d.Path), yield: yield}
		w.values(d.Old, d.New)
	}
}

// Diff returns the paths whose values differ by meaning between a and b, sorted by path. It is [Difference.Inside] of
// each of the [Differences].
func Diff(a, b Image) []Difference {
	var found []Difference
	w := insideWalk{yield: func(d Difference) bool { found = append(found, d); return true }}
	for _, p := range differingByName(a, b) {
		w.member(p)
	}
	return found
}

// insideWalk walks two values that differ. Its methods return false to end the walk, after yield returned false.
type insideWalk struct {
	path  []byte // path of the current values
	yield func(Difference) bool
}

func (w *insideWalk) member(p pair) bool {
	pathLen := len(w.path)
	w.path = ddbjson.AppendMember(w.path, p.name)
	more := w.values(p.old, p.new)
	w.path = w.path[:pathLen]
	return more
}

func (w *insideWalk) element(i int, p pair) bool {
	pathLen := len(w.path)
	w.path = ddbjson.AppendElement(w.path, i)
	more := w.values(p.old, p.new)
	w.path = w.path[:pathLen]
	return more
}

func (w *insideWalk) values(old, new Value) bool {
	switch {
	case old.kind == KindM && new.kind == KindM:
		for _, p := range differingMembers(old, new) {
			if !w.member(p) {
				return false
			}
		}
		return true
	case old.kind == KindL && new.kind == KindL:
		p := differingElements(old, new)
		for p.next() {
			if !w.element(p.index, p.pair) {
				return false
			}
		}
		return true
	default:
		return w.yield(Difference{Path: string(w.path), Old: old, New: new})
	}
}

// attributePath returns the path of an attribute: its name, with quotes if it needs them.
func attributePath(name string) string {
	if ddbjson.IsBare(name) {
		return name
	}
	return string(ddbjson.AppendMember(nil, name))
}
