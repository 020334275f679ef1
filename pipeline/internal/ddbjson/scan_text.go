package ddbjson

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/internal/simd"
)

// Text checks a JSON string from the byte after its opening quote, and returns the position of the closing quote.
func (s *Scanner) Text(i int) int {
	b := s.Input
	for short := 0; uint(i)+8 <= uint(len(b)); {
		stop := simd.StopMask(binary.LittleEndian.Uint64(b[i:]))
		if stop == 0 {
			if i += 8; short < shortText {
				short++
				continue
			}
			if i += simd.PlainPrefix(b[i:]); i == len(b) {
				break
			}
		} else {
			i += bits.TrailingZeros64(stop) >> 3
		}
		if b[i] == '"' {
			return i
		}
		if i = s.checkSpecial(i); i < 0 {
			return -1
		}
	}
	for ; s.Peek(i) != '"'; i++ { // the last bytes of the input
		if c := s.Peek(i); c < ' ' || c == '\\' || c >= utf8.RuneSelf {
			if i = s.checkSpecial(i); i < 0 {
				return -1
			}
			i--
		}
	}
	return i
}

// shortText is the number of eight-byte words after which a text counts as long.
const shortText = 3

// checkSpecial checks the byte at i, which is not plain text. It returns the position after the escape or the non-ASCII
// text at i. A control character is an error.
func (s *Scanner) checkSpecial(i int) int {
	switch c := s.Peek(i); {
	case c == '\\':
		return s.checkEscape(i)
	case c >= utf8.RuneSelf:
		return s.checkRunes(i)
	}
	return s.Fail(i, errControl)
}

// checkRunes checks UTF-8 up to the next ASCII byte.
func (s *Scanner) checkRunes(i int) int {
	for s.Peek(i) >= utf8.RuneSelf {
		r, size := utf8.DecodeRune(s.Input[i:])
		if r == utf8.RuneError && size == 1 && !s.grammarOnly {
			return s.Fail(i, ErrUTF8)
		}
		i += size
	}
	return i
}

// checkEscape checks one escape, or both escapes of a surrogate pair.
func (s *Scanner) checkEscape(i int) int {
	s.Escapes++
	switch s.Peek(i + 1) {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
	default:
		return s.Fail(i+1, errEscape)
	}
	r, ok := hexRune(s.Input, i)
	if !ok {
		return s.Fail(i, errEscape)
	}
	if !utf16.IsSurrogate(r) || s.grammarOnly {
		return i + 6
	}
	low, ok := hexRune(s.Input, i+6)
	if !ok || utf16.DecodeRune(r, low) == utf8.RuneError {
		return s.Fail(i, errSurrogate)
	}
	return i + 12
}

// hexRune returns the UTF-16 code unit of the escape \uXXXX at i.
func hexRune(b []byte, i int) (rune, bool) {
	if i+6 > len(b) || b[i] != '\\' || b[i+1] != 'u' {
		return 0, false
	}
	r := rune(0)
	for _, c := range b[i+2 : i+6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// number checks an N from the byte after its opening quote, and returns the position of the closing quote. A number of
// up to 38 digits without an exponent is always in DynamoDB's range. Any other number is parsed.
func (s *Scanner) number(i int) int {
	b := s.Input
	j := i
	if s.Peek(j) == '-' {
		j++
	}
	digits := -j
	for uint(j) < uint(len(b)) && b[j]-'0' <= 9 {
		j++
	}
	if s.Peek(j) == '.' {
		j++
		digits--
		for uint(j) < uint(len(b)) && b[j]-'0' <= 9 {
			j++
		}
	}
	digits += j
	if s.Peek(j) == '"' && 0 < digits && digits <= decimal.MaxDigits {
		return j
	}
	end := s.Text(i)
	if end < 0 {
		return -1
	}
	if _, err := decimal.Parse(TextOf(s.Input[i:end])); err != nil {
		return s.Fail(i, err)
	}
	return end
}

// DecimalOf returns the value of a checked N.
func DecimalOf(raw []byte) decimal.Decimal {
	d, err := decimal.Parse(raw)
	if err != nil { // raw has an escape
		d, _ = decimal.Parse(TextOf(raw))
	}
	return d
}

// base64 checks a B from the byte after its opening quote, and returns the position of the closing quote. The unused
// bits of the last character must be zero, so that two different texts never have the same bytes.
func (s *Scanner) base64(i int) int {
	b := s.Input
	j := i
	for uint(j)+4 <= uint(len(b)) {
		q := b[j : j+4 : j+4]
		if (sextets[q[0]]|sextets[q[1]]|sextets[q[2]]|sextets[q[3]])&noSextet != 0 {
			break
		}
		j += 4
	}
	if s.Peek(j) == '"' {
		return j
	}
	if j+5 <= len(b) {
		q := b[j : j+5 : j+5]
		first, second, third := sextets[q[0]], sextets[q[1]], sextets[q[2]]
		switch {
		case (first|second)&noSextet != 0 || q[3] != '=' || q[4] != '"':
		case q[2] == '=' && second&0b1111 == 0, third&noSextet == 0 && third&0b11 == 0:
			return j + 4
		}
	}
	end := s.Text(i)
	if end < 0 {
		return -1
	}
	if text := TextOf(s.Input[i:end]); len(text) != end-i { // it has escapes: some encoders escape '/' and '='
		_, err := strictBase64.AppendDecode(nil, text)
		if err == nil && !bytes.ContainsAny(text, "\r\n") { // the decoder skips line breaks
			return end
		}
	}
	return s.Fail(i, errBase64)
}

var strictBase64 = base64.StdEncoding.Strict()

const noSextet = 0x80

// sextets maps the characters of base64 to their values, and any other byte to noSextet.
var sextets = func() (t [256]uint8) {
	for i := range t {
		t[i] = noSextet
	}
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	for i := range len(letters) {
		t[letters[i]] = uint8(i)
	}
	return t
}()
