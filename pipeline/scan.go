package pipeline

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"unsafe"
)

// maxNesting is how deep DynamoDB nests maps and lists (Developer Guide, "Service,
// account, and table quotas": nested attribute depth).
const maxNesting = 32

// scanner checks and indexes DynamoDB JSON in one pass. Its methods take the
// position to start at and return the one behind what they read, or -1 when that
// is unsound: fail has noted where and why. Nothing is copied, and nothing that can
// be done when a value is read (unescaping, base64, decimals) is done here, but
// all that could fail then is checked.
//
// One pass over sound input is all it is made for. What fails is looked at again,
// slowly, to find out which class of error it is and its path.
type scanner struct {
	b   []byte
	lax bool // grammar only: neither UTF-8 nor surrogates are checked

	err  error
	at   int    // where err was found
	path string // where that is no position: what is missing has none

	origin  int    // what the offsets of attrs count from
	stack   []attr // of the maps and sets being read
	escapes int    // strings with escapes so far

	emptyMaps bool // {} is the empty map
	sawEmpty  int

	slab    attrSlab
	names   nameTable
	numbers []Decimal
}

// What may be wrong with DynamoDB JSON. The texts never quote data.
var (
	errEnd        = errors.New("the input ends too early")
	errToken      = errors.New("broken JSON")
	errControl    = errors.New("a control character within a string")
	errEscape     = errors.New("an unknown escape within a string")
	errUTF8       = errors.New("text that is not UTF-8")
	errSurrogate  = errors.New("half of a surrogate pair")
	errDeep       = errors.New("JSON nested too deep")
	errNesting    = errors.New("nested deeper than DynamoDB's 32 levels")
	errTag        = errors.New("want a type tag: S, N, B, BOOL, NULL, M, L, SS, NS or BS")
	errNoTag      = errors.New("{} is no value (DynamoDB Local writes it for an empty map: set the source's emulator to dynamodb-local)")
	errTwoTags    = errors.New("a value has one type tag only")
	errValue      = errors.New("want a value such as {\"S\":\"text\"}")
	errWantString = errors.New("want a string")
	errWantMap    = errors.New("want an object of attributes")
	errWantList   = errors.New("want an array")
	errWantBool   = errors.New("want true or false")
	errWantNull   = errors.New("NULL is always true")
	errBase64     = errors.New("want padded base64")
	errEmptySet   = errors.New("an empty set")
	errDuplicate  = errors.New("named twice")
	errMember     = errors.New("twice in the set")
	errHuge       = errors.New("an item of more than 4 GiB")
)

func (s *scanner) fail(at int, err error) int {
	if at >= len(s.b) && err != errHuge {
		err = errEnd
	}
	s.at, s.err, s.path = at, err, ""
	return -1
}

// peek is the byte at i, or 0 behind the end; 0 is no part of any JSON token.
func (s *scanner) peek(i int) byte {
	if uint(i) < uint(len(s.b)) {
		return s.b[i]
	}
	return 0
}

func (s *scanner) space(i int) int {
	for uint(i) < uint(len(s.b)) && s.b[i] <= ' ' && whitespace>>s.b[i]&1 != 0 {
		i++
	}
	return i
}

// whitespace has a bit for each of JSON's white space.
const whitespace = 1<<' ' | 1<<'\t' | 1<<'\n' | 1<<'\r'

// colon reads the colon behind a name, and what white space is around it.
func (s *scanner) colon(i int) int {
	if s.peek(i) != ':' {
		if i = s.space(i); s.peek(i) != ':' {
			return s.fail(i, errToken)
		}
	}
	if i++; s.peek(i) <= ' ' {
		i = s.space(i)
	}
	return i
}

// separator reads what follows a member or element: a comma, behind which the
// next one starts, or the closing bracket, behind which done is true.
func (s *scanner) separator(i int, closing byte) (next int, done bool) {
	c := s.peek(i)
	if c <= ' ' {
		i = s.space(i)
		c = s.peek(i)
	}
	switch c {
	case ',':
		if i++; s.peek(i) <= ' ' {
			i = s.space(i)
		}
		return i, false
	case closing:
		return i + 1, true
	}
	return s.fail(i, errToken), false
}

// compactTag is {"?": as every encoder of AWS writes it, the tag left out.
const (
	compactTag  = '{' | '"'<<8 | '"'<<24 | ':'<<32
	compactMask = 0xff_ff_00_ff_ff
)

// value reads one attribute value, as {"S":"x"}. from and to are the range of what
// the tag stands for, strings without their quotes.
func (s *scanner) value(i, depth int) (kind Kind, from, to, next int) {
	at := 0
	if uint(i)+8 <= uint(len(s.b)) {
		w := binary.LittleEndian.Uint64(s.b[i:])
		if w&compactMask == compactTag {
			kind, at = shortTags[byte(w>>16)], i+5
			if s.b[at] <= ' ' {
				at = s.space(at)
			}
		}
	}
	if kind == Absent {
		if kind, at = s.tag(i); at < 0 {
			return Absent, 0, 0, -1
		}
		if kind == Absent { // {}, where that is allowed
			return KindM, i, at, at
		}
	}
	switch kind {
	case KindS, KindN, KindB:
		if s.peek(at) != '"' {
			return Absent, 0, 0, s.fail(at, errWantString)
		}
		from = at + 1
		switch kind {
		case KindS:
			to = s.text(from)
		case KindN:
			to = s.number(from)
		default:
			to = s.base64(from)
		}
		if to < 0 {
			return Absent, 0, 0, -1
		}
		if next = to + 1; s.peek(next) == '}' {
			return kind, from, to, next + 1
		}
	case KindM:
		base := len(s.stack)
		next = s.members(at, depth+1)
		if next < 0 {
			return Absent, 0, 0, -1
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
	}
	if next < 0 {
		return Absent, 0, 0, -1
	}
	if s.peek(next) != '}' {
		if next = s.space(next); s.peek(next) != '}' {
			err := errToken
			if s.peek(next) == ',' {
				err = errTwoTags
			}
			return Absent, 0, 0, s.fail(next, err)
		}
	}
	return kind, from, to, next + 1
}

var shortTags = [256]Kind{'S': KindS, 'N': KindN, 'B': KindB, 'M': KindM, 'L': KindL}

// tag reads {"TAG": and returns where the tag's value starts. For {} the kind is Absent.
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
		return Absent, i + 1
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
	twice := -1
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

// failure is err with its place, for input that is no record.
func (s *scanner) failure(where place) error {
	path := s.path
	if path == "" {
		path = s.locate(s.at, where)
	}
	if path == "" {
		return fmt.Errorf("DynamoDB JSON, byte %d: %w", s.at, s.err)
	}
	return fmt.Errorf("DynamoDB JSON, byte %d, %s: %w", s.at, path, s.err)
}

// view is b as a string. Pages are immutable, so nothing is copied.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
