package ddbjson

import (
	"bytes"
	"encoding/binary"
)

// Tag is the tag of a value in DynamoDB's JSON. A [item.Kind] has the number of its tag.
type Tag uint8

// The tags. NoTag is that of {}, which DynamoDB Local writes for an empty map.
const (
	NoTag Tag = iota
	TagS
	TagN
	TagB
	TagBOOL
	TagNULL
	TagM
	TagL
	TagSS
	TagNS
	TagBS
)

// compactTag is {"?": as every encoder of AWS writes it, the tag left out.
const (
	compactTag  = '{' | '"'<<8 | '"'<<24 | ':'<<32
	compactMask = 0xff_ff_00_ff_ff
)

// Value reads one attribute Value, as {"S":"x"}. from and to are the range of what
// the tag stands for, strings without their quotes.
func (s *Scanner) Value(i, depth int) (tag Tag, from, to, next int) {
	tag, at := s.shortTag(i), i+5
	if tag == NoTag {
		if tag, at = s.tag(i); at < 0 {
			return NoTag, 0, 0, -1
		}
	}
	from, to, next = s.content(tag, at, depth)
	return tag &^ untagged, from, to, next
}

// shortTag is the tag of the value at i where a tag of one letter stands there without
// white space, as in {"S":, and takes five bytes; else noTag.
func (s *Scanner) shortTag(i int) Tag {
	if uint(i)+8 > uint(len(s.B)) {
		return NoTag
	}
	w := binary.LittleEndian.Uint64(s.B[i:])
	if w&compactMask != compactTag {
		return NoTag
	}
	return shortTags[byte(w>>16)]
}

var shortTags = [256]Tag{'S': TagS, 'N': TagN, 'B': TagB, 'M': TagM, 'L': TagL}

// content reads what stands behind a value's tag, and the bracket that closes the value.
// from and to are its range, strings without their quotes.
func (s *Scanner) content(tag Tag, at, depth int) (from, to, next int) {
	if s.Peek(at) <= ' ' && tag&untagged == 0 {
		at = s.Space(at)
	}
	switch tag { // with S, N and B apart: a branch more on the way to each is two percent of a record
	case TagS:
		if s.Peek(at) != '"' {
			return 0, 0, s.Fail(at, ErrWantString)
		}
		from = at + 1
		to = s.Text(from)
		next = to + 1
	case TagN:
		if s.Peek(at) != '"' {
			return 0, 0, s.Fail(at, ErrWantString)
		}
		from = at + 1
		to = s.number(from)
		next = to + 1
	case TagB:
		if s.Peek(at) != '"' {
			return 0, 0, s.Fail(at, ErrWantString)
		}
		from = at + 1
		to = s.base64(from)
		next = to + 1
	case TagM:
		base := len(s.Stack)
		next = s.inner(at, depth+1)
		if next < 0 {
			return 0, 0, -1
		}
		s.Stack = s.Stack[:base]
		from, to = at, next
	case TagL:
		next = s.elements(at, depth+1)
		from, to = at, next
	case TagSS, TagNS, TagBS:
		next = s.set(at, tag)
		from, to = at, next
	case TagBOOL:
		next = s.literal(at)
		from, to = at, next
	case TagNULL:
		if next = s.literal(at); next == at+5 {
			next = s.Fail(at, errWantNull)
		}
		from, to = at, next
	default: // {}, whose end is at
		return bytes.LastIndexByte(s.B[:at], '{'), at, at
	}
	if to < 0 {
		return 0, 0, -1
	}
	if s.Peek(next) != '}' {
		if next = s.Space(next); s.Peek(next) != '}' {
			err := ErrToken
			if s.Peek(next) == ',' {
				err = errTwoTags
			}
			return 0, 0, s.Fail(next, err)
		}
	}
	return from, to, next + 1
}

// untagged marks the tagM of {}, where that is allowed.
const untagged = 0x80

// tag reads {"TAG": and returns the position behind it. {} is read whole.
func (s *Scanner) tag(i int) (Tag, int) {
	if s.Peek(i) != '{' {
		return NoTag, s.Fail(i, errValue)
	}
	start := i
	i = s.Space(i + 1)
	switch s.Peek(i) {
	case '"':
	case '}':
		if !s.EmptyMaps {
			return NoTag, s.Fail(start, errNoTag)
		}
		s.SawEmpty++
		return TagM | untagged, i + 1
	default:
		return NoTag, s.Fail(i, ErrToken)
	}
	end := s.Text(i + 1)
	if end < 0 {
		return NoTag, -1
	}
	tag := tagOf(TextOf(s.B[i+1 : end]))
	if tag == NoTag {
		return NoTag, s.Fail(i, errTag)
	}
	return tag, s.colon(end + 1)
}

func tagOf(tag []byte) Tag {
	switch string(tag) {
	case "S":
		return TagS
	case "N":
		return TagN
	case "B":
		return TagB
	case "BOOL":
		return TagBOOL
	case "NULL":
		return TagNULL
	case "M":
		return TagM
	case "L":
		return TagL
	case "SS":
		return TagSS
	case "NS":
		return TagNS
	case "BS":
		return TagBS
	}
	return NoTag
}

// literal reads true or false.
func (s *Scanner) literal(i int) int {
	b := s.B[min(i, len(s.B)):]
	switch {
	case len(b) >= 4 && string(b[:4]) == "true":
		return i + 4
	case len(b) >= 5 && string(b[:5]) == "false":
		return i + 5
	}
	return s.Fail(i, errWantBool)
}
