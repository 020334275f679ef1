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

// Differences iterates over the attributes that differ by meaning between a and b, or that only one of the two images
// has. It yields the attributes of a in the order of a, then the attributes that only b has. It yields the name of each
// attribute with one Difference, even if the value is a map. [Diff] returns the differences inside maps and lists.
// Differences leaves out the aws:rep:* attributes of legacy global tables.
//
// If the attributes of the images have a similar order, as in the two images of a record, Differences allocates only a
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

// Diff returns the paths with values that differ by meaning between a and b. It goes into maps by name and into lists
// by index, and compares sets as a whole. The result is sorted by name in each map and by index in each list. A path
// that only one image has is one Difference, with everything below it. Like [Differences], Diff leaves out the
// aws:rep:* attributes.
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
