package handlers

import (
	"bytes"
	"encoding/json"
)

// cursor walks over JSON, finding members and elements without checking what it passes:
// the decoder checks all of it anyway. On broken JSON it finds less, or nothing.
type cursor struct {
	b []byte
	i int
}

// peek is the next byte that is no white space; 0 at the end.
func (c *cursor) peek() byte {
	for ; c.i < len(c.b); c.i++ {
		switch c.b[c.i] {
		case ' ', '\t', '\r', '\n':
		default:
			return c.b[c.i]
		}
	}
	return 0
}

// take passes over ch where that comes next.
func (c *cursor) take(ch byte) bool {
	if c.peek() != ch {
		return false
	}
	c.i++
	return true
}

// members calls yield for the members of the object that comes next, with the cursor at the
// value; yield need not pass over it. It ends where yield says so, and is true where an object stood there.
func (c *cursor) members(yield func(name string) (more bool)) bool {
	if !c.take('{') {
		return false
	}
	for c.peek() == '"' {
		name := c.skip()
		if name == nil || !c.take(':') {
			return true
		}
		c.peek()
		at := c.i
		if !yield(text(name)) {
			return true
		}
		if c.i == at {
			c.skip()
		}
		if !c.take(',') {
			return true
		}
	}
	return true
}

// skip passes over the value that comes next, and returns it; nil where none comes.
func (c *cursor) skip() []byte {
	first, start, depth := c.peek(), c.i, 0
	for c.i < len(c.b) {
		switch c.b[c.i] {
		case '"':
			if !c.skipText() {
				return nil
			}
		case '{', '[':
			depth++
			c.i++
		case '}', ']':
			if depth--; depth < 0 {
				return nil
			}
			c.i++
		default:
			if depth == 0 && first != '{' && first != '[' { // a number or a word
				c.skipWord()
				return c.b[start:c.i:c.i]
			}
			c.i++
		}
		if depth == 0 {
			return c.b[start:c.i:c.i]
		}
	}
	return nil
}

// skipText passes over a text; false where it does not end.
func (c *cursor) skipText() bool {
	for c.i++; ; c.i++ {
		n := bytes.IndexByte(c.b[c.i:], '"')
		if n < 0 {
			c.i = len(c.b)
			return false
		}
		c.i += n
		slashes := 0
		for c.b[c.i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			c.i++
			return true
		}
	}
}

func (c *cursor) skipWord() {
	n := bytes.IndexAny(c.b[c.i:], ",]} \t\r\n")
	if n < 0 {
		n = len(c.b) - c.i
	}
	c.i += n
}

// text is a value that is a text; "" where it is none.
func text(value []byte) string {
	switch {
	case len(value) < 2 || value[0] != '"':
		return ""
	case bytes.IndexByte(value, '\\') < 0:
		return string(value[1 : len(value)-1])
	}
	var s string
	if json.Unmarshal(value, &s) != nil {
		return ""
	}
	return s
}
