package item

import (
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
)

// Path leads to one value of an image: Address.Lines[0].sku, ["first-name"].Tags[2].
// Names that are no identifiers (letters, digits and _, not starting with a digit)
// stand in brackets and quotes, with Go's escapes. The zero Path leads nowhere.
type Path struct {
	segs []segment
	text string
}

type segment struct {
	name  string
	index int // -1 where name is set
}

// PathError is an unsound path.
type PathError struct {
	Path    string
	Column  int // 1-based, in bytes
	Message string
}

// Error names the path, the column and what is wrong there.
func (e *PathError) Error() string {
	return fmt.Sprintf("path %q, column %d: %s", e.Path, e.Column, e.Message)
}

// ParsePath reads a path. The error is a *PathError, which names the column.
func ParsePath(s string) (Path, error) {
	p := Path{text: s}
	for rest := s; ; {
		seg, next, problem := cutSegment(rest, len(p.segs) == 0)
		if problem == "" && len(p.segs) == 0 && seg.index >= 0 {
			problem = "an item is no list: start with a name"
		}
		if problem != "" {
			return Path{}, &PathError{Path: s, Column: len(s) - len(rest) + 1, Message: problem}
		}
		p.segs = append(p.segs, seg)
		if rest = next; rest == "" {
			return p, nil
		}
	}
}

// String is the path as it was written.
func (p Path) String() string { return p.text }

// IsZero tells whether p is the zero Path.
func (p Path) IsZero() bool { return len(p.segs) == 0 }

// Root is the top-level attribute that the path starts with; "" of the zero Path.
func (p Path) Root() string {
	if p.IsZero() {
		return ""
	}
	return p.segs[0].name
}

// Segments are the steps of the path: a name and -1 for a member, "" and the index
// for an element.
func (p Path) Segments() iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for _, seg := range p.segs {
			if !yield(seg.name, seg.index) {
				return
			}
		}
	}
}

// cutSegment takes the first step off a path. problem says what is unsound.
func cutSegment(s string, first bool) (seg segment, rest, problem string) {
	switch {
	case s == "":
		return segment{}, "", "is empty"
	case s[0] == '[':
		return cutBracket(s)
	case first:
		return cutName(s)
	case s[0] == '.':
		return cutName(s[1:])
	}
	return segment{}, "", "want '.', '[' or the end"
}

func cutName(s string) (segment, string, string) {
	n := 0
	for n < len(s) && ddbjson.BareNameByte(s[n], n == 0) {
		n++
	}
	if n == 0 {
		return segment{}, "", `want a name; write one that is no identifier as ["first-name"]`
	}
	return segment{name: s[:n], index: -1}, s[n:], ""
}

func cutBracket(s string) (segment, string, string) {
	inside := s[1:]
	if strings.HasPrefix(inside, `"`) {
		quoted, err := strconv.QuotedPrefix(inside)
		if err != nil {
			return segment{}, "", "the quoted name does not end"
		}
		name, err := strconv.Unquote(quoted)
		if err != nil || name == "" {
			return segment{}, "", "the quoted name is empty or unsound"
		}
		rest, ok := strings.CutPrefix(inside[len(quoted):], "]")
		if !ok {
			return segment{}, "", "want ']' behind the name"
		}
		return segment{name: name, index: -1}, rest, ""
	}
	n := 0
	for n < len(inside) && n < 9 && '0' <= inside[n] && inside[n] <= '9' {
		n++
	}
	index := 0
	for _, c := range []byte(inside[:n]) {
		index = index*10 + int(c-'0')
	}
	rest, ok := strings.CutPrefix(inside[n:], "]")
	if n == 0 || !ok {
		return segment{}, "", "want an index such as [0], or a quoted name, in brackets"
	}
	return segment{index: index}, rest, ""
}

// step is one step further from v.
func (v Value) step(seg segment) (Value, bool) {
	if seg.index >= 0 {
		return v.Index(seg.index)
	}
	return v.Get(seg.name)
}

// lookup follows a path that starts at v; it may start with an index.
func lookup(v Value, path string) (Value, bool) {
	seg, rest, problem := cutSegment(path, true)
	if problem != "" {
		return Value{}, false
	}
	v, ok := v.step(seg)
	if !ok || rest == "" {
		return v, ok
	}
	return lookupRest(v, rest)
}

// lookupRest follows what is left of a path behind its first step. A path that is
// unsound behind the place where the value goes missing is not read on.
func lookupRest(v Value, rest string) (Value, bool) {
	for rest != "" {
		seg, next, problem := cutSegment(rest, false)
		if problem != "" {
			return Value{}, false
		}
		var ok bool
		if v, ok = v.step(seg); !ok {
			return Value{}, false
		}
		rest = next
	}
	return v, true
}
