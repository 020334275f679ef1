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
	from, to  Image
	added     bool // from is the new image, and only attributes that the old one lacks are yielded
	fromIndex int  // index in from of the current pair's attribute
	toIndex   int  // index in to of the current pair's attribute, or -1
	expected  int  // index in to at which the next attribute of from is expected
	common    int  // number of attributes that both images have
	names     nameSearch
}

// differingPairs returns an iterator that is before its first pair.
func differingPairs(old, new Image) pairs { return pairs{from: old, to: new, fromIndex: -1} }

// next moves to the next pair. It returns false after the last pair. A first pass goes over the old image. If it has
// not met all attributes of the new image, a second pass goes over the new image, for those that the old one lacks.
func (p *pairs) next() bool {
	for p.fromIndex++; p.fromIndex < p.from.Len(); p.fromIndex++ {
		surelyDiffers := p.findCounterpart()
		if p.fromIndex == p.from.Len() {
			break // all attributes from fromIndex on were equal
		}
		isCommon := p.toIndex >= 0
		if isCommon {
			p.common++
			p.expected = p.toIndex + 1
		}
		isSkipped := isCommon &&
			(p.added || !surelyDiffers && p.from.ValueAt(p.fromIndex).Equal(p.to.ValueAt(p.toIndex)))
		if !isSkipped && !Replicated(p.name()) {
			return true
		}
	}
	if p.added || p.common == p.to.Len() {
		return false
	}
	*p = pairs{from: p.to, to: p.from, added: true, fromIndex: -1}
	return p.next()
}

// findCounterpart skips the attributes that have equal bytes. For the next attribute it sets toIndex, and reports
// whether the bytes show that the values differ.
func (p *pairs) findCounterpart() (surelyDiffers bool) {
	p.toIndex = -1
	if p.expected < p.to.Len() {
		equal, end := equalAttrs(&p.from, &p.to, p.fromIndex, p.expected)
		p.fromIndex, p.expected, p.common = p.fromIndex+equal, p.expected+equal, p.common+equal
		if p.fromIndex == p.from.Len() {
			return false
		}
		attr := p.from.Index()[p.fromIndex]
		nameEnd := attr.NameStart() + len(attr.RawName(p.from.Bytes()))
		if p.expected < p.to.Len() && end > nameEnd {
			p.toIndex = p.expected
			otherEnd := end - attr.NameStart() + p.to.Index()[p.toIndex].NameStart()
			return surelyDiffer(p.from.Bytes(), end, p.to.Bytes(), otherEnd)
		}
	}
	p.toIndex = p.names.find(&p.to, p.expected, p.name())
	return false
}

func (p *pairs) name() string { return p.from.name(p.fromIndex) }

func (p *pairs) values() (old, new Value) {
	old = p.from.ValueAt(p.fromIndex)
	switch {
	case p.added:
		return new, old
	case p.toIndex >= 0:
		new = p.to.ValueAt(p.toIndex)
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
	for _, p := range pairUp(restOld, restNew) {
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

// pairUp pairs the remaining members of two maps by name. It sorts the members instead of looking up each name, because
// a lookup is a scan, and a map may have tens of thousands of members.
func pairUp(old, new walker) []pair {
	var all []pair
	for name, v, ok := old.member(); ok; name, v, ok = old.member() {
		all = append(all, pair{name: ddbjson.View(ddbjson.TextOf(name)), old: v})
	}
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

// elementsFrom returns a walker before the first element of v.
func elementsFrom(v Value) walker {
	if v.kind != KindL {
		return walk(emptyList)
	}
	return walk(v.raw)
}

var emptyList = []byte("[]")
