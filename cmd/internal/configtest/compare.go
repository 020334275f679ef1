package configtest

import (
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/item"
)

// Difference is one entry of `expect` that differs from the result.
type Difference struct {
	Line  int      `json:"line"`   // line of the entry in its file
	Where string   `json:"expect"` // rows.orders_by_status
	Lines []string `json:"diff"`   // for people: "-" is expected and missing, "+" is extra
}

// compare returns lines that describe how got differs from the expectation, or nil if the two are equal. identity has
// the attributes that are the key of a list element. It is nil if the elements have no key.
func compare(x expectation, got value, identity []string) []string {
	if x.contents.kind == item.KindM {
		return compareNamed(x.contents, got)
	}
	p := pairing{want: x.contents.elems, got: got.elems, identity: identity,
		partners: slices.Repeat([]int{-1}, len(x.contents.elems))}
	p.pairBy(value.equal)
	if x.section.ordered && p.isReordered() {
		lines := []string{"  in another order:"}
		for _, g := range got.elems {
			lines = append(lines, "+ "+g.String())
		}
		return lines
	}
	if identity != nil {
		p.pairBy(func(w, g value) bool { return w.pick(identity).equal(g.pick(identity)) })
	}
	return p.differences()
}

// compareNamed compares documents by their ids, and objects by their names.
func compareNamed(want, got value) []string {
	var lines []string
	for i, name := range want.names {
		w, g := want.elems[i], got.get(name)
		switch {
		case g.kind == item.Absent:
			lines = append(lines, "- "+scalarText(name)+": "+w.String())
		case !w.equal(g):
			lines = append(lines, "  "+scalarText(name)+":")
			lines = append(lines, compareAttributes("", w, g)...)
		}
	}
	for i, name := range got.names {
		if want.get(name).kind == item.Absent {
			lines = append(lines, "+ "+scalarText(name)+": "+got.elems[i].String())
		}
	}
	return lines
}

// pairing pairs the elements of two lists. An element of want is paired with an equal element of got, or otherwise with
// an element of the same identity. Elements without a partner are differences.
type pairing struct {
	want, got []value
	identity  []string // the attributes that are the key of an element; nil: elements have no key
	partners  []int    // index in got of each element of want; -1 if it has no partner
}

// isReordered reports whether the lists have the same elements in another order.
func (p *pairing) isReordered() bool {
	allPaired := len(p.want) == len(p.got) && !slices.Contains(p.partners, -1)
	return allPaired && !slices.IsSorted(p.partners)
}

// pairBy finds partners for the elements of want that have none. The partner of w is the first free element g of got
// for which same(w, g) is true.
func (p *pairing) pairBy(same func(w, g value) bool) {
	for i, w := range p.want {
		if p.partners[i] >= 0 {
			continue
		}
		for j, g := range p.got {
			if same(w, g) && !slices.Contains(p.partners, j) {
				p.partners[i] = j
				break
			}
		}
	}
}

// differences describes the elements without a partner, and the pairs that are not equal.
func (p *pairing) differences() (lines []string) {
	for i, w := range p.want {
		partner := p.partners[i]
		switch {
		case partner < 0:
			lines = append(lines, "- "+w.String())
		case !w.equal(p.got[partner]):
			lines = append(lines, "  "+w.pick(p.identity).String())
			lines = append(lines, compareAttributes("", w, p.got[partner])...)
		}
	}
	for j, g := range p.got {
		if !slices.Contains(p.partners, j) {
			lines = append(lines, "+ "+g.String())
		}
	}
	return lines
}

// compareAttributes describes the differences of two values, attribute by attribute. path is the path of the values.
func compareAttributes(path string, want, got value) (lines []string) {
	if want.equal(got) {
		return nil
	}
	if want.kind != item.KindM || got.kind != item.KindM {
		return []string{"    " + path + ": want " + want.String() + ", got " + got.String()}
	}
	names := slices.Clone(want.names)
	for _, name := range got.names {
		if want.get(name).kind == item.Absent {
			names = append(names, name)
		}
	}
	for _, name := range names {
		memberPath := strings.TrimPrefix(path+"."+scalarText(name), ".")
		lines = append(lines, compareAttributes(memberPath, want.get(name), got.get(name))...)
	}
	return lines
}
