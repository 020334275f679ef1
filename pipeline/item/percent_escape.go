package item

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
)

// AppendEscaped appends text in percent-encoding. All bytes except A-Z a-z 0-9 _ . - become % and two upper-case hex
// digits. Canonical keys, the template function esc and object keys use this encoding. [Unescape] decodes it.
func AppendEscaped[T string | []byte](dst []byte, text T) []byte {
	for start := 0; ; {
		i := start
		for i < len(text) && plainBytes[text[i]] {
			i++
		}
		dst = append(dst, text[start:i]...)
		if i == len(text) {
			return dst
		}
		b := text[i]
		dst = append(dst, '%', ddbjson.UpperHex[b>>4], ddbjson.UpperHex[b&15])
		start = i + 1
	}
}

// plainBytes has true for each byte that AppendEscaped leaves as it is.
var plainBytes = func() (set [256]bool) {
	for _, b := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-") {
		set[b] = true
	}
	return set
}()

// Unescape decodes text that [AppendEscaped] wrote. It also accepts the escape of a byte that needs no escape, such as
// %2E for a dot in object keys. The error names the position of the first invalid byte, 0-based.
func Unescape(s string) (string, error) {
	if !strings.ContainsFunc(s, func(r rune) bool { return r > 0x7f || !plainBytes[byte(r)] }) {
		return s, nil
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case plainBytes[c]:
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

// hexDigit returns the value of an upper-case hex digit, or -1.
func hexDigit(c byte) int {
	return strings.IndexByte(ddbjson.UpperHex, c)
}

// AppendPrintable appends text for a terminal. Runes that control the terminal, or that mislead readers, become JSON
// escapes (\u001b), which do not change the meaning of JSON. These runes are controls (C0 except tab and newline, DEL,
// C1), direction marks, and invisible separators and tags. Invalid UTF-8 becomes U+FFFD.
func AppendPrintable(dst []byte, text []byte) []byte {
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		text = text[size:]
		switch {
		case !isHidden(r):
			dst = utf8.AppendRune(dst, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			dst = fmt.Appendf(dst, `\u%04x\u%04x`, high, low)
		default:
			dst = fmt.Appendf(dst, `\u%04x`, r)
		}
	}
	return dst
}

// isHidden reports whether a rune is a control other than tab and newline, a direction mark, or an invisible separator
// or tag.
func isHidden(r rune) bool {
	switch {
	case r == '\n', r == '\t':
		return false
	case r < ' ', r >= 0x7f && r < 0xa0:
		return true // C0, DEL and C1
	case r == 0x61c, r == 0x200e, r == 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2066 && r <= 0x2069,
		r == 0xfeff, r >= 0xe0000 && r <= 0xe007f:
		return true
	}
	return false
}
