package pipeline

import (
	"encoding/binary"
	"math/bits"
	"strings"
	"unicode/utf8"
)

// tableOf places fields by the hashes of their names, one after the other, with
// half of the places free. It is nil where a name is not of plain ASCII: such a name
// may be equal to another one without regard to case, or be spelt with escapes.
func tableOf(fields []*structField) []*structField {
	size := 8
	for size < 2*len(fields) {
		size *= 2
	}
	table := make([]*structField, size)
	for _, f := range fields {
		if !isPlain(f.name) {
			return nil
		}
		at := foldedHash([]byte(f.name)) & (size - 1)
		for table[at] != nil {
			at = (at + 1) & (size - 1)
		}
		table[at] = f
	}
	return table
}

func isPlain[T string | []byte](name T) bool {
	for i := range len(name) {
		if name[i] >= utf8.RuneSelf || name[i] == '\\' {
			return false
		}
	}
	return true
}

// find is the field of the attribute whose raw name that is, nil where there is
// none: as lookup finds it.
func (s *fieldSet) find(raw []byte) *structField {
	var folded *structField // the first in the struct's order
	if s.table != nil {
		last := len(s.table) - 1
		for at := foldedHash(raw) & last; s.table[at] != nil; at = (at + 1) & last {
			f := s.table[at]
			if f.name == string(raw) {
				return f
			}
			if folded == nil && len(f.name) == len(raw) && strings.EqualFold(f.name, view(raw)) {
				folded = f
			}
		}
		if isPlain(raw) {
			return folded
		}
	}
	f, _ := s.lookup(view(textOf(raw)))
	return f
}

// foldedHash is a hash of a name of ASCII without regard to case.
func foldedHash(name []byte) int {
	const lower, odd = 0x2020202020202020, 0x9E3779B97F4A7C15
	h := uint64(len(name))
	for ; len(name) > 8; name = name[8:] {
		high, low := bits.Mul64((binary.LittleEndian.Uint64(name)|lower)^h, odd)
		h = high ^ low
	}
	var w uint64
	switch n := len(name); {
	case n == 8:
		w = binary.LittleEndian.Uint64(name)
	case n >= 4:
		w = uint64(binary.LittleEndian.Uint32(name)) | uint64(binary.LittleEndian.Uint32(name[n-4:]))<<32
	case n > 0:
		w = uint64(name[0]) | uint64(name[n/2])<<8 | uint64(name[n-1])<<16
	}
	high, low := bits.Mul64((w|lower)^h, odd)
	return int((high ^ low) >> 7 & (1<<31 - 1))
}
