package pipeline

import (
	"bytes"
	"encoding/binary"
)

// typeTag is the tag of a value in DynamoDB's JSON. A [Kind] has the number of its tag.
type typeTag uint8

// The tags. noTag is that of {}, which DynamoDB Local writes for an empty map.
const (
	noTag typeTag = iota
	tagS
	tagN
	tagB
	tagBOOL
	tagNULL
	tagM
	tagL
	tagSS
	tagNS
	tagBS
)

// compactTag is {"?": as every encoder of AWS writes it, the tag left out.
const (
	compactTag  = '{' | '"'<<8 | '"'<<24 | ':'<<32
	compactMask = 0xff_ff_00_ff_ff
)

// value reads one attribute value, as {"S":"x"}. from and to are the range of what
// the tag stands for, strings without their quotes.
func (s *scanner) value(i, depth int) (tag typeTag, from, to, next int) {
	tag, at := s.shortTag(i), i+5
	if tag == noTag {
		if tag, at = s.tag(i); at < 0 {
			return noTag, 0, 0, -1
		}
	}
	from, to, next = s.content(tag, at, depth)
	return tag &^ untagged, from, to, next
}

// shortTag is the tag of the value at i where a tag of one letter stands there without
// white space, as in {"S":, and takes five bytes; else noTag.
func (s *scanner) shortTag(i int) typeTag {
	if uint(i)+8 > uint(len(s.b)) {
		return noTag
	}
	w := binary.LittleEndian.Uint64(s.b[i:])
	if w&compactMask != compactTag {
		return noTag
	}
	return shortTags[byte(w>>16)]
}

var shortTags = [256]typeTag{'S': tagS, 'N': tagN, 'B': tagB, 'M': tagM, 'L': tagL}

// content reads what stands behind a value's tag, and the bracket that closes the value.
// from and to are its range, strings without their quotes.
func (s *scanner) content(tag typeTag, at, depth int) (from, to, next int) {
	if s.peek(at) <= ' ' && tag&untagged == 0 {
		at = s.space(at)
	}
	switch tag { // with S, N and B apart: a branch more on the way to each is two percent of a record
	case tagS:
		if s.peek(at) != '"' {
			return 0, 0, s.fail(at, errWantString)
		}
		from = at + 1
		to = s.text(from)
		next = to + 1
	case tagN:
		if s.peek(at) != '"' {
			return 0, 0, s.fail(at, errWantString)
		}
		from = at + 1
		to = s.number(from)
		next = to + 1
	case tagB:
		if s.peek(at) != '"' {
			return 0, 0, s.fail(at, errWantString)
		}
		from = at + 1
		to = s.base64(from)
		next = to + 1
	case tagM:
		base := len(s.stack)
		next = s.inner(at, depth+1)
		if next < 0 {
			return 0, 0, -1
		}
		s.stack = s.stack[:base]
		from, to = at, next
	case tagL:
		next = s.elements(at, depth+1)
		from, to = at, next
	case tagSS, tagNS, tagBS:
		next = s.set(at, tag)
		from, to = at, next
	case tagBOOL:
		next = s.literal(at)
		from, to = at, next
	case tagNULL:
		if next = s.literal(at); next == at+5 {
			next = s.fail(at, errWantNull)
		}
		from, to = at, next
	default: // {}, whose end is at
		return bytes.LastIndexByte(s.b[:at], '{'), at, at
	}
	if to < 0 {
		return 0, 0, -1
	}
	if s.peek(next) != '}' {
		if next = s.space(next); s.peek(next) != '}' {
			err := errToken
			if s.peek(next) == ',' {
				err = errTwoTags
			}
			return 0, 0, s.fail(next, err)
		}
	}
	return from, to, next + 1
}

// untagged marks the tagM of {}, where that is allowed.
const untagged = 0x80

// tag reads {"TAG": and returns the position behind it. {} is read whole.
func (s *scanner) tag(i int) (typeTag, int) {
	if s.peek(i) != '{' {
		return noTag, s.fail(i, errValue)
	}
	start := i
	i = s.space(i + 1)
	switch s.peek(i) {
	case '"':
	case '}':
		if !s.emptyMaps {
			return noTag, s.fail(start, errNoTag)
		}
		s.sawEmpty++
		return tagM | untagged, i + 1
	default:
		return noTag, s.fail(i, errToken)
	}
	end := s.text(i + 1)
	if end < 0 {
		return noTag, -1
	}
	tag := tagOf(textOf(s.b[i+1 : end]))
	if tag == noTag {
		return noTag, s.fail(i, errTag)
	}
	return tag, s.colon(end + 1)
}

func tagOf(tag []byte) typeTag {
	switch string(tag) {
	case "S":
		return tagS
	case "N":
		return tagN
	case "B":
		return tagB
	case "BOOL":
		return tagBOOL
	case "NULL":
		return tagNULL
	case "M":
		return tagM
	case "L":
		return tagL
	case "SS":
		return tagSS
	case "NS":
		return tagNS
	case "BS":
		return tagBS
	}
	return noTag
}

// literal reads true or false.
func (s *scanner) literal(i int) int {
	b := s.b[min(i, len(s.b)):]
	switch {
	case len(b) >= 4 && string(b[:4]) == "true":
		return i + 4
	case len(b) >= 5 && string(b[:5]) == "false":
		return i + 5
	}
	return s.fail(i, errWantBool)
}
