package ddbjson

import "unicode/utf8"

// Context is what a position of the input belongs to: it says which names of the
// JSON are part of a path, and which are type tags.
type Context uint8

const (
	inOther  Context = iota
	InRecord         // the object of a record
	inStream         // its dynamodb
	InItem           // an image, the members of an M
	InValue          // {"S":"x"}
	inList           // the elements of an L
)

// Locate is the path of the position at, within the JSON that starts behind from
// and white space: dynamodb.NewImage.Address.Lines[2]. It reads from the start once
// more, and as far as the grammar is sound.
func (s *Scanner) Locate(at int, where Context) string { return s.LocateFrom(0, at, where) }

// LocateFrom is the path of the byte at, in a document that begins at from.
func (s *Scanner) LocateFrom(from, at int, where Context) string {
	err, path, place := s.Err, s.Path, s.At
	defer func() { s.Err, s.Path, s.At = err, path, place }()
	return shortened(s.descend(nil, s.Space(from), at, where))
}

// maxPathText bounds a path in an error: the names of attributes are the sender's, and
// may be of any length.
const maxPathText = 512

func shortened(path []byte) string {
	if len(path) <= maxPathText {
		return string(path)
	}
	cut := maxPathText
	for !utf8.RuneStart(path[cut]) {
		cut--
	}
	return string(path[:cut]) + "..."
}

func (s *Scanner) descend(path []byte, i, at int, where Context) []byte {
	opening := s.Peek(i)
	if opening != '{' && opening != '[' {
		return path
	}
	i = s.Space(i + 1)
	for n := 0; i >= 0 && i <= at; n++ {
		var name []byte
		start := i
		if opening == '{' {
			if name, i = s.Field(i); i < 0 {
				return s.below(path, s.brokenName(start), where)
			}
		}
		end := s.Ignore(i)
		if end < 0 || at < end {
			here := path
			switch {
			case opening == '[':
				here = AppendElement(path, n)
			case where != InValue:
				here = AppendMember(path, string(name))
			}
			return s.descend(here, i, at, child(where, name))
		}
		done := false
		if i, done = s.Separator(end, opening+2); done {
			return path
		}
	}
	return path
}

// brokenName is the name at i where it is sound and what follows it is not.
func (s *Scanner) brokenName(i int) []byte {
	if s.Peek(i) != '"' {
		return nil
	}
	lax := s.lax
	s.lax = true
	end := s.Text(i + 1)
	s.lax = lax
	if end < 0 {
		return nil
	}
	return TextOf(s.B[i+1 : end])
}

func (s *Scanner) below(path, name []byte, where Context) []byte {
	if name == nil || where == InValue {
		return path
	}
	return AppendMember(path, string(name))
}

// child is the place of what stands under name.
func child(where Context, name []byte) Context {
	switch where {
	case InRecord:
		if string(name) == "dynamodb" {
			return inStream
		}
	case inStream:
		switch string(name) {
		case "Keys", "NewImage", "OldImage":
			return InItem
		}
	case InItem, inList:
		return InValue
	case InValue:
		switch string(name) {
		case "M":
			return InItem
		case "L":
			return inList
		}
	}
	return inOther
}

// AppendBelow appends a path to the path of what it is below.
func AppendBelow(path []byte, below string) []byte {
	if below != "" && below[0] != '[' {
		path = append(path, '.')
	}
	return append(path, below...)
}
