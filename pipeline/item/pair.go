package item

import (
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
)

// pair is what two maps hold under one name, or two lists under one index; one
// side may be absent.
type pair struct {
	name     string // in maps
	old, new Value
}

// pairs steps through the attributes of two images that differ by meaning, or that
// one image has alone: in the order of the old one, then those that only the new
// one has. It leaves out what replication adds.
type pairs struct {
	from, to Image
	added    bool // the second round, from the new image to the old one
	at, peer int  // where it stands: an attribute of from, and that of to, or -1
	in       int  // where the next one of to is, as a rule
	both     int  // attributes that are in both
	lost     search
}

// differing stands before the first pair.
func differing(old, new Image) pairs { return pairs{from: old, to: new, at: -1} }

// next is false behind the last pair.
func (p *pairs) next() bool {
	for p.at++; p.at < p.from.Len(); p.at++ {
		sure := false
		p.peer = -1
		if p.in < p.to.Len() {
			n, end := attrsAlike(&p.from, &p.to, p.at, p.in)
			p.at, p.in, p.both = p.at+n, p.in+n, p.both+n
			if p.at == p.from.Len() {
				break
			}
			if x := p.from.Index()[p.at]; p.in < p.to.Len() && end > x.Name()+len(x.RawName(p.from.Bytes())) { // of one name
				p.peer = p.in
				sure = unlike(p.from.Bytes(), end, p.to.Bytes(), end-x.Name()+p.to.Index()[p.in].Name())
			}
		}
		if p.peer < 0 {
			p.peer = p.lost.find(&p.to, p.in, p.name())
		}
		if p.peer >= 0 {
			p.both++
			p.in = p.peer + 1
			if p.added || !sure && p.from.ValueAt(p.at).Equal(p.to.ValueAt(p.peer)) {
				continue
			}
		}
		if !Replicated(p.name()) {
			return true
		}
	}
	if p.added || p.both == p.to.Len() {
		return false
	}
	*p = pairs{from: p.to, to: p.from, added: true, at: -1}
	return p.next()
}

func (p *pairs) name() string { return p.from.name(p.at) }

func (p *pairs) values() (old, new Value) {
	old = p.from.ValueAt(p.at)
	switch {
	case p.added:
		return new, old
	case p.peer >= 0:
		new = p.to.ValueAt(p.peer)
	}
	return old, new
}

// differingByName lists what pairs steps through, by name.
func differingByName(old, new Image) []pair {
	var ps []pair
	p := differing(old, new)
	for p.next() {
		old, new := p.values()
		ps = append(ps, pair{p.name(), old, new})
	}
	slices.SortFunc(ps, pair.compare)
	return ps
}

// search finds attributes by name that do not stand where they should.
type search struct {
	steps int            // in vain
	index map[string]int // once there were too many: an item may have tens of thousands of attributes
}

// find is the index of the attribute of that name, or -1. It looks from an index on,
// and then at those before.
func (s *search) find(m *Image, from int, name string) int {
	n := m.Len()
	if s.steps > 64+16*n {
		if s.index == nil {
			s.index = make(map[string]int, n)
			for i := range n {
				s.index[m.name(i)] = i
			}
		}
		if at, ok := s.index[name]; ok {
			return at
		}
		return -1
	}
	for i := range n {
		at := from + i
		if at >= n {
			at -= n
		}
		if a := m.Index()[at]; len(name) == a.NameLen() || a&(ddbjson.AttrEscaped|ddbjson.AttrFar) != 0 {
			if a.Text(m.Bytes()) == name {
				s.steps += i
				return at
			}
		}
	}
	s.steps += n
	return -1
}

// differingMembers lists the members of two maps that differ by meaning, or that
// one map has alone, by their names; what is no map has none.
func differingMembers(old, new Value) []pair {
	var ps []pair
	x, y := membersFrom(old), membersFrom(new)
	for { // in one order, as a rule
		behindX, behindY := x, y
		name, v, ok := behindX.member()
		other, w, too := behindY.member()
		if !ok || !too || !ddbjson.SameText(name, other) {
			break
		}
		if x, y = behindX, behindY; !v.Equal(w) {
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

// membersFrom stands before the first member of v.
func membersFrom(v Value) walker {
	if v.kind != KindM {
		return walk(emptyMap)
	}
	return walk(v.raw)
}

// pairUp sorts what is left of two maps, instead of looking each name up in the
// other map: a map may have tens of thousands of members, and looking up is a scan.
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

// elementPairs steps through the elements of two lists that differ by meaning, or
// that the longer list has alone.
type elementPairs struct {
	pair
	index int // of the pair
	x, y  walker
}

// differingElements stands before the first pair; what is no list has no elements.
func differingElements(old, new Value) elementPairs {
	return elementPairs{index: -1, x: elementsFrom(old), y: elementsFrom(new)}
}

// next is false behind the last pair.
func (p *elementPairs) next() bool {
	for {
		var ok, too bool
		p.index++
		p.old, ok = p.x.element(KindL)
		p.new, too = p.y.element(KindL)
		if !ok && !too {
			return false
		}
		if !p.old.Equal(p.new) {
			return true
		}
	}
}

// elementsFrom stands before the first element of v.
func elementsFrom(v Value) walker {
	if v.kind != KindL {
		return walk(emptyList)
	}
	return walk(v.raw)
}

var emptyList = []byte("[]")
