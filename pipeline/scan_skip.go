package pipeline

// maxDepth bounds the nesting of JSON that is skipped.
const maxDepth = 1000

// skip reads any JSON value for its grammar alone: fields that nobody asks for,
// and records whose shape is wrong.
func (s *scanner) skip(i int) int {
	lax, escapes := s.lax, s.escapes
	s.lax = true
	i = s.any(i, 0)
	s.lax, s.escapes = lax, escapes
	return i
}

func (s *scanner) any(i, depth int) int {
	if depth > maxDepth {
		return s.fail(i, errDeep)
	}
	switch c := s.peek(i); c {
	case '"':
		if i = s.text(i + 1); i < 0 {
			return -1
		}
		return i + 1
	case '{', '[':
		closing := c + 2 // '}' and ']'
		if i = s.space(i + 1); s.peek(i) == closing {
			return i + 1
		}
		for done := false; !done; {
			if c == '{' {
				if _, i = s.field(i); i < 0 {
					return -1
				}
			}
			if i = s.any(i, depth+1); i < 0 {
				return -1
			}
			if i, done = s.separator(i, closing); i < 0 {
				return -1
			}
		}
		return i
	case 't':
		return s.word(i, "true")
	case 'f':
		return s.word(i, "false")
	case 'n':
		return s.word(i, "null")
	default:
		return s.jsonNumber(i)
	}
}

// field reads a member's name and colon: the name and where the value starts. A
// name with an escape is unescaped.
func (s *scanner) field(i int) (name []byte, value int) {
	if s.peek(i) != '"' {
		return nil, s.fail(i, errToken)
	}
	escapes := s.escapes
	end := s.text(i + 1)
	if end < 0 {
		return nil, -1
	}
	name = s.b[i+1 : end]
	if s.escapes != escapes {
		name = textOf(name)
	}
	return name, s.colon(end + 1)
}

// word reads a literal: true, false or null.
func (s *scanner) word(i int, w string) int {
	if len(s.b)-i < len(w) {
		return s.fail(len(s.b), errEnd)
	}
	if string(s.b[i:i+len(w)]) != w {
		return s.fail(i, errToken)
	}
	return i + len(w)
}

// jsonNumber reads a number as RFC 8259 has it.
func (s *scanner) jsonNumber(i int) int {
	start := i
	if s.peek(i) == '-' {
		i++
	}
	first := i
	if i = s.digits(i); i == first || i > first+1 && s.b[first] == '0' {
		return s.fail(min(i, start+1), errToken)
	}
	if s.peek(i) == '.' {
		point := i
		if i = s.digits(i + 1); i == point+1 {
			return s.fail(i, errToken)
		}
	}
	if s.peek(i)|0x20 == 'e' {
		i++
		if c := s.peek(i); c == '+' || c == '-' {
			i++
		}
		exp := i
		if i = s.digits(i); i == exp {
			return s.fail(i, errToken)
		}
	}
	return i
}

func (s *scanner) digits(i int) int {
	for s.peek(i)-'0' <= 9 {
		i++
	}
	return i
}
