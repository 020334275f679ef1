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

// Differences iterates over the attributes that differ by meaning between a and b, and those that only one of them has:
// in the order of a, then the attributes that only b has. Each attribute is one Difference; [Diff] looks inside it. The
// aws:rep:* attributes of legacy global tables are left out.
//
// It allocates nothing if the attributes of the images have a similar order, as in the two images of a record, except a
// path for each name that needs quotes.
func Differences(a, b Image) iter.Seq2[string, Difference] {
	return func(yield func(string, Difference) bool) {
		p := differingPairs(a, b)
		for p.next() {
			old, new := p.values()
			name := p.name()
			if !yield(name, Difference{attributePath(name), old, new}) {
				return
			}
		}
	}
}

// Diff returns the paths with values that differ by meaning between a and b, sorted by path: of each of the
// [Differences] those inside it, which are members of maps by name, elements of lists by index, and sets as a whole. A
// path that only one image has is one Difference, with everything below it.
func Diff(a, b Image) (found []Difference) {
	w := comparison{yield: func(d Difference) bool { found = append(found, d); return true }}
	w.compareImages([]Segment{{Wild: allInside}}, a, b)
	return found
}

// attributePath returns the path of an attribute: its name, with quotes if it needs them.
func attributePath(name string) string {
	if ddbjson.IsBare(name) {
		return name
	}
	return string(ddbjson.AppendMember(nil, name))
}
