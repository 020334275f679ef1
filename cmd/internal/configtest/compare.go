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

// compare returns lines that describe how got differs from the expectation, or nil if the two are equal. identity
// returns the key of a list element. It is nil if the elements have no key.
func compare(x expectation, got value, identity func(value) value) []string {
	if x.want.kind == item.KindM {
		return compareNamed(x.want, got)
	}
	return compareLists(x.want.elems, got.elems, identity, x.section.ordered)
}

// compareNamed compares documents by their ids, and objects by their names.
func compareNamed(want, got value) []string {
	var lines []string
	for i, name := range want.names {
		g := got.get(name)
		switch w := want.elems[i]; {
		case g.kind == item.Absent:
			lines = append(lines, "- "+scalarText(name)+": "+w.String())
		case !w.equal(g):
			lines = append(append(lines, "  "+scalarText(name)+":"), compareAttributes(nil, "", w, g)...)
		}
	}
	for i, name := range got.names {
		if want.get(name).kind == item.Absent {
			lines = append(lines, "+ "+scalarText(name)+": "+got.elems[i].String())
		}
	}
	return lines
}

// compareLists pairs each expected element with an equal element of got. If no element is equal, it pairs the expected
// element with an element of the same identity. Elements without a partner are differences. If ordered is set, another
// order is a difference, too.
func compareLists(want, got []value, identity func(value) value, ordered bool) []string {
	p := pairing{want, got, slices.Repeat([]int{-1}, len(want)), make([]bool, len(got))}
	p.pairBy(value.equal)
	isComplete := !slices.Contains(p.partners, -1) && !slices.Contains(p.taken, false)
	switch {
	case isComplete && ordered && !slices.IsSorted(p.partners):
		lines := []string{"  in another order:"}
		for _, g := range got {
			lines = append(lines, "+ "+g.String())
		}
		return lines
	case identity != nil:
		p.pairBy(func(w, g value) bool { return identity(w).equal(identity(g)) })
	}
	return p.differences(identity)
}

// pairing pairs the elements of two lists.
type pairing struct {
	want, got []value
	partners  []int  // index in got of each element of want; -1 if it has no partner
	taken     []bool // elements of got that have a partner
}

// pairBy pairs each element of want that has no partner with the first free element of got that is the same.
func (p *pairing) pairBy(same func(w, g value) bool) {
	for i, w := range p.want {
		if p.partners[i] >= 0 {
			continue
		}
		for j, g := range p.got {
			if !p.taken[j] && same(w, g) {
				p.partners[i], p.taken[j] = j, true
				break
			}
		}
	}
}

// differences describes the elements without a partner, and the pairs that are not equal.
func (p *pairing) differences(identity func(value) value) (lines []string) {
	for i, w := range p.want {
		switch j := p.partners[i]; {
		case j < 0:
			lines = append(lines, "- "+w.String())
		case !w.equal(p.got[j]):
			lines = append(append(lines, "  "+identity(w).String()), compareAttributes(nil, "", w, p.got[j])...)
		}
	}
	for j, g := range p.got {
		if !p.taken[j] {
			lines = append(lines, "+ "+g.String())
		}
	}
	return lines
}

// compareAttributes appends the differences of two values, attribute by attribute.
func compareAttributes(lines []string, path string, want, got value) []string {
	if want.kind != item.KindM || got.kind != item.KindM {
		if !want.equal(got) {
			lines = append(lines, "    "+path+": want "+want.String()+", got "+got.String())
		}
		return lines
	}
	for i, name := range want.names {
		lines = compareAttributes(lines, strings.TrimPrefix(path+"."+scalarText(name), "."), want.elems[i], got.get(name))
	}
	for i, name := range got.names {
		if want.get(name).kind == item.Absent {
			lines = compareAttributes(lines, strings.TrimPrefix(path+"."+scalarText(name), "."), value{}, got.elems[i])
		}
	}
	return lines
}
