package ddbjson

// maxDepth limits the nesting of JSON outside of items.
const maxDepth = 1000

// SkipValue skips any JSON value and checks only its grammar. It is for fields that no caller reads, and for records
// with valid grammar and invalid content.
func (s *Scanner) SkipValue(i int) int {
	grammarOnly, escapes := s.grammarOnly, s.Escapes
	s.grammarOnly = true
	i = s.skip(i, 0)
	s.grammarOnly, s.Escapes = grammarOnly, escapes
	return i
}

func (s *Scanner) skip(i, depth int) int {
	if depth > maxDepth {
		return s.Fail(i, errDeep)
	}
	switch c := s.Peek(i); c {
	case '"':
		if i = s.Text(i + 1); i < 0 {
			return -1
		}
		return i + 1
	case '{', '[':
		return s.skipContainer(i, depth)
	case 't':
		return s.Word(i, "true")
	case 'f':
		return s.Word(i, "false")
	case 'n':
		return s.Word(i, "null")
	default:
		return s.JSONNumber(i)
	}
}

// skipContainer skips an object or an array.
func (s *Scanner) skipContainer(i, depth int) int {
	opening := s.Peek(i)
	closing := opening + 2 // '}' and ']'
	i = s.SkipSpace(i + 1)
	if s.Peek(i) == closing {
		return i + 1
	}
	for ended := false; !ended; {
		if opening == '{' {
			if _, i = s.Field(i); i < 0 {
				return -1
			}
		}
		if i = s.skip(i, depth+1); i < 0 {
			return -1
		}
		if i, ended = s.Separator(i, closing); i < 0 {
			return -1
		}
	}
	return i
}

// Field reads the name and the colon of a member. It returns the unescaped name and the position of the value.
func (s *Scanner) Field(i int) (name []byte, value int) {
	if s.Peek(i) != '"' {
		return nil, s.Fail(i, ErrToken)
	}
	escapes := s.Escapes
	end := s.Text(i + 1)
	if end < 0 {
		return nil, -1
	}
	name = s.Input[i+1 : end]
	if s.Escapes != escapes {
		name = TextOf(name)
	}
	return name, s.readColon(end + 1)
}

// Word reads the literal w: true, false or null.
func (s *Scanner) Word(i int, w string) int {
	if len(s.Input)-i < len(w) {
		return s.Fail(len(s.Input), ErrEnd)
	}
	if string(s.Input[i:i+len(w)]) != w {
		return s.Fail(i, ErrToken)
	}
	return i + len(w)
}

// JSONNumber reads a JSON number as RFC 8259 defines it.
func (s *Scanner) JSONNumber(i int) int {
	start := i
	if s.Peek(i) == '-' {
		i++
	}
	first := i
	i = s.digits(i)
	hasLeadingZero := i > first+1 && s.Input[first] == '0'
	if i == first || hasLeadingZero {
		return s.Fail(min(i, start+1), ErrToken)
	}
	if s.Peek(i) == '.' {
		point := i
		i = s.digits(i + 1)
		if i == point+1 {
			return s.Fail(i, ErrToken)
		}
	}
	if s.Peek(i)|0x20 == 'e' {
		i++
		if c := s.Peek(i); c == '+' || c == '-' {
			i++
		}
		exponent := i
		i = s.digits(i)
		if i == exponent {
			return s.Fail(i, ErrToken)
		}
	}
	return i
}

// digits returns the position of the first byte from i on that is not a digit.
func (s *Scanner) digits(i int) int {
	for s.Peek(i)-'0' <= 9 {
		i++
	}
	return i
}
