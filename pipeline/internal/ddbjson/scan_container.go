package ddbjson

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/tablewake/tablewake/pipeline/internal/simd"
)

// Item reads an Item, which is an object of attributes, and returns its index. If an Item like it was read before, doc
// and attrs are that Item's bytes and index.
func (s *Scanner) Item(i int, doc []byte, attrs []Attr) (as []Attr, next int) {
	s.origin, s.Stack = i, s.Stack[:0]
	s.twin.follow(doc, attrs)
	next = s.members(i, 0)
	if next < 0 {
		return nil, -1
	}
	if uint64(next-i) > math.MaxUint32 { // {}, with white space
		return nil, s.Fail(i, errHuge)
	}
	return s.Slab.Keep(s.Stack), next
}

// members reads a map of attributes and leaves their index on the stack. Those of an
// item, at depth 0, may have a twin.
func (s *Scanner) members(i, depth int) int {
	if s.Peek(i) != '{' {
		return s.Fail(i, errWantMap)
	}
	if depth > maxNesting {
		return s.Fail(i, errNesting)
	}
	b, base := s.B, len(s.Stack)
	if i = s.Space(i + 1); s.Peek(i) == '}' {
		return i + 1
	}
	for done := false; !done; {
		if s.Peek(i) != '"' {
			return s.Fail(i, ErrToken)
		}
		var tag Tag
		var end, at int
		inName := false
		if depth == 0 && s.twin.next < len(s.twin.attrs) {
			if i, done = s.share(i); done {
				break
			}
			if a := s.twin.attrs[s.twin.next]; !a.Far() && s.twin.same > a.NameLen()+a.Gap() { // the name and the tag are the same
				end = i + 1 + a.NameLen()
				at = end + a.Gap()
				tag, inName = a.Tag(), a.escaped()
				if tag <= TagB {
					at-- // the quote
				}
				s.twin.next++
			}
		}
		name := i + 1
		if tag == NoTag {
			escapes := s.Escapes
			end = -1
			if name+8 <= len(b) { // most names end within eight bytes
				end = name + bits.TrailingZeros64(simd.Stops(binary.LittleEndian.Uint64(b[name:])))>>3
			}
			if uint(end) >= uint(len(b)) || b[end] != '"' {
				if end = s.Text(name); end < 0 {
					return -1
				}
			}
			inName = s.Escapes != escapes
			at = end + 2
			if at >= len(b) || b[end+1] != ':' || b[at] <= ' ' {
				if at = s.colon(end + 1); at < 0 {
					return -1
				}
			}
			if depth == 0 {
				s.twin.met(b[name:end])
			}
			if tag = s.shortTag(at); tag != NoTag {
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
			if i, done = s.Separator(next, '}'); i < 0 {
				return -1
			}
		}
		if next = i; !done {
			next++ // behind the quote
		}
		o := s.origin
		if uint64(next-o) > math.MaxUint32 {
			return s.Fail(o, errHuge)
		}
		s.Stack = append(s.Stack, extent{name - o, end - o, from - o, to - o, tag &^ untagged, inName}.pack(next-o))
	}
	if depth == 0 && s.twin.ordered {
		return i
	}
	escaped := false
	for _, a := range s.Stack[base:] {
		escaped = escaped || a.escaped()
	}
	if twice := s.Names.duplicate(s.B[s.origin:], s.Stack[base:], escaped); twice >= 0 {
		return s.Fail(s.origin+s.Stack[base+twice].Name(), errDuplicate)
	}
	return i
}

// elements reads a list.
func (s *Scanner) elements(i, depth int) int {
	if s.Peek(i) != '[' {
		return s.Fail(i, errWantList)
	}
	if depth > maxNesting {
		return s.Fail(i, errNesting)
	}
	if i = s.Space(i + 1); s.Peek(i) == ']' {
		return i + 1
	}
	for done := false; !done; {
		_, _, _, next := s.Value(i, depth)
		if next < 0 {
			return -1
		}
		if i, done = s.Separator(next, ']'); i < 0 {
			return -1
		}
	}
	return i
}

// set reads a set. DynamoDB keeps neither empty sets nor members that are equal.
func (s *Scanner) set(i int, tag Tag) int {
	if s.Peek(i) != '[' {
		return s.Fail(i, errWantList)
	}
	start := i
	if i = s.Space(i + 1); s.Peek(i) == ']' {
		return s.Fail(start, errEmptySet)
	}
	base, escapes := len(s.Stack), s.Escapes
	s.Numbers = s.Numbers[:0]
	for done := false; !done; {
		if s.Peek(i) != '"' {
			return s.Fail(i, ErrWantString)
		}
		from, to := i+1, 0
		switch tag {
		case TagSS:
			to = s.Text(from)
		case TagNS:
			if to = s.number(from); to >= 0 {
				s.Numbers = append(s.Numbers, DecimalOf(s.B[from:to]))
			}
		default:
			to = s.base64(from)
		}
		if to < 0 {
			return -1
		}
		s.Stack = append(s.Stack, packName(from-s.origin, to-s.origin))
		if i, done = s.Separator(to+1, ']'); i < 0 {
			return -1
		}
	}
	var twice int // index of a member that was there before, or -1
	if tag == TagNS {
		twice = duplicateNumber(s.Numbers)
	} else {
		escaped := s.Escapes != escapes
		for n := range s.Stack[base:] {
			if escaped {
				s.Stack[base+n] |= AttrEscaped
			}
		}
		twice = s.Names.duplicate(s.B[s.origin:], s.Stack[base:], escaped)
	}
	if twice >= 0 {
		return s.Fail(s.origin+s.Stack[base+twice].Name(), errMember)
	}
	s.Stack = s.Stack[:base]
	return i
}
