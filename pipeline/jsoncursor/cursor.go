// Package jsoncursor reads a few values of a JSON text. It finds members and elements, and skips all other values
// without checking them.
package jsoncursor

import (
	"bytes"
	"encoding/json"
	"iter"
)

// Cursor reads JSON in one pass. After it fails on broken JSON, every result is empty.
type Cursor struct {
	b      []byte
	at     int
	failed bool
}

// New returns a cursor before the first byte of b. The results of the cursor are subslices of b.
func New(b []byte) Cursor { return Cursor{b: b} }

// Failed reports whether the JSON is broken, or differs from what [Cursor.Want] required.
func (c *Cursor) Failed() bool { return c.failed }

// Offset returns the index of the next byte.
func (c *Cursor) Offset() int { return c.at }

// Advance skips n bytes that the caller has already read.
func (c *Cursor) Advance(n int) { c.at += n }

func (c *Cursor) skipSpace() {
	for c.at < len(c.b) && c.b[c.at] <= ' ' {
		c.at++
	}
}

// Peek skips spaces and returns the next byte, or 0 at the end.
func (c *Cursor) Peek() byte {
	c.skipSpace()
	if c.failed || c.at >= len(c.b) {
		return 0
	}
	return c.b[c.at]
}

// Take skips the next byte if it is b, and reports whether it was b.
func (c *Cursor) Take(b byte) bool {
	if c.Peek() != b {
		return false
	}
	c.at++
	return true
}

// Want skips b. It fails if the next byte is not b.
func (c *Cursor) Want(b byte) {
	if !c.Take(b) {
		c.failed = true
	}
}

// Members yields the name of each member of the next object. Escapes in the name remain. At each yield, the cursor is
// at the member's value. If the caller does not read the value, Members skips it. If the next value is not an object,
// Members skips it and yields nothing.
func (c *Cursor) Members() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if !c.Take('{') {
			c.Value()
			return
		}
		for first := true; c.next(first, '}'); first = false {
			name := c.Name()
			c.skipSpace()
			at := c.at
			if c.failed || !yield(name) {
				return
			}
			if c.at == at {
				c.Value()
			}
		}
	}
}

// Elements yields once for each element of the next array. At each yield, the cursor is at the element. If the caller
// does not read the element, Elements skips it. If the next value is not an array, Elements skips it and does not
// yield.
func (c *Cursor) Elements() func(yield func() bool) {
	return func(yield func() bool) {
		if !c.Take('[') {
			c.Value()
			return
		}
		for first := true; c.next(first, ']'); first = false {
			c.skipSpace()
			at := c.at
			if !yield() {
				return
			}
			if c.at == at {
				c.Value()
			}
		}
	}
}

// next moves to the next member or element. first says that it is the first one, and end is the closing bracket. next
// returns false after the last one.
func (c *Cursor) next(first bool, end byte) bool {
	if c.failed || c.Take(end) {
		return false
	}
	if !first {
		c.Want(',')
	}
	return !c.failed
}

// Name returns the next member's name, and skips the colon.
func (c *Cursor) Name() []byte {
	n := c.readString()
	c.Want(':')
	return n
}

// readString returns the next string, as written between its quotes.
func (c *Cursor) readString() []byte {
	c.Want('"')
	for from := c.at; c.at < len(c.b); c.at++ {
		switch c.b[c.at] {
		case '\\':
			c.at++
		case '"':
			c.at++
			return c.b[from : c.at-1]
		}
	}
	c.failed = true
	return nil
}

// Text skips the next value and returns it as written between its quotes. It returns nil if the value is not a string.
func (c *Cursor) Text() []byte {
	if c.Peek() == '"' {
		return c.readString()
	}
	c.Value()
	return nil
}

// Integer skips the next value and returns it if it is a natural number. Otherwise it returns 0.
func (c *Cursor) Integer() int {
	n := 0
	for _, d := range c.Value() {
		if d < '0' || d > '9' || n > 1<<40 {
			return 0
		}
		n = n*10 + int(d-'0')
	}
	return n
}

// Value skips and returns the next value. It returns nil if the cursor fails.
func (c *Cursor) Value() []byte {
	c.skipSpace()
	start, depth := c.at, 0
	for !c.failed && c.at < len(c.b) {
		switch b := c.b[c.at]; b {
		case '"':
			c.readString()
		case '{', '[':
			depth++
			c.at++
		case '}', ']':
			depth--
			c.at++
		case ',', ':', ' ', '\t', '\r', '\n':
			c.at++
			c.failed = depth == 0
		default:
			c.at++
			for c.at < len(c.b) && !isDelimiter(c.b[c.at]) {
				c.at++
			}
		}
		if depth == 0 && !c.failed {
			return c.b[start:c.at:c.at]
		}
		c.failed = c.failed || depth < 0
	}
	c.failed = true
	return nil
}

// isDelimiter reports whether b ends a number or a literal.
func isDelimiter(b byte) bool {
	switch b {
	case ',', ':', '{', '}', '[', ']', '"':
		return true
	}
	return b <= ' '
}

// Means reports whether text, as written between its quotes, is the string s.
func Means(text []byte, s string) bool {
	return string(text) == s || bytes.IndexByte(text, '\\') >= 0 && Unquote(text) == s
}

// Unquote returns the string of a text, as written between its quotes. It returns "" if the escapes are broken.
func Unquote(text []byte) string {
	if bytes.IndexByte(text, '\\') < 0 {
		return string(text)
	}
	var s string
	if json.Unmarshal(append(append([]byte{'"'}, text...), '"'), &s) != nil {
		return ""
	}
	return s
}
