package item

import (
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
)

// pair has the values of two maps under one name. One of the values may be absent.
type pair struct {
	name     string
	old, new Value
}

// pairs iterates over the attributes that differ by meaning between two images, or that only one of them has. It first
// yields the attributes of the old image in its order, then the attributes that only the new image has. It leaves out
// the aws:rep:* attributes, which replication adds.
type pairs struct {
	old, new Image
	oldIndex int  // index of the current pair's attribute in old, unless added
	newIndex int  // index of the current pair's attribute in new, or -1
	added    bool // the attributes of old are done: only those that old lacks are left
	common   int  // number of attributes that both images have
	expected int  // index in the other image at which the next attribute is expected
	search   nameSearch
}

// differingPairs returns an iterator that is before its first pair.
func differingPairs(old, new Image) pairs { return pairs{old: old, new: new, oldIndex: -1} }

// next moves to the next pair. It returns false after the last pair.
func (p *pairs) next() bool {
	if !p.added {
		if p.nextOfOld() {
			return true
		}
		if p.common == p.new.Len() {
			return false // old has all attributes of new
		}
		*p = pairs{old: p.old, new: p.new, newIndex: -1, added: true}
	}
	return p.nextAdded()
}

// nextOfOld moves to the next attribute of old that differs in new, or that new lacks.
func (p *pairs) nextOfOld() bool {
	for p.oldIndex++; p.oldIndex < p.old.Len(); p.oldIndex++ {
		differAt := p.skipEqualBytes()
		if p.oldIndex == p.old.Len() {
			break // all attributes from oldIndex on were equal
		}
		surelyDiffers := p.findCounterpart(differAt)
		if p.newIndex >= 0 {
			p.common++
			p.expected = p.newIndex + 1
			if !surelyDiffers && p.old.ValueAt(p.oldIndex).Equal(p.new.ValueAt(p.newIndex)) {
				continue
			}
		}
		if !Replicated(p.name()) {
			return true
		}
	}
	return false
}

// nextAdded moves to the next attribute of new that old lacks.
func (p *pairs) nextAdded() bool {
	for p.newIndex++; p.newIndex < p.new.Len(); p.newIndex++ {
		i := p.search.find(&p.old, p.expected, p.name())
		if i >= 0 {
			p.expected = i + 1
		} else if !Replicated(p.name()) {
			return true
		}
	}
	return false
}

// skipEqualBytes moves oldIndex past the attributes of old that have equal bytes in new. It returns the position in old
// of the first different byte, or 0 if no attribute of new is expected.
func (p *pairs) skipEqualBytes() (differAt int) {
	if p.expected >= p.new.Len() {
		return 0
	}
	equal, differAt := equalAttrs(&p.old, &p.new, p.oldIndex, p.expected)
	p.oldIndex, p.expected, p.common = p.oldIndex+equal, p.expected+equal, p.common+equal
	return differAt
}

// findCounterpart sets newIndex to the attribute of new that has the name of the attribute at oldIndex. It reports
// whether the bytes show that the values differ. differAt is the result of skipEqualBytes.
func (p *pairs) findCounterpart(differAt int) (surelyDiffers bool) {
	attr := p.old.Index()[p.oldIndex]
	nameEnd := attr.NameStart() + len(attr.RawName(p.old.Bytes()))
	isExpected := p.expected < p.new.Len() && differAt > nameEnd
	if !isExpected {
		p.newIndex = p.search.find(&p.new, p.expected, p.name())
		return false
	}
	p.newIndex = p.expected
	differInNewAt := differAt - attr.NameStart() + p.new.Index()[p.newIndex].NameStart()
	return surelyDiffer(p.old.Bytes(), differAt, p.new.Bytes(), differInNewAt)
}

func (p *pairs) name() string {
	if p.added {
		return p.new.name(p.newIndex)
	}
	return p.old.name(p.oldIndex)
}

func (p *pairs) values() (old, new Value) {
	if !p.added {
		old = p.old.ValueAt(p.oldIndex)
	}
	if p.newIndex >= 0 {
		new = p.new.ValueAt(p.newIndex)
	}
	return old, new
}

// differingByName returns all pairs, sorted by name.
func differingByName(old, new Image) []pair {
	var ps []pair
	p := differingPairs(old, new)
	for p.next() {
		old, new := p.values()
		ps = append(ps, pair{p.name(), old, new})
	}
	slices.SortFunc(ps, pair.compare)
	return ps
}

// nameSearch finds attributes that are not at the expected index.
type nameSearch struct {
	steps int            // number of comparisons without success in all calls
	index map[string]int // index by name, built after many steps: a large item has tens of thousands of attributes
}

// find returns the index of the attribute with this name, or -1. It searches from the index start on, then before it.
func (s *nameSearch) find(m *Image, start int, name string) int {
	n := m.Len()
	if s.steps > 64+16*n {
		return s.findIndexed(m, name)
	}
	for step := range n {
		i := start + step
		if i >= n {
			i -= n
		}
		a := m.Index()[i]
		mayBeEqual := len(name) == a.NameLen() || !a.Plain()
		if mayBeEqual && a.Text(m.Bytes()) == name {
			s.steps += step
			return i
		}
	}
	s.steps += n
	return -1
}

// findIndexed does the same as find, with the index. It builds the index at the first call.
func (s *nameSearch) findIndexed(m *Image, name string) int {
	if s.index == nil {
		s.index = make(map[string]int, m.Len())
		for i := range m.Len() {
			s.index[m.name(i)] = i
		}
	}
	if i, ok := s.index[name]; ok {
		return i
	}
	return -1
}

// differingMembers returns the members that differ by meaning between two maps, or that only one of the maps has. They
// are sorted by name. A value that is not a map has no members.
func differingMembers(old, new Value) []pair {
	var differing []pair
	restOld, restNew := membersFrom(old), membersFrom(new)
	for { // members of both maps are mostly in the same order
		afterOld, afterNew := restOld, restNew
		oldName, oldValue, ok := afterOld.member()
		newName, newValue, otherOK := afterNew.member()
		if !ok || !otherOK || !ddbjson.SameText(oldName, newName) {
			break
		}
		restOld, restNew = afterOld, afterNew
		if !oldValue.Equal(newValue) {
			differing = append(differing, pair{ddbjson.View(ddbjson.TextOf(oldName)), oldValue, newValue})
		}
	}
	for _, p := range pairUp(nil, restOld, restNew) {
		if !p.old.Equal(p.new) {
			differing = append(differing, p)
		}
	}
	slices.SortFunc(differing, pair.compare)
	return differing
}

func (p pair) compare(q pair) int { return strings.Compare(p.name, q.name) }

// membersFrom returns a walker before the first member of v.
func membersFrom(v Value) walker {
	if v.kind != KindM {
		return walk(emptyMap)
	}
	return walk(v.raw)
}

// pairUp pairs the remaining members of two maps by name, in the order of the names. It sorts the members instead of
// looking up each name, because a lookup is a scan, and a map may have tens of thousands of members. The result uses
// the memory of all, which is empty.
func pairUp(all []pair, old, new walker) []pair {
	all = appendMembers(all, old)
	for name, v, ok := new.member(); ok; name, v, ok = new.member() {
		all = append(all, pair{name: ddbjson.View(ddbjson.TextOf(name)), new: v})
	}
	slices.SortStableFunc(all, pair.compare)
	merged := all[:0]
	for _, p := range all {
		last := len(merged) - 1
		if last >= 0 && merged[last].name == p.name {
			merged[last].new = p.new
			continue
		}
		merged = append(merged, p)
	}
	return merged
}

// appendMembers appends the remaining members of a map, each as the old value of a pair.
func appendMembers(all []pair, w walker) []pair {
	for name, v, ok := w.member(); ok; name, v, ok = w.member() {
		all = append(all, pair{name: ddbjson.View(ddbjson.TextOf(name)), old: v})
	}
	return all
}

// elementsFrom returns a walker before the first element of v.
func elementsFrom(v Value) walker {
	if v.kind != KindL {
		return walk(emptyList)
	}
	return walk(v.raw)
}

var emptyList = []byte("[]")
