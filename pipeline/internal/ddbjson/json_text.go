package ddbjson

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tablewake/tablewake/pipeline/internal/simd"
)

// TextOf returns the checked JSON string raw without its escapes. It returns raw itself if raw has no escapes. It
// writes U+FFFD for half a surrogate pair, which checked input does not have.
func TextOf(raw []byte) []byte {
	i := bytes.IndexByte(raw, '\\')
	if i < 0 {
		return raw
	}
	text := make([]byte, 0, len(raw))
	for ; i >= 0; i = bytes.IndexByte(raw, '\\') {
		r, size := escapedRune(raw[i:])
		text = utf8.AppendRune(append(text, raw[:i]...), r)
		raw = raw[i+size:]
	}
	return append(text, raw...)
}

// escapedRune returns the rune and the length of the escape that raw starts with. Both escapes of a surrogate pair are
// one escape here.
func escapedRune(raw []byte) (r rune, size int) {
	const letters, controls = "bfnrt", "\b\f\n\r\t"
	if i := strings.IndexByte(letters, raw[1]); i >= 0 {
		return rune(controls[i]), 2
	}
	if raw[1] != 'u' {
		return rune(raw[1]), 2
	}
	r, _ = hexRune(raw, 0)
	if utf16.IsSurrogate(r) {
		low, _ := hexRune(raw, 6)
		r = utf16.DecodeRune(r, low)
		if r != utf8.RuneError {
			return r, 12
		}
	}
	return r, 6
}

// SameText reports whether two checked strings are equal after unescaping. It does not allocate.
func SameText(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if bytes.IndexByte(a, '\\') < 0 && bytes.IndexByte(b, '\\') < 0 {
		return false
	}
	for len(a) > 0 && len(b) > 0 {
		r, size := firstRune(a)
		other, otherSize := firstRune(b)
		if r != other {
			return false
		}
		a, b = a[size:], b[otherSize:]
	}
	return len(a) == len(b)
}

// firstRune returns the first rune of a checked string, and the number of bytes of the rune or its escape.
func firstRune(raw []byte) (r rune, size int) {
	if raw[0] == '\\' {
		return escapedRune(raw)
	}
	return utf8.DecodeRune(raw)
}

// AppendRaw appends text with the escapes of a JSON string, without quotes. Invalid UTF-8 becomes U+FFFD.
func AppendRaw(dst []byte, text string) []byte {
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < ' ':
			dst = append(dst, '\\', 'u', '0', '0', UpperHex[c>>4], UpperHex[c&15])
		case c < utf8.RuneSelf:
			dst = append(dst, c)
		default:
			r, size := utf8.DecodeRuneInString(text[i:])
			dst = utf8.AppendRune(dst, r)
			i += size
			continue
		}
		i++
	}
	return dst
}

// IsRaw reports whether text needs no escape in a JSON string.
func IsRaw(text string) bool {
	b := Bytes(text)
	for _, c := range b[simd.PlainPrefix(b):] {
		if c < ' ' || c == '"' || c == '\\' {
			return false
		}
	}
	return utf8.ValidString(text)
}

// AppendString appends raw as a JSON string with quotes. raw is checked and already has its escapes.
func AppendString(dst, raw []byte) []byte {
	dst = append(dst, '"')
	dst = append(dst, raw...)
	return append(dst, '"')
}

// UpperHex has the hex digits in upper case.
const UpperHex = "0123456789ABCDEF"
