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

// compare describes how got differs from the expectation; nil if it does not. identity returns the key of an element of
// a list; nil: elements have no key.
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

// compareLists pairs each expected element with an equal one of got, else with one of the same
// identity. Elements of either side without a partner are differences.
func compareLists(want, got []value, identity func(value) value, ordered bool) []string {
	pair := make([]int, len(want)) // index in got, or -1
	taken := make([]bool, len(got))
	match := func(i int, same func(value) bool) {
		for j := range got {
			if !taken[j] && same(got[j]) {
				pair[i], taken[j] = j, true
				return
			}
		}
	}
	for i := range want {
		pair[i] = -1
		match(i, want[i].equal)
	}
	equal := !slices.Contains(pair, -1) && !slices.Contains(taken, false)
	if identity != nil {
		for i := range want {
			if pair[i] < 0 {
				match(i, func(g value) bool { return identity(want[i]).equal(identity(g)) })
			}
		}
	}
	var lines []string
	for i, w := range want {
		switch j := pair[i]; {
		case j < 0:
			lines = append(lines, "- "+w.String())
		case !w.equal(got[j]):
			lines = append(append(lines, "  "+identity(w).String()), compareAttributes(nil, "", w, got[j])...)
		}
	}
	for j, g := range got {
		if !taken[j] {
			lines = append(lines, "+ "+g.String())
		}
	}
	if equal && ordered && !slices.IsSorted(pair) {
		lines = append(lines, "  in another order:")
		for _, g := range got {
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
