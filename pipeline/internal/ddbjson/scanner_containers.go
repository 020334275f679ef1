package ddbjson

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/tablewake/tablewake/pipeline/internal/simd"
)

// Item reads the object of an item's attributes and returns its index. Positions in the index count from i. doc is a
// similar item that was read before, and attrs is its index. Both may be nil.
func (s *Scanner) Item(i int, doc []byte, attrs []Attr) (index []Attr, next int) {
	s.origin, s.stack = i, s.stack[:0]
	s.previous.start(doc, attrs)
	next = s.members(i, 0)
	if next < 0 {
		return nil, -1
	}
	if uint64(next-i) > math.MaxUint32 { // an empty item with much white space; members checks any other item
		return nil, s.Fail(i, errHuge)
	}
	return s.Arena.Keep(s.stack), next
}

// members reads the attributes of an item (depth 0) or the members of a map, and leaves their index on the stack. It
// compares an item, but no map inside it, with a previous image.
func (s *Scanner) members(i, depth int) int {
	if s.Peek(i) != '{' {
		return s.Fail(i, errWantMap)
	}
	if depth > maxNesting {
		return s.Fail(i, errNesting)
	}
	b, base := s.Input, len(s.stack)
	i = s.SkipSpace(i + 1)
	if s.Peek(i) == '}' {
		return i + 1
	}
	for ended := false; !ended; {
		if s.Peek(i) != '"' {
			return s.Fail(i, ErrToken)
		}
		// The name and the type tag, as the previous image had them, or as they are written.
		var tag Tag
		var nameEnd, content int
		escaped := false
		if depth == 0 && s.previous.hasNext() {
			i, ended = s.takeEqual(i)
			if ended {
				break
			}
			nameEnd, content, tag, escaped = s.previous.expectedHead(i)
		}
		nameStart := i + 1
		if tag == NoTag {
			if nameEnd, content, tag, escaped = s.memberHead(nameStart); content < 0 {
				return -1
			}
			if depth == 0 {
				s.previous.align(b[nameStart:nameEnd])
			}
		}
		from, to, next := s.readContent(tag, content, depth)
		if next < 0 {
			return -1
		}
		// The comma, or the end of the map. Most JSON has no space around the comma.
		i = next + 1
		isCompact := i < len(b) && b[next] == ',' && b[i] == '"'
		if !isCompact {
			if i, ended = s.Separator(next, '}'); i < 0 {
				return -1
			}
		}
		// The entry of the index, with positions from the start of the item.
		nextName := i // the end of the item after the last member
		if !ended {
			nextName++ // after the quote
		}
		origin := s.origin
		if uint64(nextName-origin) > math.MaxUint32 {
			return s.Fail(origin, errHuge)
		}
		s.stack = append(s.stack, attrRanges{nameStart - origin, nameEnd - origin, from - origin, to - origin,
			tag &^ emptyMap, escaped}.pack(nextName-origin))
	}
	if depth == 0 && s.previous.ordered {
		return i
	}
	return s.checkNames(i, base)
}

// memberHead reads the head of a member, from the first byte of its name up to the content of its value. content is the
// position of the content, or of white space before the content. It is -1 if the head is invalid.
func (s *Scanner) memberHead(nameStart int) (nameEnd, content int, tag Tag, escaped bool) {
	b, escapes := s.Input, s.Escapes
	nameEnd = -1
	if nameStart+8 <= len(b) { // most names end within eight bytes
		nameEnd = nameStart + bits.TrailingZeros64(simd.StopMask(binary.LittleEndian.Uint64(b[nameStart:])))>>3
	}
	if uint(nameEnd) >= uint(len(b)) || b[nameEnd] != '"' {
		if nameEnd = s.Text(nameStart); nameEnd < 0 {
			return 0, -1, NoTag, false
		}
	}
	escaped = s.Escapes != escapes
	content = nameEnd + 2
	if content >= len(b) || b[nameEnd+1] != ':' || b[content] <= ' ' {
		if content = s.readColon(nameEnd + 1); content < 0 {
			return 0, -1, NoTag, false
		}
	}
	tag = s.shortTag(content)
	if tag != NoTag {
		content += shortTagLen
	} else {
		tag, content = s.readTag(content)
	}
	return nameEnd, content, tag, escaped
}

// checkNames returns i if the attributes on the stack from base on have different names. Otherwise it fails.
func (s *Scanner) checkNames(i, base int) int {
	attrs := s.stack[base:]
	escaped := false
	for _, a := range attrs {
		escaped = escaped || a.escaped()
	}
	if repeated := s.names.indexOfDuplicate(s.Input[s.origin:], attrs, escaped); repeated >= 0 {
		return s.Fail(s.origin+attrs[repeated].NameStart(), errDuplicate)
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
	i = s.SkipSpace(i + 1)
	if s.Peek(i) == ']' {
		return i + 1
	}
	for ended := false; !ended; {
		_, _, _, next := s.Value(i, depth)
		if next < 0 {
			return -1
		}
		if i, ended = s.Separator(next, ']'); i < 0 {
			return -1
		}
	}
	return i
}

// set reads a set. DynamoDB allows neither empty sets nor equal members.
func (s *Scanner) set(i int, tag Tag) int {
	if s.Peek(i) != '[' {
		return s.Fail(i, errWantList)
	}
	start := i
	i = s.SkipSpace(i + 1)
	if s.Peek(i) == ']' {
		return s.Fail(start, errEmptySet)
	}
	base, escapes := len(s.stack), s.Escapes
	s.numbers = s.numbers[:0]
	for ended := false; !ended; {
		if s.Peek(i) != '"' {
			return s.Fail(i, ErrWantString)
		}
		from, to := i+1, 0
		switch tag {
		case TagSS:
			to = s.Text(from)
		case TagNS:
			to = s.number(from)
			if to >= 0 {
				s.numbers = append(s.numbers, DecimalOf(s.Input[from:to]))
			}
		default:
			to = s.base64(from)
		}
		if to < 0 {
			return -1
		}
		s.stack = append(s.stack, packName(from-s.origin, to-s.origin))
		if i, ended = s.Separator(to+1, ']'); i < 0 {
			return -1
		}
	}
	members := s.stack[base:]
	if repeated := s.duplicateMember(members, tag, s.Escapes != escapes); repeated >= 0 {
		return s.Fail(s.origin+members[repeated].NameStart(), errMember)
	}
	s.stack = s.stack[:base]
	return i
}

// duplicateMember returns the index of a member of a set that equals an earlier one, or -1. escaped means that a member
// has an escape.
func (s *Scanner) duplicateMember(members []Attr, set Tag, escaped bool) int {
	if set == TagNS {
		return indexOfDuplicateNumber(s.numbers)
	}
	if escaped {
		for i := range members {
			members[i] |= attrEscaped
		}
	}
	return s.names.indexOfDuplicate(s.Input[s.origin:], members, escaped)
}
