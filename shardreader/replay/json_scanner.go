package replay

import (
	"encoding/binary"
	"math/bits"
)

// status is the result of a scan.
type status uint8

const (
	complete   status = iota
	incomplete        // the value continues after the end of the bytes
	invalid           // syntax error
)

// scanner finds the end of JSON values and checks their syntax. It does not check UTF-8, duplicate names or the content
// of records, because the decoder checks them.
type scanner struct {
	stack []int // indexes of the open '{' and '['; kept after a failed scan
}

// maxDepth is the maximum nesting of JSON, as in the decoder.
const maxDepth = 1000

// scanValue scans the JSON value at b[i]. It returns the index after the value (complete), or the index of the syntax
// error (invalid). For a number at the end of b it returns complete, although the number may continue. The caller must
// check that.
func (s *scanner) scanValue(b []byte, i int) (int, status) {
	s.stack = s.stack[:0]
	var st status
	for {
		if i >= len(b) {
			return i, incomplete
		}
		switch c := b[i]; {
		case c == '"':
			i, st = scanString(b, i)
		case c == '{' || c == '[':
			var empty bool
			i, empty, st = s.openBracket(b, i)
			isAtValue := st == complete && !empty
			if isAtValue {
				continue
			}
		case c == '-' || '0' <= c && c <= '9':
			i, st = scanNumber(b, i)
		case c == 't':
			i, st = scanLiteral(b, i, "true")
		case c == 'f':
			i, st = scanLiteral(b, i, "false")
		case c == 'n':
			i, st = scanLiteral(b, i, "null")
		default:
			return i, invalid
		}
		if st != complete {
			return i, st
		}
		i, st = s.closeBrackets(b, i)
		isAtEnd := len(s.stack) == 0
		if st != complete || isAtEnd {
			return i, st
		}
	}
}

// openBracket scans the bracket at i and the name of the first member. It returns the index of the first value. empty
// reports whether the object or array has no value; the index is then after its end.
func (s *scanner) openBracket(b []byte, i int) (next int, empty bool, st status) {
	open := i
	if i = skipSpace(b, i+1); i >= len(b) {
		return i, false, incomplete
	}
	if b[i] == b[open]+2 { // '{'+2 is '}', '['+2 is ']'
		return i + 1, true, complete
	}
	if len(s.stack) == maxDepth {
		return open, false, invalid
	}
	s.stack = append(s.stack, open)
	if b[open] == '{' {
		i, st = scanName(b, i)
	}
	return i, false, st
}

// closeBrackets closes the objects and arrays that end after a value. If an outer object or array is still open,
// closeBrackets also scans the comma and the name before its next value. It returns the index after the scanned text.
func (s *scanner) closeBrackets(b []byte, i int) (next int, st status) {
	for len(s.stack) > 0 {
		if i = skipSpace(b, i); i >= len(b) {
			return i, incomplete
		}
		switch open := b[s.stack[len(s.stack)-1]]; {
		case b[i] == open+2:
			s.stack = s.stack[:len(s.stack)-1]
			i++
		case b[i] != ',':
			return i, invalid
		case open == '{':
			return scanName(b, skipSpace(b, i+1))
		default:
			return skipSpace(b, i+1), complete
		}
	}
	return i, complete
}

// scanName scans a member name, its colon and white space. It returns the index of the member's value.
func scanName(b []byte, i int) (int, status) {
	if i >= len(b) {
		return i, incomplete
	}
	if b[i] != '"' {
		return i, invalid
	}
	i, st := scanString(b, i)
	if st != complete {
		return i, st
	}
	if i = skipSpace(b, i); i >= len(b) {
		return i, incomplete
	}
	if b[i] != ':' {
		return i, invalid
	}
	return skipSpace(b, i+1), complete
}

// scanString scans the string at i. It returns the index after the closing quote.
func scanString(b []byte, i int) (int, status) {
	for i++; i < len(b); i++ {
		for i+8 <= len(b) {
			stop := stopMask(binary.LittleEndian.Uint64(b[i:]))
			if stop != 0 {
				i += bits.TrailingZeros64(stop) / 8
				break
			}
			i += 8
		}
		if i == len(b) {
			break
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1, complete
		case c < ' ':
			return i, invalid
		case c == '\\':
			var st status
			if i, st = scanEscape(b, i+1); st != complete {
				return i, st
			}
		}
	}
	return i, incomplete
}

// scanEscape scans an escape from the byte after its backslash. It returns the index of the last byte of the escape.
func scanEscape(b []byte, i int) (int, status) {
	if i >= len(b) {
		return i, incomplete
	}
	switch b[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i, complete
	case 'u':
		for range 4 {
			if i++; i >= len(b) {
				return i, incomplete
			}
			if !isHex(b[i]) {
				return i, invalid
			}
		}
		return i, complete
	}
	return i, invalid
}

// stopMask finds the first byte of w that is a quote, a backslash or a control character. The lowest bit set in the
// result is the highest bit of that byte. Bits of later bytes may be set too, even if they are none of these. The
// result is 0 if there is no such byte.
func stopMask(w uint64) uint64 {
	const ones = 0x0101010101010101
	quote, slash := w^ones*'"', w^ones*'\\'
	return ((quote-ones)&^quote | (slash-ones)&^slash | (w-ones*' ')&^w) & (ones << 7)
}

func scanNumber(b []byte, i int) (_ int, st status) {
	if b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if i, st = scanDigits(b, i); st != complete {
		return i, st
	}
	if i < len(b) && b[i] == '.' {
		if i, st = scanDigits(b, i+1); st != complete {
			return i, st
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return scanDigits(b, i)
	}
	return i, complete
}

// scanDigits scans one or more digits.
func scanDigits(b []byte, i int) (int, status) {
	start := i
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		i++
	}
	switch {
	case i > start:
		return i, complete
	case i >= len(b):
		return i, incomplete
	}
	return i, invalid
}

func scanLiteral(b []byte, i int, word string) (int, status) {
	for j := range len(word) {
		if i+j >= len(b) {
			return i + j, incomplete
		}
		if b[i+j] != word[j] {
			return i + j, invalid
		}
	}
	return i + len(word), complete
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}
