package ddbjson

import (
	"bytes"
	"hash/maphash"
	"slices"

	"github.com/tablewake/tablewake/pipeline/decimal"
)

// nameTable finds duplicate names in a map, or duplicate texts in a set. It compares up to 16 names with each other. If
// there are more names, it hashes them, so that the cost of each name does not grow with their number.
type nameTable struct {
	slots []uint16     // hash table: 1 + the index of a name; 0 if the slot is free
	seed  maphash.Seed // random, so that the writers of items cannot choose names with the same hash
}

const (
	maxCompared = 16
	maxHashed   = 1<<16 - 1
)

// indexOfDuplicate returns the index of the first attribute whose name repeats an earlier name, or -1. escaped means
// that a name has an escape.
func (t *nameTable) indexOfDuplicate(doc []byte, attrs []Attr, escaped bool) int {
	if escaped || len(attrs) > maxHashed {
		return indexOfDuplicateText(doc, attrs)
	}
	if len(attrs) > maxCompared {
		return t.indexOfDuplicateHashed(doc, attrs)
	}
	// Most names differ in length, first byte or last byte. A hash of these three values selects one of the 64 bits of
	// seen. A name is compared with the names before it only if its bit is already set.
	var seen uint64
	for i := range attrs {
		name := attrs[i].RawName(doc)
		bit := uint64(1)
		if n := len(name); n > 0 {
			bit = 1 << ((n + 7*int(name[0]) + 5*int(name[n-1])) & 63)
		}
		if seen&bit != 0 {
			for earlier := range i {
				if bytes.Equal(attrs[earlier].RawName(doc), name) {
					return i
				}
			}
		}
		seen |= bit
	}
	return -1
}

// indexOfDuplicateHashed does the same as indexOfDuplicate, for many names. The table has eight slots for each name, so
// that few names find their slot occupied: the processor mispredicts that branch, which is slow.
func (t *nameTable) indexOfDuplicateHashed(doc []byte, attrs []Attr) int {
	size := 256
	for size < 8*len(attrs) {
		size *= 2
	}
	if len(t.slots) < size {
		t.slots = make([]uint16, size)
		if t.seed == (maphash.Seed{}) {
			t.seed = maphash.MakeSeed()
		}
	}
	slots := t.slots[:size]
	clear(slots)
	for i := range attrs {
		name := attrs[i].RawName(doc)
		slot := int(maphash.Bytes(t.seed, name)) & (size - 1)
		for slots[slot] != 0 {
			if bytes.Equal(attrs[slots[slot]-1].RawName(doc), name) {
				return i
			}
			slot = (slot + 1) & (size - 1)
		}
		slots[slot] = uint16(i + 1)
	}
	return -1
}

// indexOfDuplicateText does the same as indexOfDuplicate, for names with escapes, and for more than maxHashed names.
// Both are very rare in real items.
func indexOfDuplicateText(doc []byte, attrs []Attr) int {
	seen := make(map[string]bool, len(attrs))
	for i := range attrs {
		name := attrs[i].Text(doc)
		if seen[name] {
			return i
		}
		seen[name] = true
	}
	return -1
}

// indexOfDuplicateNumber returns the index of the first number that equals an earlier number, or -1.
func indexOfDuplicateNumber(ds []decimal.Decimal) int {
	if len(ds) <= maxCompared {
		for i, d := range ds {
			if slices.Contains(ds[:i], d) {
				return i
			}
		}
		return -1
	}
	seen := make(map[decimal.Decimal]bool, len(ds))
	for i, d := range ds {
		if seen[d] {
			return i
		}
		seen[d] = true
	}
	return -1
}
