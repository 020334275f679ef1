package pipeline

import (
	"iter"
	"slices"
	"strings"
)

// pair is what two maps hold under one name, or two lists under one index; one
// side may be absent.
type pair struct {
	name     string // in maps
	old, new Value
}

// pairImages lists the attributes of both images by name.
func pairImages(old, new Image) []pair {
	return pairUp(old.All(), new.All(), old.Len()+new.Len())
}

// pairMaps lists the members of both maps by name; what is no map has none.
func pairMaps(old, new Value) []pair {
	return pairUp(old.Members(), new.Members(), old.Len()+new.Len())
}

// pairUp sorts instead of looking each name up in the other map: a map may have
// tens of thousands of members, and looking up is a scan.
func pairUp(old, new iter.Seq2[string, Value], size int) []pair {
	ps := make([]pair, 0, size)
	for name, v := range old {
		ps = append(ps, pair{name: name, old: v})
	}
	for name, v := range new {
		ps = append(ps, pair{name: name, new: v})
	}
	slices.SortStableFunc(ps, func(a, b pair) int { return strings.Compare(a.name, b.name) })
	merged := ps[:0]
	for _, p := range ps {
		if last := len(merged) - 1; last >= 0 && merged[last].name == p.name {
			merged[last].new = p.new
			continue
		}
		merged = append(merged, p)
	}
	return merged
}

// pairLists lists the elements of both lists; what is no list has none.
func pairLists(old, new Value) []pair {
	var ps []pair
	if old.Kind() == KindL {
		for _, v := range old.Elements() {
			ps = append(ps, pair{old: v})
		}
	}
	if new.Kind() == KindL {
		for i, v := range new.Elements() {
			if i == len(ps) {
				ps = append(ps, pair{})
			}
			ps[i].new = v
		}
	}
	return ps
}
