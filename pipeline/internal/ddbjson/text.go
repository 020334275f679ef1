package ddbjson

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"

	"github.com/tablewake/tablewake/pipeline/internal/simd"
)

// TextOf returns the checked JSON string raw without its escapes. It returns raw itself if raw has no escapes.
func TextOf(raw []byte) []byte {
	first := bytes.IndexByte(raw, '\\')
	if first < 0 {
		return raw
	}
	return AppendTextOf(append(make([]byte, 0, len(raw)), raw[:first]...), raw[first:])
}

// AppendTextOf appends raw without its escapes. It writes U+FFFD for half a surrogate pair, which checked input does
// not have.
func AppendTextOf(dst, raw []byte) []byte {
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return append(dst, raw...)
		}
		r, size := escapedRune(raw[i:])
		dst = utf8.AppendRune(append(dst, raw[:i]...), r)
		raw = raw[i+size:]
	}
}

// escapedRune returns the rune and the length of the escape that raw starts with. Both escapes of a surrogate pair are
// one escape here.
func escapedRune(raw []byte) (r rune, size int) {
	switch raw[1] {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
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
	return rune(raw[1]), 2
}

// TextLen is len(TextOf(raw)), without allocation.
func TextLen(raw []byte) int {
	n := len(raw)
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return n
		}
		raw = raw[i:]
		if raw[1] != 'u' {
			raw = raw[2:]
			n--
			continue
		}
		r, _ := hexRune(raw, 0)
		if utf16.IsSurrogate(r) {
			raw = raw[12:]
			n -= 12 - 4
			continue
		}
		raw = raw[6:]
		n -= 6 - utf8.RuneLen(r)
	}
}

// SameText reports whether two checked strings are equal after unescaping.
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
	i := 0
	for b := unsafe.Slice(unsafe.StringData(text), len(text)); len(b)-i >= 8; i += 8 {
		if simd.StopMask(binary.LittleEndian.Uint64(b[i:])) != 0 {
			break
		}
	}
	ascii := true
	for ; i < len(text); i++ {
		c := text[i]
		if c < ' ' || c == '"' || c == '\\' {
			return false
		}
		ascii = ascii && c < utf8.RuneSelf
	}
	return ascii || utf8.ValidString(text)
}

// AppendString appends raw as a JSON string with quotes. raw is checked and already has its escapes.
func AppendString(dst, raw []byte) []byte {
	dst = append(dst, '"')
	dst = append(dst, raw...)
	return append(dst, '"')
}

// UpperHex has the hex digits in upper case.
const UpperHex = "0123456789ABCDEF"
