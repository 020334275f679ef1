package item

import (
	"iter"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
)

// Difference is one path at which the old and the new image differ.
type Difference struct {
	Path     string
	Old, New Value // Absent where the path is missing
}

// Differences are the attributes that differ by meaning between a and b, or that
// only one of them has, by name and each as a whole: in the order of a, then those
// that only b has. See [Difference.Inside] for what differs within one. The aws:rep:* attributes
// of legacy global tables are left out.
//
// Nothing is allocated for images whose attributes come in about the same order,
// as those of a record do; but a name that is no identifier is quoted in its path.
func Differences(a, b Image) iter.Seq2[string, Difference] {
	return func(yield func(string, Difference) bool) {
		p := differing(a, b)
		for p.next() {
			old, new := p.values()
			name := p.name()
			if !yield(name, Difference{memberPath(name), old, new}) {
				return
			}
		}
	}
}

// Inside are the paths within d at which its values differ by meaning: leaves of
// maps by name, elements of lists by index, sets as a whole; d itself where one of
// the values is neither a map nor a list as the other is. A path that exists on one
// side only is listed as it is there, with all that is below it.
func (d Difference) Inside() iter.Seq[Difference] {
	return func(yield func(Difference) bool) {
		w := deep{path: []byte(d.Path), yield: yield}
		w.values(d.Old, d.New)
	}
}

// Diff lists the paths at which a and b differ by meaning, in the order of the
// paths: [Differences], and of each what is inside.
func Diff(a, b Image) []Difference {
	var found []Difference
	w := deep{yield: func(d Difference) bool { found = append(found, d); return true }}
	for _, p := range differingByName(a, b) {
		w.member(p)
	}
	return found
}

// deep walks two values that differ. Its methods are false where yield was.
type deep struct {
	path  []byte // of the place where the walk stands
	yield func(Difference) bool
}

func (w *deep) member(p pair) bool {
	here := len(w.path)
	w.path = ddbjson.AppendMember(w.path, p.name)
	more := w.values(p.old, p.new)
	w.path = w.path[:here]
	return more
}

func (w *deep) element(i int, p pair) bool {
	here := len(w.path)
	w.path = ddbjson.AppendElement(w.path, i)
	more := w.values(p.old, p.new)
	w.path = w.path[:here]
	return more
}

func (w *deep) values(old, new Value) bool {
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

// memberPath is the path of an attribute: its name, where that is an identifier.
func memberPath(name string) string {
	if ddbjson.IsBare(name) {
		return name
	}
	return string(ddbjson.AppendMember(nil, name))
}
