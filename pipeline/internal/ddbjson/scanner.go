package ddbjson

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/tablewake/tablewake/pipeline/decimal"
)

// maxNesting is the maximum depth of maps and lists in DynamoDB (Developer Guide, "Service, account, and table quotas":
// nested attribute depth).
const maxNesting = 32

// Scanner checks and indexes DynamoDB JSON in one pass. Its methods take a start position and return the position after
// the element that they read. If the element is invalid, they call Fail, which sets Err and ErrAt, and return -1. The
// Scanner copies nothing. The getters of a value unescape texts, and decode base64 and numbers. The Scanner checks
// texts, base64 and numbers, so these getters cannot fail.
//
// The Scanner is fast only for valid input. After an error, the caller reads the record again to find the path of the
// error.
//
// The zero Scanner reads one document. A decoder of pages uses [NewPageScanner] and [Scanner.Recycle].
type Scanner struct {
	Input       []byte
	grammarOnly bool // neither UTF-8 nor surrogates are checked

	Err     error
	ErrAt   int    // position of Err
	ErrPath string // path of a missing field, which has no position; "" if ErrAt is the position of the error

	origin   int           // position of the item in Input; positions in the index count from here
	stack    []Attr        // attributes of the maps, and members of the set, that are being read
	Escapes  int           // strings with escapes so far
	previous previousImage // prediction for the item that is being read
	maps     *previousMaps // predictions for nested maps; nil if the Scanner does not predict maps

	AllowEmptyMaps bool // {} is accepted as the empty map
	EmptyMaps      int  // number of {} that were accepted so far

	Arena   attrArena
	names   nameTable
	numbers []decimal.Decimal // members of the set that is being read
}

// NewPageScanner returns a Scanner that predicts nested maps from earlier maps.
func NewPageScanner() Scanner { return Scanner{maps: new(previousMaps)} }

// Recycle returns a Scanner for the next page. It has the scratch memory of s, and does not refer to the page of s.
// Recycle returns false if the scratch memory is too large to keep.
func (s *Scanner) Recycle() (next Scanner, ok bool) {
	if cap(s.stack) > maxScratch || len(s.names.slots) > 8*maxScratch || cap(s.numbers) > maxScratch {
		return Scanner{}, false
	}
	return Scanner{stack: s.stack[:0], names: s.names, numbers: s.numbers[:0], maps: s.maps, Arena: s.Arena.nextPage()},
		true
}

// The errors of DynamoDB JSON. Their texts never quote data.
var (
	ErrEnd       = errs.New("the input ends too early")
	ErrToken     = errs.New("broken JSON")
	errControl   = errs.New("a control character within a string")
	errEscape    = errs.New("an unknown escape within a string")
	ErrUTF8      = errs.New("text that is not UTF-8")
	errSurrogate = errs.New("half of a surrogate pair")
	errDeep      = errs.New("JSON nested too deep")
	errNesting   = errs.New("nested deeper than DynamoDB's 32 levels")
	errTag       = errs.New("want a type tag: S, N, B, BOOL, NULL, M, L, SS, NS or BS")
	errNoTag     = errs.New(
		"{} is not a value (DynamoDB Local writes it for an empty map: set the source's emulator to dynamodb-local)")
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

// Fail sets the error to err at position i, and returns -1. If i is after the end of the input, it sets ErrEnd instead.
func (s *Scanner) Fail(i int, err error) int {
	if i >= len(s.Input) && !errors.Is(err, errHuge) {
		err = ErrEnd
	}
	s.ErrAt, s.Err, s.ErrPath = i, err, ""
	return -1
}

// Peek is the byte at i, or 0 after the end. No JSON token has a 0.
func (s *Scanner) Peek(i int) byte {
	if uint(i) < uint(len(s.Input)) {
		return s.Input[i]
	}
	return 0
}

// SkipSpace returns the position of the first byte from i on that is not white space.
func (s *Scanner) SkipSpace(i int) int {
	for uint(i) < uint(len(s.Input)) && s.Input[i] <= ' ' && whitespace>>s.Input[i]&1 != 0 {
		i++
	}
	return i
}

// whitespace has a bit for each byte of JSON's white space.
const whitespace uint64 = 1<<' ' | 1<<'\t' | 1<<'\n' | 1<<'\r'

// readColon reads the colon after a name, and the white space around it.
func (s *Scanner) readColon(i int) int {
	if s.Peek(i) != ':' {
		i = s.SkipSpace(i)
		if s.Peek(i) != ':' {
			return s.Fail(i, ErrToken)
		}
	}
	i++
	if s.Peek(i) <= ' ' {
		i = s.SkipSpace(i)
	}
	return i
}

// Separator reads the comma or the closing bracket after a member or an element. After a comma, next is the start of
// the next member or element. After the closing bracket, ended is true.
func (s *Scanner) Separator(i int, closing byte) (next int, ended bool) {
	c := s.Peek(i)
	if c <= ' ' {
		i = s.SkipSpace(i)
		c = s.Peek(i)
	}
	switch c {
	case ',':
		i++
		if s.Peek(i) <= ' ' {
			i = s.SkipSpace(i)
		}
		return i, false
	case closing:
		return i + 1, true
	}
	return s.Fail(i, ErrToken), false
}

// Failure returns Err with its position and path. context is the kind of the document. Failure is for input other than
// records. The error of a record is a record.RecordError.
func (s *Scanner) Failure(context InputContext) error {
	path := s.ErrPath
	if path == "" {
		path = s.Locate(0, s.ErrAt, context)
	}
	if path == "" {
		return fmt.Errorf("DynamoDB JSON, byte %d: %w", s.ErrAt, s.Err)
	}
	return fmt.Errorf("DynamoDB JSON, byte %d, %s: %w", s.ErrAt, path, s.Err)
}

// View returns b as a string, without a copy. This is safe because pages are immutable.
func View(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Bytes returns the bytes of s, without a copy. The caller must not change them.
func Bytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// ErrTrailing is the error of input with more text after the document.
var ErrTrailing = errs.New("something follows the JSON document")
