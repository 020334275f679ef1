package entity

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tablewake/tablewake/pipeline/item"
)

// Pattern is the pattern of one key attribute. It is safe for concurrent use.
type Pattern struct {
	src      string
	literals []string // texts around the names: one more than names
	names    []string
}

// Error is a parse error with its position in the pattern.
type Error struct {
	Column  int // 1-based, in characters
	Message string
	Hint    string
}

// Error returns the position, the message and the hint.
func (e *Error) Error() string {
	return fmt.Sprintf("pattern column %d: %s (%s)", e.Column, e.Message, e.Hint)
}

// reserved has the names that have another meaning in expressions and templates.
var reserved = []string{
	"item", "old", "new", "keys", "op", "time", "ttl", "each",
	"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let",
	"loop", "package", "namespace", "return", "var", "void", "while",
}

// ParsePattern parses a pattern. The error is an *Error.
func ParsePattern(src string) (*Pattern, error) {
	p := &Pattern{src: src}
	var literal strings.Builder
	fail := func(at int, hint, format string, args ...any) error {
		return &Error{utf8.RuneCountInString(src[:at]) + 1, fmt.Sprintf(format, args...), hint}
	}
	for at := 0; at < len(src); {
		rest := src[at:]
		name, _, closed := strings.Cut(rest[1:], "}") // if a name begins here
		switch {
		case strings.HasPrefix(rest, "{{"), strings.HasPrefix(rest, "}}"):
			literal.WriteByte(rest[0])
			at += 2
		case rest[0] == '}':
			return nil, fail(at, "write }} for a literal brace", "} closes nothing")
		case rest[0] != '{':
			literal.WriteByte(rest[0])
			at++
		case !closed:
			return nil, fail(at, "close it with }, or write {{ for a literal brace", "the name is not closed")
		case !identifier(name):
			return nil, fail(at+1, "a name has letters, digits and _, and begins with no digit: {OrderId}", "%q is no name",
				name)
		case slices.Contains(reserved, name):
			return nil, fail(at+1, "take another name", "%s has another meaning in expressions and templates", name)
		case len(p.names) > 0 && literal.Len() == 0:
			return nil, fail(at, "put a text between them, as in {Date}#{OrderId}",
				"two names stand side by side, and nothing says where the first one ends")
		default:
			p.literals = append(p.literals, literal.String())
			p.names = append(p.names, name)
			literal.Reset()
			at += len(name) + 2
		}
	}
	if src == "" {
		return nil, fail(0, "write a text with names, as in 'USER#{UserId}'", "the pattern is empty, and a key never is")
	}
	p.literals = append(p.literals, literal.String())
	return p, nil
}

func identifier(name string) bool {
	for i, r := range name {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}

// String returns the source of the pattern.
func (p *Pattern) String() string { return p.src }

// Literals returns the texts before, between and after the names.
func (p *Pattern) Literals() []string { return slices.Clone(p.literals) }

// Names returns the names that the pattern binds, in order. A name may occur twice.
func (p *Pattern) Names() []string { return slices.Clone(p.names) }

// Prefix returns the text with which every matching key begins. fixed reports whether this text is the whole key.
func (p *Pattern) Prefix() (text string, fixed bool) { return p.literals[0], len(p.names) == 0 }

// BindsAll reports whether the pattern is a single name. Such a pattern binds a whole value of any type.
func (p *Pattern) BindsAll() bool {
	return len(p.names) == 1 && p.literals[0] == "" && p.literals[1] == ""
}

// Matches reports whether the pattern matches the value of a key attribute.
func (p *Pattern) Matches(v item.Value) bool {
	if text, ok := v.Text(); ok {
		_, ok = p.partOf(text, noName)
		return ok
	}
	return p.BindsAll() && (v.Kind() == item.KindN || v.Kind() == item.KindB)
}

// value returns the value that name i binds in the key attribute v. It returns the absent value if the pattern does not
// match.
func (p *Pattern) value(v item.Value, i int) item.Value {
	text, ok := v.Text()
	switch {
	case p.BindsAll() && p.Matches(v):
		return v
	case !ok:
		return item.Value{}
	}
	if piece, ok := p.partOf(text, i); ok {
		return item.StringValue(piece)
	}
	return item.Value{}
}

// noName is an index for partOf if only the match matters.
const noName = -1

// partOf returns the part of a text that name i binds. It returns "" if i is noName. ok reports whether the pattern
// matches the text.
func (p *Pattern) partOf(text string, i int) (piece string, ok bool) {
	rest, ok := strings.CutPrefix(text, p.literals[0])
	if !ok {
		return "", false
	}
	for n := range p.names {
		literal, end := p.literals[n+1], len(rest)
		if literal != "" { // it is "" only after a name at the end of the pattern
			end = strings.Index(rest, literal)
		}
		if end < 1 {
			return "", false
		}
		if n == i {
			piece = rest[:end]
		}
		rest = rest[end+len(literal):]
	}
	return piece, rest == ""
}
