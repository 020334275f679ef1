package ddbjson

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"math/bits"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/internal/simd"
)

// Text checks a JSON string from the byte after its opening quote, and returns the position of the closing quote.
func (s *Scanner) Text(i int) int {
	b := s.Input
	for plainWords := 0; uint(i)+8 <= uint(len(b)); {
		stop := simd.StopMask(binary.LittleEndian.Uint64(b[i:]))
		if stop == 0 {
			i += 8
			plainWords++
			if plainWords <= shortText {
				continue
			}
			i += simd.PlainPrefix(b[i:])
			if i == len(b) {
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
	for s.Peek(i) != '"' { // the last bytes of the input
		if c := s.Peek(i); c >= ' ' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if i = s.checkSpecial(i); i < 0 {
			return -1
		}
	}
	return i
}

// shortText is the number of eight-byte words after which a text counts as long.
const shortText = 3

// checkSpecial checks the byte at i, which is not plain text. It returns the position after the escape or the non-ASCII
// text at i. A control character is an error.
func (s *Scanner) checkSpecial(i int) int {
	c := s.Peek(i)
	if c == '\\' {
		return s.checkEscape(i)
	}
	if c >= utf8.RuneSelf {
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
	unit, err := strconv.ParseUint(View(b[i+2:i+6]), 16, 16)
	return rune(unit), err == nil
}

// number checks an N from the byte after its opening quote, and returns the position of the closing quote. A number of
// up to 38 digits without an exponent is always in DynamoDB's range. Any other number is parsed.
func (s *Scanner) number(i int) int {
	b := s.Input
	end := i
	if s.Peek(end) == '-' {
		end++
	}
	whole := end
	for uint(end) < uint(len(b)) && b[end]-'0' <= 9 {
		end++
	}
	digits := end - whole
	if s.Peek(end) == '.' {
		end++
		fraction := end
		for uint(end) < uint(len(b)) && b[end]-'0' <= 9 {
			end++
		}
		digits += end - fraction
	}
	if s.Peek(end) == '"' && 0 < digits && digits <= decimal.MaxDigits {
		return end
	}

	end = s.Text(i)
	if end < 0 {
		return -1
	}
	if _, err := decimal.Parse(TextOf(b[i:end])); err != nil {
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
	end := i
	for uint(end)+4 <= uint(len(b)) {
		q := b[end : end+4 : end+4]
		if (sextets[q[0]]|sextets[q[1]]|sextets[q[2]]|sextets[q[3]])&noSextet != 0 {
			break
		}
		end += 4
	}
	if s.Peek(end) == '"' {
		return end
	}
	if end+5 <= len(b) && isPaddedEnd(b[end:end+5]) {
		return end + 4
	}

	end = s.Text(i)
	if end < 0 {
		return -1
	}
	text := TextOf(b[i:end])
	hasEscapes := len(text) != end-i                    // some encoders escape '/' and '='
	if hasEscapes && !bytes.ContainsAny(text, "\r\n") { // the decoder skips line breaks
		if _, err := strictBase64.AppendDecode(nil, text); err == nil {
			return end
		}
	}
	return s.Fail(i, errBase64)
}

// isPaddedEnd reports whether five bytes are the padded end of a base64 text, and its closing quote.
func isPaddedEnd(b []byte) bool {
	first, second, third := sextets[b[0]], sextets[b[1]], sextets[b[2]]
	if (first|second)&noSextet != 0 || b[3] != '=' || b[4] != '"' {
		return false
	}
	if b[2] == '=' {
		return second&0b1111 == 0
	}
	return third&noSextet == 0 && third&0b11 == 0
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
