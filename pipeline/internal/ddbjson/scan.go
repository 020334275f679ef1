package ddbjson

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/tablewake/tablewake/pipeline/decimal"
)

// maxNesting is how deep DynamoDB nests maps and lists (Developer Guide, "Service,
// account, and table quotas": nested attribute depth).
const maxNesting = 32

// Scanner checks and indexes DynamoDB JSON in one pass. Its methods take the
// position to start at and return the one behind what they read, or -1 when that
// is unsound: fail has noted where and why. Nothing is copied, and nothing that can
// be done when a value is read (unescaping, base64, decimals) is done here, but
// all that could fail then is checked.
//
// One pass over sound input is all it is made for. What fails is looked at again,
// slowly, to find out which class of error it is and its path.
type Scanner struct {
	B   []byte
	lax bool // grammar only: neither UTF-8 nor surrogates are checked

	Err  error
	At   int    // where err was found
	Path string // where that is no position: what is missing has none

	origin  int     // what the offsets of attrs count from
	Stack   []Attr  // of the maps and sets being read
	Escapes int     // strings with escapes so far
	twin    twin    // of the item being read
	Shapes  *Shapes // of the maps within items; nil: none are kept

	EmptyMaps bool // {} is the empty map
	SawEmpty  int

	Slab    attrSlab
	Names   nameTable
	Numbers []decimal.Decimal
}

// What may be wrong with DynamoDB JSON. The texts never quote data.
var (
	ErrEnd        = errs.New("the input ends too early")
	ErrToken      = errs.New("broken JSON")
	errControl    = errs.New("a control character within a string")
	errEscape     = errs.New("an unknown escape within a string")
	ErrUTF8       = errs.New("text that is not UTF-8")
	errSurrogate  = errs.New("half of a surrogate pair")
	errDeep       = errs.New("JSON nested too deep")
	errNesting    = errs.New("nested deeper than DynamoDB's 32 levels")
	errTag        = errs.New("want a type tag: S, N, B, BOOL, NULL, M, L, SS, NS or BS")
	errNoTag      = errs.New("{} is no value (DynamoDB Local writes it for an empty map: set the source's emulator to dynamodb-local)")
	errTwoTags    = errs.New("a value has one type tag only")
	errValue      = errs.New("want a value such as {\"S\":\"text\"}")
	ErrWantString = errs.New("want a string")
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

// Fail notes what is wrong at a position, and returns -1.
func (s *Scanner) Fail(at int, err error) int {
	if at >= len(s.B) && !errors.Is(err, errHuge) {
		err = ErrEnd
	}
	s.At, s.Err, s.Path = at, err, ""
	return -1
}

// Peek is the byte at i, or 0 behind the end; 0 is no part of any JSON token.
func (s *Scanner) Peek(i int) byte {
	if uint(i) < uint(len(s.B)) {
		return s.B[i]
	}
	return 0
}

// Space is the position of the next byte that is not white Space.
func (s *Scanner) Space(i int) int {
	for uint(i) < uint(len(s.B)) && s.B[i] <= ' ' && whitespace>>s.B[i]&1 != 0 {
		i++
	}
	return i
}

// whitespace has a bit for each of JSON's white space.
const whitespace uint64 = 1<<' ' | 1<<'\t' | 1<<'\n' | 1<<'\r'

// colon reads the colon behind a name, and what white space is around it.
func (s *Scanner) colon(i int) int {
	if s.Peek(i) != ':' {
		if i = s.Space(i); s.Peek(i) != ':' {
			return s.Fail(i, ErrToken)
		}
	}
	if i++; s.Peek(i) <= ' ' {
		i = s.Space(i)
	}
	return i
}

// Separator reads what follows a member or element: a comma, behind which the
// next one starts, or the closing bracket, behind which done is true.
func (s *Scanner) Separator(i int, closing byte) (next int, done bool) {
	c := s.Peek(i)
	if c <= ' ' {
		i = s.Space(i)
		c = s.Peek(i)
	}
	switch c {
	case ',':
		if i++; s.Peek(i) <= ' ' {
			i = s.Space(i)
		}
		return i, false
	case closing:
		return i + 1, true
	}
	return s.Fail(i, ErrToken), false
}

// Failure is err with its place, for input that is no record.
func (s *Scanner) Failure(where Context) error {
	path := s.Path
	if path == "" {
		path = s.Locate(s.At, where)
	}
	if path == "" {
		return fmt.Errorf("DynamoDB JSON, byte %d: %w", s.At, s.Err)
	}
	return fmt.Errorf("DynamoDB JSON, byte %d, %s: %w", s.At, path, s.Err)
}

// View is b as a string. Pages are immutable, so nothing is copied.
func View(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// ErrTrailing means that input goes on after its document.
var ErrTrailing = errs.New("something follows the JSON document")
