package ddbjson

import (
	"bytes"
	"encoding/binary"
)

// Tag is the type tag of a value in DynamoDB JSON. item.Kind has the same numbers.
type Tag uint8

// The tags. DynamoDB Local writes {} for an empty map. [TagAt] returns NoTag for {}, and a [Scanner] returns TagM.
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

// compactTag has the bytes of {"?": without the letter. compactMask removes the letter from five bytes, so that they
// can be compared with compactTag. All encoders of AWS write a tag of one letter in this form, without white space.
const (
	compactTag  = '{' | '"'<<8 | '"'<<24 | ':'<<32
	compactMask = 0xff_ff_00_ff_ff
)

// Value reads one attribute value, such as {"S":"x"}. from and to are the range of its content, without the quotes of a
// string.
func (s *Scanner) Value(i, depth int) (tag Tag, from, to, next int) {
	tag, content := s.shortTag(i), i+shortTagLen
	if tag == NoTag {
		if tag, content = s.readTag(i); content < 0 {
			return NoTag, 0, 0, -1
		}
	}
	from, to, next = s.readContent(tag, content, depth)
	return tag &^ emptyMap, from, to, next
}

// shortTag returns the tag of the value at i if the tag has one letter and no white space is around it, as in {"S":.
// Otherwise it returns NoTag.
func (s *Scanner) shortTag(i int) Tag {
	if uint(i)+8 > uint(len(s.Input)) {
		return NoTag
	}
	w := binary.LittleEndian.Uint64(s.Input[i:])
	if w&compactMask != compactTag {
		return NoTag
	}
	return shortTags[byte(w>>16)]
}

// shortTagLen is the length of {"S": and of the other tags of one letter.
const shortTagLen = 5

var shortTags = [256]Tag{'S': TagS, 'N': TagN, 'B': TagB, 'M': TagM, 'L': TagL}

// readContent reads the content of a value at i, and the brace that closes the value. from and to are the range of the
// content, without the quotes of a string.
func (s *Scanner) readContent(tag Tag, i, depth int) (from, to, next int) {
	if s.Peek(i) <= ' ' && tag&emptyMap == 0 {
		i = s.SkipSpace(i)
	}
	switch tag { // S, N and B have separate cases: a shared case costs one more branch, 2 % of the time of a record
	case TagS:
		if s.Peek(i) != '"' {
			return 0, 0, s.Fail(i, ErrWantString)
		}
		from = i + 1
		to = s.Text(from)
		next = to + 1
	case TagN:
		if s.Peek(i) != '"' {
			return 0, 0, s.Fail(i, ErrWantString)
		}
		from = i + 1
		to = s.number(from)
		next = to + 1
	case TagB:
		if s.Peek(i) != '"' {
			return 0, 0, s.Fail(i, ErrWantString)
		}
		from = i + 1
		to = s.base64(from)
		next = to + 1
	case TagM:
		base := len(s.stack)
		next = s.nestedMap(i, depth+1)
		if next < 0 {
			return 0, 0, -1
		}
		s.stack = s.stack[:base]
		from, to = i, next
	case TagL:
		next = s.elements(i, depth+1)
		from, to = i, next
	case TagSS, TagNS, TagBS:
		next = s.set(i, tag)
		from, to = i, next
	case TagBOOL:
		next = s.readBool(i)
		from, to = i, next
	case TagNULL:
		next = s.readBool(i)
		if next == i+5 {
			next = s.Fail(i, errWantNull)
		}
		from, to = i, next
	default: // {}, which ends at i
		return bytes.LastIndexByte(s.Input[:i], '{'), i, i
	}
	if to < 0 {
		return 0, 0, -1
	}
	if s.Peek(next) != '}' {
		next = s.SkipSpace(next)
		if s.Peek(next) != '}' {
			err := ErrToken
			if s.Peek(next) == ',' {
				err = errTwoTags
			}
			return 0, 0, s.Fail(next, err)
		}
	}
	return from, to, next + 1
}

// emptyMap is a bit that readTag adds to TagM for {}.
const emptyMap = 0x80

// readTag reads {"TAG": and returns the tag and the position after the colon. For {}, it reads both braces and returns
// TagM with the bit emptyMap.
func (s *Scanner) readTag(i int) (Tag, int) {
	if s.Peek(i) != '{' {
		return NoTag, s.Fail(i, errValue)
	}
	start := i
	i = s.SkipSpace(i + 1)
	switch s.Peek(i) {
	case '"':
	case '}':
		if !s.AllowEmptyMaps {
			return NoTag, s.Fail(start, errNoTag)
		}
		s.EmptyMaps++
		return TagM | emptyMap, i + 1
	default:
		return NoTag, s.Fail(i, ErrToken)
	}
	end := s.Text(i + 1)
	if end < 0 {
		return NoTag, -1
	}
	tag := TagOf(TextOf(s.Input[i+1 : end]))
	if tag == NoTag {
		return NoTag, s.Fail(i, errTag)
	}
	return tag, s.readColon(end + 1)
}

// TagOf returns the tag with a name such as S or BOOL, or NoTag for any other name.
func TagOf(tag []byte) Tag {
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

// readBool reads true or false.
func (s *Scanner) readBool(i int) int {
	b := s.Input[min(i, len(s.Input)):]
	switch {
	case len(b) >= 4 && string(b[:4]) == "true":
		return i + 4
	case len(b) >= 5 && string(b[:5]) == "false":
		return i + 5
	}
	return s.Fail(i, errWantBool)
}
