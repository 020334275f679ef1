package item

import (
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
)

// Path is the path of one value of an image: Address.Lines[0].sku, ["first-name"].Tags[2]. A name without quotes
// consists of letters, digits and _, and does not start with a digit. Other names are in brackets and quotes, with Go's
// escapes. The zero Path is not the path of any value.
type Path struct {
	segs []pathSegment
	text string
}

// pathSegment is a member or an element.
type pathSegment struct {
	name  string
	index int // -1 if name is set
}

// PathError is the error of an invalid path.
type PathError struct {
	Path    string
	Column  int // 1-based, in bytes
	Message string
}

// Error names the path, the column and the problem.
func (e *PathError) Error() string {
	return fmt.Sprintf("path %q, column %d: %s", e.Path, e.Column, e.Message)
}

// ParsePath reads a path. The error is a *PathError.
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

// IsZero reports whether p is the zero Path.
func (p Path) IsZero() bool { return len(p.segs) == 0 }

// Root is the name of the attribute that the path starts with; "" for the zero Path.
func (p Path) Root() string {
	if p.IsZero() {
		return ""
	}
	return p.segs[0].name
}

// Segments iterates over the segments of the path: a name and -1 for a member, "" and the index for an element.
func (p Path) Segments() iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for _, seg := range p.segs {
			if !yield(seg.name, seg.index) {
				return
			}
		}
	}
}

// cutSegment cuts the first segment from s, the rest of a path. If first is set, s is the whole path. problem describes
// an error, or is "".
func cutSegment(s string, first bool) (seg pathSegment, rest, problem string) {
	switch {
	case s == "":
		return pathSegment{}, "", "is empty"
	case s[0] == '[':
		return cutBracket(s)
	case first:
		return cutName(s)
	case s[0] == '.':
		return cutName(s[1:])
	}
	return pathSegment{}, "", afterName
}

// afterName is the message for a wrong character after a segment.
const afterName = `want '.', '[' or the end; a name with other characters is written ["a:b"]`

func cutName(s string) (pathSegment, string, string) {
	n := 0
	for n < len(s) && ddbjson.BareNameByte(s[n], n == 0) {
		n++
	}
	if n == 0 {
		return pathSegment{}, "", `want a name; write one that is no identifier as ["first-name"]`
	}
	return pathSegment{name: s[:n], index: -1}, s[n:], ""
}

func cutBracket(s string) (pathSegment, string, string) {
	inside := s[1:]
	if strings.HasPrefix(inside, `"`) {
		quoted, err := strconv.QuotedPrefix(inside)
		if err != nil {
			return pathSegment{}, "", "the quoted name does not end"
		}
		name, err := strconv.Unquote(quoted)
		if err != nil || name == "" {
			return pathSegment{}, "", "the quoted name is empty or unsound"
		}
		rest, ok := strings.CutPrefix(inside[len(quoted):], "]")
		if !ok {
			return pathSegment{}, "", "want ']' behind the name"
		}
		return pathSegment{name: name, index: -1}, rest, ""
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
		return pathSegment{}, "", "want an index such as [0], or a quoted name, in brackets"
	}
	return pathSegment{index: index}, rest, ""
}

// step returns the member or the element of v that seg names.
func (v Value) step(seg pathSegment) (Value, bool) {
	if seg.index >= 0 {
		return v.Index(seg.index)
	}
	return v.Get(seg.name)
}

// lookup returns the value at a path below v. The path may start with an index.
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

// lookupRest returns the value at the rest of a path, after its first segment. It stops at a segment without a value, so
// it does not find errors after that segment.
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

// Names returns the names of the segments, or false if one of them is an element of a list.
func (p Path) Names() ([]string, bool) {
	names := make([]string, 0, len(p.segs))
	for _, s := range p.segs {
		if s.index >= 0 {
			return nil, false
		}
		names = append(names, s.name)
	}
	return names, true
}

// CutItem returns PATH of a text item.PATH, the form of paths in rules about entities. It returns false for any other
// text.
func CutItem(text string) (path string, ok bool) {
	rest, ok := strings.CutPrefix(text, "item")
	if !ok || !strings.HasPrefix(rest, ".") && !strings.HasPrefix(rest, "[") {
		return "", false
	}
	return strings.TrimPrefix(rest, "."), true
}

// PathText returns the text of a path of names; [ParsePath] parses it.
func PathText(names []string) string {
	var path []byte
	for _, name := range names {
		path = ddbjson.AppendMember(path, name)
	}
	return string(path)
}
