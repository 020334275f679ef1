package pipeline

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// attr is one attribute of an item, as ranges of the item's bytes.
type attr struct {
	name, nameEnd uint32 // without quotes
	from, to      uint32 // of the value, as Value.raw
	kind          Kind
	escaped       bool // the name holds an escape
}

func (a attr) value(doc []byte) Value { return Value{raw: doc[a.from:a.to:a.to], kind: a.kind} }

func (a attr) rawName(doc []byte) []byte { return doc[a.name:a.nameEnd] }

func (a attr) text(doc []byte) string {
	if a.escaped {
		return view(textOf(a.rawName(doc)))
	}
	return view(a.rawName(doc))
}

func (a attr) named(doc []byte, name string) bool {
	if a.escaped {
		return string(textOf(a.rawName(doc))) == name
	}
	return int(a.nameEnd-a.name) == len(name) && string(a.rawName(doc)) == name
}

// attrSlab keeps the indexes of a page's images in few pieces of memory.
type attrSlab struct {
	free []attr
	kept int
	// How far the page has been read, for a guess of what is still to come.
	read, left int
}

// largestPiece bounds what a wrong guess costs.
const largestPiece = 4096

func (s *attrSlab) keep(as []attr) []attr {
	if len(as) > len(s.free) {
		guess := (s.kept + len(as)) * (s.left >> 4) / (s.read>>4 + 1)
		s.free = make([]attr, max(len(as), min(guess, largestPiece)))
	}
	s.kept += len(as)
	n := copy(s.free, as)
	kept := s.free[:n:n]
	s.free = s.free[n:]
	return kept
}

// nameTable finds names that stand twice in a map, or members in a set: among up
// to 16 by comparing them, among more by hashing, so that many cost no more each
// than few.
type nameTable struct {
	slots []nameSlot
	// Names are chosen by whoever writes items: hashes differ from page to page, so
	// that nobody can choose names that collide.
	seed maphash.Seed
	keys [2]uint64
}

type nameSlot struct {
	hash  uint32
	index uint32 // of the attr, from 1; 0: free
}

const fewNames = 16

// duplicate is the index of the first attr whose name stands earlier in as, or -1.
func (t *nameTable) duplicate(doc []byte, as []attr, escaped bool) int {
	if escaped {
		return duplicateEscaped(doc, as)
	}
	if len(as) > fewNames {
		return t.duplicateHashed(doc, as)
	}
	// Names that differ in length, first or last byte differ; of the rest there are few.
	var seen uint64
	for i, a := range as {
		bit := uint64(1) << ((a.nameEnd - a.name) & 63)
		if a.nameEnd > a.name {
			bit = 1 << ((a.nameEnd - a.name + 7*uint32(doc[a.name]) + 5*uint32(doc[a.nameEnd-1])) & 63)
		}
		if seen&bit != 0 {
			for _, e := range as[:i] {
				if bytes.Equal(e.rawName(doc), a.rawName(doc)) {
					return i
				}
			}
		}
		seen |= bit
	}
	return -1
}

func (t *nameTable) duplicateHashed(doc []byte, as []attr) int {
	size := 64
	for size < 2*len(as) {
		size *= 2
	}
	if len(t.slots) < size {
		t.slots = make([]nameSlot, size)
		if t.seed == (maphash.Seed{}) {
			t.seed = maphash.MakeSeed()
			t.keys = [2]uint64{rand.Uint64(), rand.Uint64()}
		}
	}
	slots := t.slots[:size]
	clear(slots)
	for i, a := range as {
		hash := t.hash(doc, a)
		at := int(hash) & (size - 1)
		for ; slots[at].index != 0; at = (at + 1) & (size - 1) {
			if e := slots[at]; e.hash == hash && bytes.Equal(as[e.index-1].rawName(doc), a.rawName(doc)) {
				return i
			}
		}
		slots[at] = nameSlot{hash, uint32(i + 1)}
	}
	return -1
}

// hash reads names of up to 16 bytes as two words; most are.
func (t *nameTable) hash(doc []byte, a attr) uint32 {
	n := a.nameEnd - a.name
	if n > 16 || int(a.name)+16 > len(doc) {
		return uint32(maphash.Bytes(t.seed, a.rawName(doc)))
	}
	low, high := binary.LittleEndian.Uint64(doc[a.name:]), binary.LittleEndian.Uint64(doc[a.name+8:])
	if n <= 8 {
		low, high = low&(1<<(8*n)-1), 0
	} else {
		high &= 1<<(8*(n-8)) - 1
	}
	h, l := bits.Mul64(low^t.keys[0], high^t.keys[1]^uint64(n))
	return uint32(h ^ l)
}

// duplicateEscaped compares what the names mean. Nobody escapes names but to attack.
func duplicateEscaped(doc []byte, as []attr) int {
	seen := make(map[string]bool, len(as))
	for i, a := range as {
		name := a.text(doc)
		if seen[name] {
			return i
		}
		seen[name] = true
	}
	return -1
}

// duplicateNumber is the index of a number that stands twice in ds, or -1.
func duplicateNumber(ds []Decimal) int {
	if len(ds) <= fewNames {
		for i, d := range ds {
			if slices.Contains(ds[:i], d) {
				return i
			}
		}
		return -1
	}
	seen := make(map[Decimal]bool, len(ds))
	for i, d := range ds {
		if seen[d] {
			return i
		}
		seen[d] = true
	}
	return -1
}
