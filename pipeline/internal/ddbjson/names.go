package ddbjson

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/tablewake/tablewake/pipeline/decimal"
)

// nameTable finds names that stand twice in a map, or members in a set: among up
// to 16 by comparing them, among more by hashing, so that many cost no more each
// than few.
type nameTable struct {
	Slots []uint16 // index of a name from 1, at a place that its hash says; 0: free
	// Names are chosen by whoever writes items: nobody knows how they hash here, so that
	// nobody can choose names that collide.
	seed maphash.Seed
	keys [2]uint64
}

const (
	fewNames  = 16
	manyNames = 1<<16 - 1
)

// duplicate is the index of the first attr whose name stands earlier in as, or -1.
func (t *nameTable) duplicate(doc []byte, as []Attr, escaped bool) int {
	if escaped || len(as) > manyNames {
		return duplicateText(doc, as)
	}
	if len(as) > fewNames {
		return t.duplicateHashed(doc, as)
	}
	// Names that differ in length, first or last byte differ; of the rest there are few.
	var seen uint64
	for i := range as {
		name := as[i].RawName(doc)
		bit := uint64(1)
		if n := len(name); n > 0 {
			bit = 1 << ((n + 7*int(name[0]) + 5*int(name[n-1])) & 63)
		}
		if seen&bit != 0 {
			for e := range i {
				if bytes.Equal(as[e].RawName(doc), name) {
					return i
				}
			}
		}
		seen |= bit
	}
	return -1
}

// duplicateHashed has eight places a name, so that few names share one: a place
// that is taken is a branch nobody foresees.
func (t *nameTable) duplicateHashed(doc []byte, as []Attr) int {
	size := 256
	for size < 8*len(as) {
		size *= 2
	}
	if len(t.Slots) < size {
		t.Slots = make([]uint16, size)
		if t.seed == (maphash.Seed{}) {
			t.seed = maphash.MakeSeed()
			t.keys = [2]uint64{rand.Uint64(), rand.Uint64()}
		}
	}
	slots := t.Slots[:size]
	clear(slots)
	for i := range as {
		name := as[i].RawName(doc)
		at := int(t.hash(doc[as[i].Name():], name)) & (size - 1)
		for slots[at] != 0 {
			if bytes.Equal(as[slots[at]-1].RawName(doc), name) {
				return i
			}
			at = (at + 1) & (size - 1)
		}
		slots[at] = uint16(i + 1)
	}
	return -1
}

// hash reads names of up to 16 bytes as two words; most are. The name is the first of from.
func (t *nameTable) hash(from, name []byte) uint32 {
	n := len(name)
	if n > 16 {
		return uint32(maphash.Bytes(t.seed, name))
	}
	var words [16]byte // where fewer bytes are behind the name's start
	if len(from) < len(words) {
		copy(words[:], from)
		from = words[:]
	}
	low, high := binary.LittleEndian.Uint64(from), binary.LittleEndian.Uint64(from[8:])
	if n <= 8 {
		low, high = low&(1<<(8*n)-1), 0
	} else {
		high &= 1<<(8*(n-8)) - 1
	}
	h, l := bits.Mul64(low^t.keys[0], high^t.keys[1]^uint64(n))
	return uint32(h ^ l)
}

// duplicateText compares what names mean. Nobody escapes names, or has so many, but to attack.
func duplicateText(doc []byte, as []Attr) int {
	seen := make(map[string]bool, len(as))
	for i := range as {
		name := as[i].Text(doc)
		if seen[name] {
			return i
		}
		seen[name] = true
	}
	return -1
}

// duplicateNumber is the index of a number that stands twice in ds, or -1.
func duplicateNumber(ds []decimal.Decimal) int {
	if len(ds) <= fewNames {
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
