package replay

import (
	"encoding/binary"
	"math/bits"
)

// status is how a scan came out.
type status uint8

const (
	done status = iota
	more        // the bytes end within the value
	bad         // the grammar is broken
)

// scanner finds the end of JSON values, checking their grammar. It leaves to the
// decoder what is within the grammar: UTF-8, duplicate names, what the record means.
type scanner struct {
	stack []int // indexes of the '{' and '[' that are open; after a scan that failed, still
}

// maxDepth bounds the nesting of JSON, as the decoder does.
const maxDepth = 1000

// value scans the JSON value that starts at b[i]. The index it returns is the one
// behind the value (done), or that of the byte at which the grammar broke (bad).
// A number that ends with b is done: the caller asks for more bytes where more may come.
func (s *scanner) value(b []byte, i int) (int, status) {
	s.stack = s.stack[:0]
	var st status
	for {
		// A value stands here.
		if i >= len(b) {
			return i, more
		}
		switch c := b[i]; {
		case c == '"':
			i, st = scanString(b, i)
		case c == '{' || c == '[':
			open := i
			i = skipSpace(b, i+1)
			if i >= len(b) {
				return i, more
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
		// A value ended here: close what ends with it.
		for {
			if len(s.stack) == 0 {
				return i, done
			}
			if i = skipSpace(b, i); i >= len(b) {
				return i, more
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

// scanName scans a member's name and its colon, up to where its value starts.
func scanName(b []byte, i int) (int, status) {
	if i >= len(b) {
		return i, more
	}
	if b[i] != '"' {
		return i, bad
	}
	i, st := scanString(b, i)
	if st != done {
		return i, st
	}
	if i = skipSpace(b, i); i >= len(b) {
		return i, more
	}
	if b[i] != ':' {
		return i, bad
	}
	return skipSpace(b, i+1), done
}

func scanString(b []byte, i int) (int, status) {
	for i++; i < len(b); i++ {
		for i+8 <= len(b) {
			stop := stops(binary.LittleEndian.Uint64(b[i:]))
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
				return i, more
			}
			switch b[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				for range 4 {
					i++
					if i >= len(b) {
						return i, more
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
	return i, more
}

// stops has the highest bit of a byte set where that is the first of w that is a quote, a
// backslash or a control character; behind it, bits may be set of others.
func stops(w uint64) uint64 {
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
		return i, more
	}
	return i, bad
}

func scanLiteral(b []byte, i int, word string) (int, status) {
	for j := range len(word) {
		if i+j >= len(b) {
			return i + j, more
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
