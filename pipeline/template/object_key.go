package template

import (
	"github.com/tablewake/tablewake/pipeline/redact"
)

// missingText replaces a missing value in object keys.
const missingText = "_none"

// AppendObjectKey appends the template as an object key. The text of every placeholder is percent-encoded, except
// {@key} and placeholders that end in |esc, which are already encoded. A missing value becomes _none, even if it is
// optional. The text of a value is never _none, never consists only of dots, and never contains a slash, because
// AppendObjectKey encodes such text further. [item.Unescape] decodes each text. AppendObjectKey returns the same errors
// as Value.
func (t *Template) AppendObjectKey(dst []byte, s Scope) ([]byte, error) {
	return t.appendObjectKey(dst, s, encodedValues)
}

// AppendRawObjectKey does the same as AppendObjectKey, but without the encoding. So the text of a value keeps its
// slashes. The result can be an invalid object key, and two lists of values can have the same result.
func (t *Template) AppendRawObjectKey(dst []byte, s Scope) ([]byte, error) {
	return t.appendObjectKey(dst, s, rawValues)
}

// objectKeyForm is the form of values in an object key.
type objectKeyForm uint8

const (
	encodedValues objectKeyForm = iota
	rawValues
)

func (t *Template) appendObjectKey(dst []byte, s Scope, form objectKeyForm) ([]byte, error) {
	origin := len(dst)
	for i := range t.placeholders {
		h := &t.placeholders[i]
		dst = append(dst, t.literals[i]...)
		start := len(dst)
		var found bool
		var err error
		dst, found, err = h.append(dst, &s)
		if err != nil {
			return dst[:origin], errs.Errorf("template %q: %w", redact.Safe(t.src), err)
		}
		switch {
		case !found:
			dst = append(dst, missingText...)
		case form == encodedValues && h.escaped():
			dst = escapeReserved(dst, start)
		case form == encodedValues:
			dst = escapeReserved(escape(dst, start), start)
		}
	}
	return append(dst, t.literals[len(t.placeholders)]...), nil
}

// escapeReserved encodes text with a special meaning. It encodes _none, and any text that consists only of dots,
// because . and .. are folders.
func escapeReserved(dst []byte, start int) []byte {
	text := dst[start:]
	if string(text) == missingText {
		return append(dst[:start], "%5Fnone"...)
	}
	for _, b := range text {
		if b != '.' {
			return dst
		}
	}
	n := len(text)
	dst = dst[:start]
	for range n {
		dst = append(dst, "%2E"...)
	}
	return dst
}
