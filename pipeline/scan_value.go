package pipeline

import (
	"bytes"
	"encoding/binary"
)

// compactTag is {"?": as every encoder of AWS writes it, the tag left out.
const (
	compactTag  = '{' | '"'<<8 | '"'<<24 | ':'<<32
	compactMask = 0xff_ff_00_ff_ff
)

// value reads one attribute value, as {"S":"x"}. from and to are the range of what
// the tag stands for, strings without their quotes.
func (s *scanner) value(i, depth int) (kind Kind, from, to, next int) {
	kind, at := s.shortTag(i), i+5
	if kind == Absent {
		if kind, at = s.tag(i); at < 0 {
			return Absent, 0, 0, -1
		}
	}
	from, to, next = s.content(kind, at, depth)
	return kind &^ untagged, from, to, next
}

// shortTag is the kind of the value at i where a tag of one letter stands there without
// white space, as in {"S":, and takes five bytes; else Absent.
func (s *scanner) shortTag(i int) Kind {
	if uint(i)+8 > uint(len(s.b)) {
		return Absent
	}
	w := binary.LittleEndian.Uint64(s.b[i:])
	if w&compactMask != compactTag {
		return Absent
	}
	return shortTags[byte(w>>16)]
}

var shortTags = [256]Kind{'S': KindS, 'N': KindN, 'B': KindB, 'M': KindM, 'L': KindL}

// content reads what stands behind a value's tag, and the bracket that closes the value.
// from and to are its range, strings without their quotes.
func (s *scanner) content(kind Kind, at, depth int) (from, to, next int) {
	if s.peek(at) <= ' ' && kind&untagged == 0 {
		at = s.space(at)
	}
	switch kind { // with S, N and B apart: a branch more on the way to each is two percent of a record
	case KindS:
		if s.peek(at) != '"' {
			return 0, 0, s.fail(at, errWantString)
		}
		from = at + 1
		to = s.text(from)
		next = to + 1
	case KindN:
		if s.peek(at) != '"' {
			return 0, 0, s.fail(at, errWantString)
		}
		from = at + 1
		to = s.number(from)
		next = to + 1
	case KindB:
		if s.peek(at) != '"' {
			return 0, 0, s.fail(at, errWantString)
		}
		from = at + 1
		to = s.base64(from)
		next = to + 1
	case KindM:
		base := len(s.stack)
		next = s.inner(at, depth+1)
		if next < 0 {
			return 0, 0, -1
		}
		s.stack = s.stack[:base]
		from, to = at, next
	case KindL:
		next = s.elements(at, depth+1)
		from, to = at, next
	case KindSS, KindNS, KindBS:
		next = s.set(at, kind)
		from, to = at, next
	case KindBOOL:
		next = s.literal(at)
		from, to = at, next
	case KindNULL:
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

// untagged marks the KindM of {}, where that is allowed.
const untagged = 0x80

// tag reads {"TAG": and returns the position behind it. {} is read whole.
func (s *scanner) tag(i int) (Kind, int) {
	if s.peek(i) != '{' {
		return Absent, s.fail(i, errValue)
	}
	start := i
	i = s.space(i + 1)
	switch s.peek(i) {
	case '"':
	case '}':
		if !s.emptyMaps {
			return Absent, s.fail(start, errNoTag)
		}
		s.sawEmpty++
		return KindM | untagged, i + 1
	default:
		return Absent, s.fail(i, errToken)
	}
	end := s.text(i + 1)
	if end < 0 {
		return Absent, -1
	}
	kind := kindOfTag(textOf(s.b[i+1 : end]))
	if kind == Absent {
		return Absent, s.fail(i, errTag)
	}
	return kind, s.colon(end + 1)
}

func kindOfTag(tag []byte) Kind {
	switch string(tag) {
	case "S":
		return KindS
	case "N":
		return KindN
	case "B":
		return KindB
	case "BOOL":
		return KindBOOL
	case "NULL":
		return KindNULL
	case "M":
		return KindM
	case "L":
		return KindL
	case "SS":
		return KindSS
	case "NS":
		return KindNS
	case "BS":
		return KindBS
	}
	return Absent
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
