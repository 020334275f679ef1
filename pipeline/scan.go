package pipeline

import (
	"errors"
	"fmt"
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

	origin  int     // what the offsets of attrs count from
	stack   []attr  // of the maps and sets being read
	escapes int     // strings with escapes so far
	twin    twin    // of the item being read
	shapes  *shapes // of the maps within items; nil: none are kept

	emptyMaps bool // {} is the empty map
	sawEmpty  int

	slab    attrSlab
	names   nameTable
	numbers []Decimal
}

// What may be wrong with DynamoDB JSON. The texts never quote data.
var (
	errEnd        = errs.New("the input ends too early")
	errToken      = errs.New("broken JSON")
	errControl    = errs.New("a control character within a string")
	errEscape     = errs.New("an unknown escape within a string")
	errUTF8       = errs.New("text that is not UTF-8")
	errSurrogate  = errs.New("half of a surrogate pair")
	errDeep       = errs.New("JSON nested too deep")
	errNesting    = errs.New("nested deeper than DynamoDB's 32 levels")
	errTag        = errs.New("want a type tag: S, N, B, BOOL, NULL, M, L, SS, NS or BS")
	errNoTag      = errs.New("{} is no value (DynamoDB Local writes it for an empty map: set the source's emulator to dynamodb-local)")
	errTwoTags    = errs.New("a value has one type tag only")
	errValue      = errs.New("want a value such as {\"S\":\"text\"}")
	errWantString = errs.New("want a string")
	errWantMap    = errs.New("want an object of attributes")
	errWantList   = errs.New("want an array")
	errWantBool   = errs.New("want true or false")
	errWantNull   = errs.New("NULL is always true")
	errBase64     = errs.New("want padded base64")
	errEmptySet   = errs.New("an empty set")
	errDuplicate  = errs.New("named twice")
	errMember     = errs.New("twice in the set")
	errHuge       = errs.New("an item of more than 4 GiB")
)

// fail notes what is wrong at a position, and returns -1.
func (s *scanner) fail(at int, err error) int {
	if at >= len(s.b) && !errors.Is(err, errHuge) {
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

// space is the position of the next byte that is not white space.
func (s *scanner) space(i int) int {
	for uint(i) < uint(len(s.b)) && s.b[i] <= ' ' && whitespace>>s.b[i]&1 != 0 {
		i++
	}
	return i
}

// whitespace has a bit for each of JSON's white space.
const whitespace uint64 = 1<<' ' | 1<<'\t' | 1<<'\n' | 1<<'\r'

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
