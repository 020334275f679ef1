package ddbjson

import (
	"strconv"
	"unicode/utf8"
)

// IsBare reports whether name needs no quotes in a path.
func IsBare(name string) bool {
	for i := range len(name) {
		if !BareNameByte(name[i], i == 0) {
			return false
		}
	}
	return name != ""
}

// BareNameByte reports whether a name without quotes can contain b. first means that b is the first byte of the name.
func BareNameByte(b byte, first bool) bool {
	return b == '_' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || !first && '0' <= b && b <= '9'
}

// AppendMember appends a step to the text of a path: the member of a map that has this name.
func AppendMember(path []byte, name string) []byte {
	if !IsBare(name) {
		path = append(path, '[')
		path = strconv.AppendQuote(path, name)
		return append(path, ']')
	}
	if len(path) > 0 {
		path = append(path, '.')
	}
	return append(path, name...)
}

// AppendElement appends a step to the text of a path: element i of a list.
func AppendElement(path []byte, i int) []byte {
	path = append(path, '[')
	path = strconv.AppendInt(path, int64(i), 10)
	return append(path, ']')
}

// JoinPath appends the text of a relative path to the path of its parent.
func JoinPath(parent []byte, relative string) []byte {
	if relative != "" && relative[0] != '[' {
		parent = append(parent, '.')
	}
	return append(parent, relative...)
}

// InputContext is the kind of object or list that a position of the input is in. It decides whether a name in the
// object is part of a path, a type tag, or neither.
type InputContext uint8

// The contexts.
const (
	inOther  InputContext = iota
	InRecord              // the object of a record
	inStream              // the object under dynamodb
	InLine                // the object of an export's line
	InItem                // an image, or the members of an M
	InValue               // {"S":"x"}
	inList                // the elements of an L
)

// Locate returns the path of the byte at position target, such as dynamodb.NewImage.Address.Lines[2]. The JSON document
// starts at from, and context is its kind. Locate reads the document again, up to the first syntax error.
func (s *Scanner) Locate(from, target int, context InputContext) string {
	err, path, errAt := s.Err, s.ErrPath, s.ErrAt
	defer func() { s.Err, s.ErrPath, s.ErrAt = err, path, errAt }()
	return truncatePath(s.appendPathTo(nil, s.SkipSpace(from), target, context))
}

// maxPathText limits the length of a path in an error, because the sender chooses the names of attributes, and a name
// can be long.
const maxPathText = 512

func truncatePath(path []byte) string {
	if len(path) <= maxPathText {
		return string(path)
	}
	cut := maxPathText
	for !utf8.RuneStart(path[cut]) {
		cut--
	}
	return string(path[:cut]) + "..."
}

// appendPathTo appends the path from the value at i to the byte at target.
func (s *Scanner) appendPathTo(path []byte, i, target int, context InputContext) []byte {
	opening := s.Peek(i)
	if opening != '{' && opening != '[' {
		return path
	}
	closing := opening + 2 // '}' and ']'
	i = s.SkipSpace(i + 1)
	for n := 0; i >= 0 && i <= target; n++ {
		var name []byte
		start := i
		if opening == '{' {
			if name, i = s.Field(i); i < 0 {
				return appendBrokenName(path, s.brokenMemberName(start), context)
			}
		}
		end := s.SkipValue(i)
		isTargetInside := end < 0 || target < end
		if isTargetInside {
			switch {
			case opening == '[':
				path = AppendElement(path, n)
			case context != InValue:
				path = AppendMember(path, string(name))
			}
			return s.appendPathTo(path, i, target, childContext(context, name))
		}
		next, ended := s.Separator(end, closing)
		if ended {
			return path
		}
		i = next
	}
	return path
}

// brokenMemberName returns the name of the member at i, which has a syntax error. It returns nil if the syntax error is
// in the name.
func (s *Scanner) brokenMemberName(i int) []byte {
	if s.Peek(i) != '"' {
		return nil
	}
	grammarOnly := s.grammarOnly
	s.grammarOnly = true
	end := s.Text(i + 1)
	s.grammarOnly = grammarOnly
	if end < 0 {
		return nil
	}
	return TextOf(s.Input[i+1 : end])
}

func appendBrokenName(path, name []byte, context InputContext) []byte {
	if name == nil || context == InValue {
		return path
	}
	return AppendMember(path, string(name))
}

// childContext returns the context of the value under name.
func childContext(context InputContext, name []byte) InputContext {
	switch context {
	case InRecord:
		if string(name) == "dynamodb" {
			return inStream
		}
	case inStream:
		switch string(name) {
		case "Keys", "NewImage", "OldImage":
			return InItem
		}
	case InLine:
		switch string(name) {
		case "Item", "Metadata", "Keys", "NewImage", "OldImage":
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
