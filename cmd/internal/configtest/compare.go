package configtest

import (
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
)

// Difference is one entry of `expect` that is not what came.
type Difference struct {
	Line  int      `json:"line"`   // of the entry in its file
	Where string   `json:"expect"` // rows.orders_by_status
	Lines []string `json:"diff"`   // for people: "-" wanted and not there, "+" there and not wanted
}

// ordered tells whether a section's elements have an order that counts.
func (s section) ordered() bool { return s == events || s == objects }

// compare says how got differs from what is wanted; nothing where it does not.
// identity names what makes two elements of a list the same one, or is nil.
func compare(x expectation, got value, identity func(value) value) []string {
	if x.want.kind == pipeline.KindM {
		return compareNamed(x.want, got)
	}
	return compareLists(x.want.elems, got.elems, identity, x.section.ordered())
}

// compareNamed compares documents by their ids, and objects by their names.
func compareNamed(want, got value) []string {
	var lines []string
	for i, name := range want.names {
		g := got.get(name)
		switch w := want.elems[i]; {
		case g.kind == pipeline.Absent:
			lines = append(lines, "- "+scalarText(name)+": "+w.String())
		case !w.equal(g):
			lines = append(append(lines, "  "+scalarText(name)+":"), inside(nil, "", w, g)...)
		}
	}
	for i, name := range got.names {
		if want.get(name).kind == pipeline.Absent {
			lines = append(lines, "+ "+scalarText(name)+": "+got.elems[i].String())
		}
	}
	return lines
}

// compareLists finds for each element that is wanted one that came: an equal one,
// else one of the same identity. What is left over on either side is a difference.
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
			lines = append(append(lines, "  "+identity(w).String()), inside(nil, "", w, got[j])...)
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

// inside appends how two values differ that are of one thing, attribute by attribute.
func inside(lines []string, path string, want, got value) []string {
	if want.kind != pipeline.KindM || got.kind != pipeline.KindM {
		if !want.equal(got) {
			lines = append(lines, "    "+path+": want "+want.String()+", got "+got.String())
		}
		return lines
	}
	for i, name := range want.names {
		lines = inside(lines, strings.TrimPrefix(path+"."+scalarText(name), "."), want.elems[i], got.get(name))
	}
	for i, name := range got.names {
		if want.get(name).kind == pipeline.Absent {
			lines = inside(lines, strings.TrimPrefix(path+"."+scalarText(name), "."), value{}, got.elems[i])
		}
	}
	return lines
}
