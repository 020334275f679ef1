package item

import (
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
)

// pair has the values of two maps under one name, or of two lists at one index. One of the values may be absent.
type pair struct {
	name     string // name in the maps; "" for lists
	old, new Value
}

// pairs iterates over the attributes that differ by meaning between two images, or that only one of them has. It first
// yields the attributes of the old image in its order, then the attributes that only the new image has. It leaves out
// the aws:rep:* attributes, which replication adds.
type pairs struct {
	from, to  Image
	added     bool // second round: from is the new image, and only attributes that the old one lacks are yielded
	fromIndex int  // index in from of the current pair's attribute
	toIndex   int  // index in to of the current pair's attribute, or -1
	expected  int  // index in to at which the next attribute of from is expected
	common    int  // number of attributes that both images have
	names     nameSearch
}

// differingPairs returns an iterator that is before its first pair.
func differingPairs(old, new Image) pairs { return pairs{from: old, to: new, fromIndex: -1} }

// next moves to the next pair. It returns false after the last pair.
func (p *pairs) next() bool {
	for p.fromIndex++; p.fromIndex < p.from.Len(); p.fromIndex++ {
		differ := false // the bytes show that the values differ; no comparison by meaning is needed
		p.toIndex = -1
		if p.expected < p.to.Len() {
			n, end := equalAttrs(&p.from, &p.to, p.fromIndex, p.expected)
			p.fromIndex, p.expected, p.common = p.fromIndex+n, p.expected+n, p.common+n
			if p.fromIndex == p.from.Len() {
				break
			}
			x := p.from.Index()[p.fromIndex]
			hasEqualName := p.expected < p.to.Len() && end > x.NameStart()+len(x.RawName(p.from.Bytes()))
			if hasEqualName {
				p.toIndex = p.expected
				differ = surelyDiffer(p.from.Bytes(), end, p.to.Bytes(), end-x.NameStart()+p.to.Index()[p.expected].NameStart())
			}
		}
		if p.toIndex < 0 {
			p.toIndex = p.names.find(&p.to, p.expected, p.name())
		}
		if p.toIndex >= 0 {
			p.common++
			p.expected = p.toIndex + 1
			if p.added || !differ && p.from.ValueAt(p.fromIndex).Equal(p.to.ValueAt(p.toIndex)) {
				continue
			}
		}
		if !Replicated(p.name()) {
			return true
		}
	}
	if p.added || p.common == p.to.Len() {
		return false
	}
	*p = pairs{from: p.to, to: p.from, added: true, fromIndex: -1}
	return p.next()
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
		if s.index == nil {
			s.index = make(map[string]int, n)
			for i := range n {
				s.index[m.name(i)] = i
			}
		}
		if pos, ok := s.index[name]; ok {
			return pos
		}
		return -1
	}
	for i := range n {
		pos := start + i
		if pos >= n {
			pos -= n
		}
		a := m.Index()[pos]
		if mayBeEqual := len(name) == a.NameLen() || !a.Plain(); mayBeEqual && a.Text(m.Bytes()) == name {
			s.steps += i
			return pos
		}
	}
	s.steps += n
	return -1
}

// differingMembers returns the members that differ by meaning between two maps, or that only one of the maps has. They
// are sorted by name. A value that is not a map has no members.
func differingMembers(old, new Value) []pair {
	var ps []pair
	x, y := membersFrom(old), membersFrom(new)
	for { // members of both maps are mostly in the same order
		afterX, afterY := x, y
		name, v, ok := afterX.member()
		other, w, otherOK := afterY.member()
		if !ok || !otherOK || !ddbjson.SameText(name, other) {
			break
		}
		if x, y = afterX, afterY; !v.Equal(w) {
			ps = append(ps, pair{ddbjson.View(ddbjson.TextOf(name)), v, w})
		}
	}
	for _, p := range pairUp(x, y) {
		if !p.old.Equal(p.new) {
			ps = append(ps, p)
		}
	}
	slices.SortFunc(ps, pair.compare)
	return ps
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
	var ps []pair
	for name, v, ok := old.member(); ok; name, v, ok = old.member() {
		ps = append(ps, pair{name: ddbjson.View(ddbjson.TextOf(name)), old: v})
	}
	for name, v, ok := new.member(); ok; name, v, ok = new.member() {
		ps = append(ps, pair{name: ddbjson.View(ddbjson.TextOf(name)), new: v})
	}
	slices.SortStableFunc(ps, pair.compare)
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

// elementPairs iterates over the elements that differ by meaning between two lists, and the elements that only the
// longer list has.
type elementPairs struct {
	pair
	index int // index of the current pair in the lists
	x, y  walker
}

// differingElements returns an iterator that is before its first pair. A value of another kind has no elements.
func differingElements(old, new Value) elementPairs {
	return elementPairs{index: -1, x: elementsFrom(old), y: elementsFrom(new)}
}

// next moves to the next pair. It returns false after the last pair.
func (p *elementPairs) next() bool {
	for {
		var ok, otherOK bool
		p.index++
		p.old, ok = p.x.element(KindL)
		p.new, otherOK = p.y.element(KindL)
		if !ok && !otherOK {
			return false
		}
		if !p.old.Equal(p.new) {
			return true
		}
	}
}

// elementsFrom returns a walker before the first element of v.
func elementsFrom(v Value) walker {
	if v.kind != KindL {
		return walk(emptyList)
	}
	return walk(v.raw)
}

var emptyList = []byte("[]")
