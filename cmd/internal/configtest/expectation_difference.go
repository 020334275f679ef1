package configtest

import (
	"slices"

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
func compare(x expectation, got entries, identity []string) (lines []string) {
	want := x.contents
	partners := slices.Repeat([]int{-1}, len(want.list)) // index in got of each entry of want; -1: none
	// pair finds partners for the entries of want that have none: the first free entry of got that is the same.
	pair := func(same func(w, g item.Value) bool) {
		for i, w := range want.list {
			// objects in a list have no names, and are compared by their contents
			isPartner := func(g entry) bool { return (!want.named || g.name == w.name) && same(w.value, g.value) }
			for j, g := range got.list {
				if partners[i] < 0 && isPartner(g) && !slices.Contains(partners, j) {
					partners[i] = j
				}
			}
		}
	}
	pair(item.Value.Equal)
	allPaired := len(want.list) == len(got.list) && !slices.Contains(partners, -1)
	switch {
	case allPaired && x.section.ordered && !want.named && !slices.IsSorted(partners):
		lines = append(lines, "  in another order:")
		partners = nil
		want.list = nil
	case want.named:
		pair(func(w, g item.Value) bool { return true })
	case identity != nil:
		pair(func(w, g item.Value) bool { return pick(w, identity).Equal(pick(g, identity)) })
	}

	for i, w := range want.list {
		if partners[i] < 0 {
			lines = append(lines, "- "+w.String())
			continue
		}
		g := got.list[partners[i]]
		if w.value.Equal(g.value) {
			continue
		}
		wantImage, _ := item.ImageOf(w.value)
		gotImage, _ := item.ImageOf(g.value)
		differences := item.Diff(wantImage, gotImage)
		if len(differences) == 0 || !wantImage.Exists() || !gotImage.Exists() {
			lines = append(lines, "- "+w.String(), "+ "+g.String())
			continue
		}
		if want.named {
			lines = append(lines, "  "+scalarText(w.name)+":")
		} else {
			lines = append(lines, "  "+valueText(pick(w.value, identity)))
		}
		for _, d := range differences {
			lines = append(lines, "    "+d.Path+": want "+valueText(d.Old)+", got "+valueText(d.New))
		}
	}
	for j, g := range got.list {
		if !slices.Contains(partners, j) {
			lines = append(lines, "+ "+g.String())
		}
	}
	return lines
}

// String formats an entry on one line: an element of a list alone, and a member after its name.
func (e entry) String() string {
	if e.name == "" {
		return valueText(e.value)
	}
	return scalarText(e.name) + ": " + valueText(e.value)
}
