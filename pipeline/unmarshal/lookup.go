package unmarshal

import (
	"encoding/binary"
	"math/bits"
	"strings"
	"unicode/utf8"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
)

// fieldSlot is a place for a field in a table by the hashes of names.
type fieldSlot struct {
	first, last uint64       // of the name, as wordsOf has them
	field       *structField // nil: the place is free
}

// wordsOf are the first bytes of the name from, to of b, and the last eight, or 0 where
// there are no more: names of up to 16 bytes of the same length differ in one of them.
func wordsOf(b []byte, from, to int) (first, last uint64) {
	if uint(from)+8 > uint(len(b)) { // which the end of an item is not
		var name [8]byte
		copy(name[:], b[from:to])
		return binary.LittleEndian.Uint64(name[:]), 0
	}
	first = binary.LittleEndian.Uint64(b[from:])
	if n := uint(to - from); n <= 8 {
		return first & (1<<(8*n) - 1), 0
	}
	return first, binary.LittleEndian.Uint64(b[to-8:])
}

// hashOf is the hash of a name that has these words, the same for names of ASCII that
// differ in case only.
func hashOf(first, last uint64) int {
	const lower, odd = 0x2020202020202020, 0x9E3779B97F4A7C15
	high, low := bits.Mul64((first|lower)^bits.RotateLeft64(last|lower, 29), odd)
	return int(high ^ low)
}

// tableOf places fields by the hashes of their names, one after the other, with
// half of the places free. It is nil where a name is not of plain ASCII: such a name
// may be equal to another one without regard to case, or be spelt with escapes.
func tableOf(fields []*structField) []fieldSlot {
	size := 8
	for size < 2*len(fields) {
		size *= 2
	}
	table := make([]fieldSlot, size)
	for _, f := range fields {
		if !isPlain(f.name) {
			return nil
		}
		first, last := wordsOf([]byte(f.name), 0, len(f.name))
		at := hashOf(first, last) & (size - 1)
		for table[at].field != nil {
			at = (at + 1) & (size - 1)
		}
		table[at] = fieldSlot{first, last, f}
	}
	return table
}

func isPlain[T string | []byte](name T) bool {
	for i := range len(name) {
		if c := name[i]; c < ' ' || c >= utf8.RuneSelf || c == '\\' || c == '"' {
			return false
		}
	}
	return true
}

// find is the field of the attribute whose raw name is from, to of b, nil where there
// is none: as lookup finds it.
func (s *fieldSet) find(b []byte, from, to int) *structField {
	if table := s.table; len(table) > 0 {
		first, last := wordsOf(b, from, to)
		for at := hashOf(first, last); ; at++ {
			slot := &table[at&(len(table)-1)]
			if slot.field == nil {
				break
			}
			if slot.first == first && slot.last == last && len(slot.field.name) == to-from && (to-from <= 16 || slot.field.name == string(b[from:to])) {
				return slot.field
			}
		}
	}
	return s.findFolded(b[from:to])
}

// findFolded is the field of an attribute whose raw name is no field's exactly.
func (s *fieldSet) findFolded(raw []byte) *structField {
	if table := s.table; len(table) > 0 && isPlain(raw) {
		for at := hashOf(wordsOf(raw, 0, len(raw))); ; at++ {
			slot := &table[at&(len(table)-1)]
			if slot.field == nil {
				return nil
			}
			if len(slot.field.name) == len(raw) && strings.EqualFold(slot.field.name, ddbjson.View(raw)) {
				return slot.field
			}
		}
	}
	f, _ := s.lookup(ddbjson.View(ddbjson.TextOf(raw)))
	return f
}
