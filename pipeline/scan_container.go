package pipeline

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// image reads an item: an object of attributes.
func (s *scanner) image(i int) (Image, int) {
	s.origin, s.stack = i, s.stack[:0]
	next := s.members(i, 0)
	if next < 0 {
		return Image{}, -1
	}
	if uint64(next-i) > 1<<32-1 {
		return Image{}, s.fail(i, errHuge)
	}
	return Image{doc: s.b[i:next:next], attrs: s.slab.keep(s.stack)}, next
}

// members reads a map of attributes and leaves their index on the stack.
func (s *scanner) members(i, depth int) int {
	if s.peek(i) != '{' {
		return s.fail(i, errWantMap)
	}
	if depth > maxNesting {
		return s.fail(i, errNesting)
	}
	b, base := s.b, len(s.stack)
	escaped := false
	if i = s.space(i + 1); s.peek(i) == '}' {
		return i + 1
	}
	for done := false; !done; {
		if s.peek(i) != '"' {
			return s.fail(i, errToken)
		}
		name, escapes := i+1, s.escapes
		end := -1
		if name+8 <= len(b) { // most names end within eight bytes
			end = name + bits.TrailingZeros64(stops(binary.LittleEndian.Uint64(b[name:])))>>3
		}
		if uint(end) >= uint(len(b)) || b[end] != '"' {
			if end = s.text(name); end < 0 {
				return -1
			}
		}
		inName := s.escapes != escapes
		escaped = escaped || inName
		at := end + 2
		if at >= len(b) || b[end+1] != ':' || b[at] <= ' ' {
			if at = s.colon(end + 1); at < 0 {
				return -1
			}
		}
		kind, from, to, next := s.value(at, depth)
		if next < 0 {
			return -1
		}
		a := s.push()
		a.name, a.nameEnd = uint32(name-s.origin), uint32(end-s.origin)
		a.from, a.to = uint32(from-s.origin), uint32(to-s.origin)
		a.kind, a.escaped = kind, inName
		if i = next + 1; i < len(b) && b[next] == ',' && b[i] == '"' {
			continue
		}
		if i, done = s.separator(next, '}'); i < 0 {
			return -1
		}
	}
	if twice := s.names.duplicate(s.b[s.origin:], s.stack[base:], escaped); twice >= 0 {
		return s.fail(s.origin+int(s.stack[base+twice].name), errDuplicate)
	}
	return i
}

// push makes room for an attr, to be filled in place: to build one and copy it
// costs a tenth of the scan. Its fields hold whatever they held.
func (s *scanner) push() *attr {
	n := len(s.stack)
	if n == cap(s.stack) {
		s.stack = slices.Grow(s.stack, max(32, n))
	}
	s.stack = s.stack[:n+1]
	return &s.stack[n]
}

// elements reads a list.
func (s *scanner) elements(i, depth int) int {
	if s.peek(i) != '[' {
		return s.fail(i, errWantList)
	}
	if depth > maxNesting {
		return s.fail(i, errNesting)
	}
	if i = s.space(i + 1); s.peek(i) == ']' {
		return i + 1
	}
	for done := false; !done; {
		_, _, _, next := s.value(i, depth)
		if next < 0 {
			return -1
		}
		if i, done = s.separator(next, ']'); i < 0 {
			return -1
		}
	}
	return i
}

// set reads a set. DynamoDB keeps neither empty sets nor members that are equal.
func (s *scanner) set(i int, kind Kind) int {
	if s.peek(i) != '[' {
		return s.fail(i, errWantList)
	}
	start := i
	if i = s.space(i + 1); s.peek(i) == ']' {
		return s.fail(start, errEmptySet)
	}
	base, escapes := len(s.stack), s.escapes
	s.numbers = s.numbers[:0]
	for done := false; !done; {
		if s.peek(i) != '"' {
			return s.fail(i, errWantString)
		}
		from, to := i+1, 0
		switch kind {
		case KindSS:
			to = s.text(from)
		case KindNS:
			if to = s.number(from); to >= 0 {
				s.numbers = append(s.numbers, decimalOf(s.b[from:to]))
			}
		default:
			to = s.base64(from)
		}
		if to < 0 {
			return -1
		}
		a := s.push()
		a.name, a.nameEnd = uint32(from-s.origin), uint32(to-s.origin)
		if i, done = s.separator(to+1, ']'); i < 0 {
			return -1
		}
	}
	var twice int // index of a member that was there before, or -1
	if kind == KindNS {
		twice = duplicateNumber(s.numbers)
	} else {
		escaped := s.escapes != escapes
		for n := range s.stack[base:] {
			s.stack[base+n].escaped = escaped
		}
		twice = s.names.duplicate(s.b[s.origin:], s.stack[base:], escaped)
	}
	if twice >= 0 {
		return s.fail(s.origin+int(s.stack[base+twice].name), errMember)
	}
	s.stack = s.stack[:base]
	return i
}
