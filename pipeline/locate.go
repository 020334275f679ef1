package pipeline

import "unicode/utf8"

// place is what a position of the input belongs to: it says which names of the
// JSON are part of a path, and which are type tags.
type place uint8

const (
	inOther  place = iota
	inRecord       // the object of a record
	inStream       // its dynamodb
	inItem         // an image, the members of an M
	inValue        // {"S":"x"}
	inList         // the elements of an L
)

// locate is the path of the position at, within the JSON that starts behind from
// and white space: dynamodb.NewImage.Address.Lines[2]. It reads from the start once
// more, and as far as the grammar is sound.
func (s *scanner) locate(at int, where place) string { return s.locateFrom(0, at, where) }

// locateFrom is the path of the byte at, in a document that begins at from.
func (s *scanner) locateFrom(from, at int, where place) string {
	err, path, place := s.err, s.path, s.at
	defer func() { s.err, s.path, s.at = err, path, place }()
	return shortened(s.descend(nil, s.space(from), at, where))
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

func (s *scanner) descend(path []byte, i, at int, where place) []byte {
	opening := s.peek(i)
	if opening != '{' && opening != '[' {
		return path
	}
	i = s.space(i + 1)
	for n := 0; i >= 0 && i <= at; n++ {
		var name []byte
		start := i
		if opening == '{' {
			if name, i = s.field(i); i < 0 {
				return s.below(path, s.brokenName(start), where)
			}
		}
		end := s.skip(i)
		if end < 0 || at < end {
			here := path
			switch {
			case opening == '[':
				here = appendElement(path, n)
			case where != inValue:
				here = appendMember(path, string(name))
			}
			return s.descend(here, i, at, child(where, name))
		}
		done := false
		if i, done = s.separator(end, opening+2); done {
			return path
		}
	}
	return path
}

// brokenName is the name at i where it is sound and what follows it is not.
func (s *scanner) brokenName(i int) []byte {
	if s.peek(i) != '"' {
		return nil
	}
	lax := s.lax
	s.lax = true
	end := s.text(i + 1)
	s.lax = lax
	if end < 0 {
		return nil
	}
	return textOf(s.b[i+1 : end])
}

func (s *scanner) below(path, name []byte, where place) []byte {
	if name == nil || where == inValue {
		return path
	}
	return appendMember(path, string(name))
}

// child is the place of what stands under name.
func child(where place, name []byte) place {
	switch where {
	case inRecord:
		if string(name) == "dynamodb" {
			return inStream
		}
	case inStream:
		switch string(name) {
		case "Keys", "NewImage", "OldImage":
			return inItem
		}
	case inItem, inList:
		return inValue
	case inValue:
		switch string(name) {
		case "M":
			return inItem
		case "L":
			return inList
		}
	}
	return inOther
}

// appendBelow appends a path to the path of what it is below.
func appendBelow(path []byte, below string) []byte {
	if below != "" && below[0] != '[' {
		path = append(path, '.')
	}
	return append(path, below...)
}
