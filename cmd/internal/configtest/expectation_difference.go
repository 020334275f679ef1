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
	partners := pairing(slices.Repeat([]int{noPartner}, len(want.list)))
	partners.pair(want, got, item.Value.Equal)
	isOrdered := x.section.ordered && !want.named
	haveEqualEntries := len(want.list) == len(got.list) && !slices.Contains(partners, noPartner)
	if isOrdered && haveEqualEntries && !slices.IsSorted(partners) {
		lines = append(lines, "  in another order:")
		for _, g := range got.list {
			lines = append(lines, "+ "+g.String())
		}
		return lines
	}
	switch { // pair the rest by their names or keys, to compare them attribute by attribute
	case want.named:
		partners.pair(want, got, func(w, g item.Value) bool { return true })
	case identity != nil:
		partners.pair(want, got, func(w, g item.Value) bool { return pick(w, identity).Equal(pick(g, identity)) })
	}

	for i, w := range want.list {
		if partners[i] == noPartner {
			lines = append(lines, "- "+w.String())
		} else {
			lines = append(lines, differences(w, got.list[partners[i]], identity)...)
		}
	}
	for j, g := range got.list {
		if !slices.Contains(partners, j) {
			lines = append(lines, "+ "+g.String())
		}
	}
	return lines
}

// pairing has the partner of each expected entry: the index of an actual entry, or noPartner.
type pairing []int

const noPartner = -1

// pair finds partners for the expected entries that have none: the first free actual entry that is the same, and has
// the same name. Objects in a list have no names, and are compared by their contents.
func (p pairing) pair(want, got entries, same func(w, g item.Value) bool) {
	for i, w := range want.list {
		if p[i] != noPartner {
			continue
		}
		for j, g := range got.list {
			isFree := !slices.Contains(p, j)
			hasName := !want.named || g.name == w.name
			if isFree && hasName && same(w.value, g.value) {
				p[i] = j
				break
			}
		}
	}
}

// differences returns lines that describe how an actual entry differs from the expected one. identity is that of
// compare.
func differences(want, got entry, identity []string) []string {
	if want.value.Equal(got.value) {
		return nil
	}
	wantImage, _ := item.ImageOf(want.value)
	gotImage, _ := item.ImageOf(got.value)
	found := item.Diff(wantImage, gotImage)
	if len(found) == 0 || !wantImage.Exists() || !gotImage.Exists() {
		return []string{"- " + want.String(), "+ " + got.String()}
	}
	lines := []string{"  " + valueText(pick(want.value, identity))}
	if want.name != "" {
		lines[0] = "  " + scalarText(want.name) + ":"
	}
	for _, d := range found {
		lines = append(lines, "    "+d.Path+": want "+valueText(d.Old)+", got "+valueText(d.New))
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
