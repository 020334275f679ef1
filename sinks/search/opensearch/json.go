package opensearch

// cursor reads JSON in one pass. What it meets that is not as the server writes it
// sets failed, and everything after is nothing.
type cursor struct {
	b      []byte
	at     int
	failed bool
}

func (c *cursor) space() {
	for c.at < len(c.b) && c.b[c.at] <= ' ' {
		c.at++
	}
}

// peek is the next byte that is no space; 0 at the end.
func (c *cursor) peek() byte {
	c.space()
	if c.failed || c.at >= len(c.b) {
		return 0
	}
	return c.b[c.at]
}

// take steps over b if it is next.
func (c *cursor) take(b byte) bool {
	if c.peek() != b {
		return false
	}
	c.at++
	return true
}

func (c *cursor) want(b byte) {
	if !c.take(b) {
		c.failed = true
	}
}

// next steps to the next member or element of what end closes, false behind the last.
// first is set before the first and cleared by it.
func (c *cursor) next(first *bool, end byte) bool {
	if c.failed || c.take(end) {
		return false
	}
	if !*first {
		c.want(',')
	}
	*first = false
	return !c.failed
}

// text is the next string, as it is written between its quotes.
func (c *cursor) text() []byte {
	c.want('"')
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

// name is the next member's name, with the colon stepped over.
func (c *cursor) name() []byte {
	n := c.text()
	c.want(':')
	return n
}

// integer is the next value where it is a natural number, else 0; it is stepped over.
func (c *cursor) integer() int {
	n := 0
	for _, d := range c.skip() {
		if d < '0' || d > '9' || n > 1<<40 {
			return 0
		}
		n = n*10 + int(d-'0')
	}
	return n
}

// string is the next value where it is a string, else nil; it is stepped over.
func (c *cursor) string() []byte {
	if c.peek() == '"' {
		return c.text()
	}
	c.skip()
	return nil
}

// skip steps over the next value and returns it.
func (c *cursor) skip() []byte {
	c.space()
	from, depth := c.at, 0
	for !c.failed {
		switch b := c.peek(); b {
		case '"':
			c.text()
		case '{', '[':
			depth++
			c.at++
		case '}', ']':
			depth--
			c.at++
		case ',', ':':
			c.at++
			c.failed = depth == 0
		case 0:
			c.failed = true
		default:
			for c.at < len(c.b) && !delimiter(c.b[c.at]) {
				c.at++
			}
		}
		if depth <= 0 {
			break
		}
	}
	if c.failed || depth < 0 {
		c.failed = true
		return nil
	}
	return c.b[from:c.at]
}

func delimiter(b byte) bool {
	return b <= ' ' || b == ',' || b == ':' || b == '}' || b == ']' || b == '{' || b == '[' || b == '"'
}
