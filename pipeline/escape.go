package pipeline

import (
	"fmt"
	"strings"
)

// AppendEscaped appends text percent-encoded: all bytes but A-Z a-z 0-9 _ . -
// become % and two upper-case hex digits. It is the escaping of the canonical
// key, of the template function esc and of object keys; [Unescape] undoes it.
func AppendEscaped[T string | []byte](dst []byte, text T) []byte {
	for start := 0; ; {
		i := start
		for i < len(text) && unescaped(text[i]) {
			i++
		}
		dst = append(dst, text[start:i]...)
		if i == len(text) {
			return dst
		}
		b := text[i]
		dst = append(dst, '%', upperHex[b>>4], upperHex[b&15])
		start = i + 1
	}
}

const upperHex = "0123456789ABCDEF"

// unescaped tells whether b stands for itself in escaped text.
func unescaped(b byte) bool { return plainBytes[b] }

// plainBytes tells it of each byte.
var plainBytes = func() (set [256]bool) {
	for _, b := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-") {
		set[b] = true
	}
	return set
}()

// Unescape undoes [AppendEscaped]. It also reads escapes of bytes that need none
// (%2E for a dot), as object keys hold them; the error names the first byte that
// is neither plain nor part of an escape, 0-based.
func Unescape(s string) (string, error) {
	if !strings.ContainsFunc(s, func(r rune) bool { return r > 0x7f || !unescaped(byte(r)) }) {
		return s, nil
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case unescaped(c):
			b = append(b, c)
		case c == '%' && i+2 < len(s) && hexDigit(s[i+1]) >= 0 && hexDigit(s[i+2]) >= 0:
			b = append(b, byte(hexDigit(s[i+1])<<4|hexDigit(s[i+2])))
			i += 2
		default:
			return "", fmt.Errorf("escaped text: byte %d (%q) is not escaped as %% and two upper-case hex digits", i, c)
		}
	}
	return string(b), nil
}

// hexDigit is the value of an upper-case hex digit, or -1.
func hexDigit(c byte) int {
	return strings.IndexByte(upperHex, c)
}
