package replay

import (
	"encoding/binary"
	"math/bits"
)

// status is the result of a scan.
type status uint8

const (
	done       status = iota
	incomplete        // the value continues after the end of the bytes
	bad               // syntax error
)

// scanner finds the end of JSON values and checks their syntax. It does not check UTF-8, duplicate names or the content
// of records, because the decoder checks them.
type scanner struct {
	stack []int // indexes of the open '{' and '['; kept after a failed scan
}

// maxDepth is the maximum nesting of JSON, as in the decoder.
const maxDepth = 1000

// scanValue scans the JSON value at b[i]. It returns the index after the value (done), or the index of the syntax error
// (bad). For a number at the end of b it returns done, although the number may continue. The caller must check that.
func (s *scanner) scanValue(b []byte, i int) (int, status) {
	s.stack = s.stack[:0]
	var st status
	for {
		// Scan a value.
		if i >= len(b) {
			return i, incomplete
		}
		switch c := b[i]; {
		case c == '"':
			i, st = scanString(b, i)
		case c == '{' || c == '[':
			open := i
			i = skipSpace(b, i+1)
			if i >= len(b) {
				return i, incomplete
			}
			if b[i] == c+2 { // '{'+2 is '}', '['+2 is ']'
				i++
				break
			}
			if len(s.stack) == maxDepth {
				return open, bad
			}
			s.stack = append(s.stack, open)
			if c == '{' {
				if i, st = scanName(b, i); st != done {
					return i, st
				}
			}
			continue
		case c == '-' || '0' <= c && c <= '9':
			i, st = scanNumber(b, i)
		case c == 't':
			i, st = scanLiteral(b, i, "true")
		case c == 'f':
			i, st = scanLiteral(b, i, "false")
		case c == 'n':
			i, st = scanLiteral(b, i, "null")
		default:
			return i, bad
		}
		if st != done {
			return i, st
		}
		// Close the arrays and objects that end after the value.
		for {
			if len(s.stack) == 0 {
				return i, done
			}
			if i = skipSpace(b, i); i >= len(b) {
				return i, incomplete
			}
			open := b[s.stack[len(s.stack)-1]]
			if b[i] == open+2 {
				s.stack = s.stack[:len(s.stack)-1]
				i++
				continue
			}
			if b[i] != ',' {
				return i, bad
			}
			i = skipSpace(b, i+1)
			if open == '{' {
				if i, st = scanName(b, i); st != done {
					return i, st
				}
			}
			break
		}
	}
}

// scanName scans a member name, its colon and white space. It returns the index of the member's value.
func scanName(b []byte, i int) (int, status) {
	if i >= len(b) {
		return i, incomplete
	}
	if b[i] != '"' {
		return i, bad
	}
	i, st := scanString(b, i)
	if st != done {
		return i, st
	}
	if i = skipSpace(b, i); i >= len(b) {
		return i, incomplete
	}
	if b[i] != ':' {
		return i, bad
	}
	return skipSpace(b, i+1), done
}

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
			return i + 1, done
		case c < ' ':
			return i, bad
		case c == '\\':
			i++
			if i >= len(b) {
				return i, incomplete
			}
			switch b[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				for range 4 {
					i++
					if i >= len(b) {
						return i, incomplete
					}
					if !isHex(b[i]) {
						return i, bad
					}
				}
			default:
				return i, bad
			}
		}
	}
	return i, incomplete
}

// stopMask finds the first byte of w that is a quote, a backslash or a control character. The lowest bit that is set in
// the result is the highest bit of this byte. Higher bits of the result mean nothing. The result is 0 if w has no such
// byte.
func stopMask(w uint64) uint64 {
	const ones = 0x0101010101010101
	quote, slash := w^ones*'"', w^ones*'\\'
	return ((quote-ones)&^quote | (slash-ones)&^slash | (w-ones*' ')&^w) & (ones << 7)
}

func scanNumber(b []byte, i int) (int, status) {
	if b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if j := skipDigits(b, i); j > i {
		i = j
	} else {
		return noDigit(b, i)
	}
	if i < len(b) && b[i] == '.' {
		j := skipDigits(b, i+1)
		if j == i+1 {
			return noDigit(b, j)
		}
		i = j
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		j := skipDigits(b, i)
		if j == i {
			return noDigit(b, j)
		}
		i = j
	}
	return i, done
}

func noDigit(b []byte, i int) (int, status) {
	if i >= len(b) {
		return i, incomplete
	}
	return i, bad
}

func scanLiteral(b []byte, i int, word string) (int, status) {
	for j := range len(word) {
		if i+j >= len(b) {
			return i + j, incomplete
		}
		if b[i+j] != word[j] {
			return i + j, bad
		}
	}
	return i + len(word), done
}

func skipDigits(b []byte, i int) int {
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		i++
	}
	return i
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
