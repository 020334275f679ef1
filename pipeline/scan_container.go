package pipeline

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/tablewake/tablewake/pipeline/internal/simd"
)

// item reads an item, which is an object of attributes, and returns its index. If an item like it was read before, doc
// and attrs are that item's bytes and index.
func (s *scanner) item(i int, doc []byte, attrs []attr) (as []attr, next int) {
	s.origin, s.stack = i, s.stack[:0]
	s.twin.follow(doc, attrs)
	next = s.members(i, 0)
	if next < 0 {
		return nil, -1
	}
	if uint64(next-i) > math.MaxUint32 { // {}, with white space
		return nil, s.fail(i, errHuge)
	}
	return s.slab.keep(s.stack), next
}

// members reads a map of attributes and leaves their index on the stack. Those of an
// item, at depth 0, may have a twin.
func (s *scanner) members(i, depth int) int {
	if s.peek(i) != '{' {
		return s.fail(i, errWantMap)
	}
	if depth > maxNesting {
		return s.fail(i, errNesting)
	}
	b, base := s.b, len(s.stack)
	if i = s.space(i + 1); s.peek(i) == '}' {
		return i + 1
	}
	for done := false; !done; {
		if s.peek(i) != '"' {
			return s.fail(i, errToken)
		}
		var tag typeTag
		var end, at int
		inName := false
		if depth == 0 && s.twin.next < len(s.twin.attrs) {
			if i, done = s.share(i); done {
				break
			}
			if a := s.twin.attrs[s.twin.next]; !a.far() && s.twin.same > a.nameLen()+a.gap() { // the name and the tag are the same
				end = i + 1 + a.nameLen()
				at = end + a.gap()
				tag, inName = a.tag(), a.escaped()
				if tag <= tagB {
					at-- // the quote
				}
				s.twin.next++
			}
		}
		name := i + 1
		if tag == noTag {
			escapes := s.escapes
			end = -1
			if name+8 <= len(b) { // most names end within eight bytes
				end = name + bits.TrailingZeros64(simd.Stops(binary.LittleEndian.Uint64(b[name:])))>>3
			}
			if uint(end) >= uint(len(b)) || b[end] != '"' {
				if end = s.text(name); end < 0 {
					return -1
				}
			}
			inName = s.escapes != escapes
			at = end + 2
			if at >= len(b) || b[end+1] != ':' || b[at] <= ' ' {
				if at = s.colon(end + 1); at < 0 {
					return -1
				}
			}
			if depth == 0 {
				s.twin.met(b[name:end])
			}
			if tag = s.shortTag(at); tag != noTag {
				at += 5
			} else if tag, at = s.tag(at); at < 0 {
				return -1
			}
		}
		from, to, next := s.content(tag, at, depth)
		if next < 0 {
			return -1
		}
		if i = next + 1; i >= len(b) || b[next] != ',' || b[i] != '"' {
			if i, done = s.separator(next, '}'); i < 0 {
				return -1
			}
		}
		if next = i; !done {
			next++ // behind the quote
		}
		o := s.origin
		if uint64(next-o) > math.MaxUint32 {
			return s.fail(o, errHuge)
		}
		s.stack = append(s.stack, extent{name - o, end - o, from - o, to - o, tag &^ untagged, inName}.pack(next-o))
	}
	if depth == 0 && s.twin.ordered {
		return i
	}
	escaped := false
	for _, a := range s.stack[base:] {
		escaped = escaped || a.escaped()
	}
	if twice := s.names.duplicate(s.b[s.origin:], s.stack[base:], escaped); twice >= 0 {
		return s.fail(s.origin+s.stack[base+twice].name(), errDuplicate)
	}
	return i
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
func (s *scanner) set(i int, tag typeTag) int {
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
		switch tag {
		case tagSS:
			to = s.text(from)
		case tagNS:
			if to = s.number(from); to >= 0 {
				s.numbers = append(s.numbers, decimalOf(s.b[from:to]))
			}
		default:
			to = s.base64(from)
		}
		if to < 0 {
			return -1
		}
		s.stack = append(s.stack, packName(from-s.origin, to-s.origin))
		if i, done = s.separator(to+1, ']'); i < 0 {
			return -1
		}
	}
	var twice int // index of a member that was there before, or -1
	if tag == tagNS {
		twice = duplicateNumber(s.numbers)
	} else {
		escaped := s.escapes != escapes
		for n := range s.stack[base:] {
			if escaped {
				s.stack[base+n] |= attrEscaped
			}
		}
		twice = s.names.duplicate(s.b[s.origin:], s.stack[base:], escaped)
	}
	if twice >= 0 {
		return s.fail(s.origin+s.stack[base+twice].name(), errMember)
	}
	s.stack = s.stack[:base]
	return i
}
