package item

import (
	"fmt"
	"strings"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
)

// Path is the path of one value of an image: Address.Lines[0].sku, ["first-name"].Tags[2]. A name without quotes
// consists of letters, digits and _, and does not start with a digit. Other names are in brackets and quotes, with Go's
// escapes. The zero Path is not the path of any value.
type Path struct {
	segs []Segment // without wildcards
	text string
}

// PathError is the error of an invalid path or pattern.
type PathError struct {
	Kind    string // path or pattern
	Path    string
	Column  int // 1-based, in bytes
	Message string
}

// Error names the path or the pattern, the column and the problem.
func (e *PathError) Error() string {
	return fmt.Sprintf("%s %q, column %d: %s", e.Kind, e.Path, e.Column, e.Message)
}

// ParsePath reads a path. The error is a *PathError.
func ParsePath(s string) (Path, error) {
	segs, err := parseSegments(s, pathSyntax)
	if err != nil {
		return Path{}, err
	}
	return Path{segs: segs, text: s}, nil
}

// String is the path as it was written.
func (p Path) String() string { return p.text }

// IsZero reports whether p is the zero Path.
func (p Path) IsZero() bool { return len(p.segs) == 0 }

// Root is the name of the attribute that the path starts with. It is "" for the zero Path.
func (p Path) Root() string {
	if p.IsZero() {
		return ""
	}
	return p.segs[0].Name
}

// Segments returns the segments of the path, without wildcards.
func (p Path) Segments() []Segment { return p.segs }

// step returns the member or element of v that seg names, or false if v has none.
func (v Value) step(seg Segment) (Value, bool) {
	if seg.Index >= 0 {
		return v.Index(seg.Index)
	}
	return v.Get(seg.Name)
}

// lookup returns the value at a path below v. The path consists of its first segment, seg, and its text after this
// segment, rest. problem describes an error of the first segment. lookup stops at a segment without a value, so it does
// not find errors after this segment.
func (v Value) lookup(seg Segment, rest, problem string) (Value, bool) {
	for problem == "" {
		child, ok := v.step(seg)
		if !ok || rest == "" {
			return child, ok
		}
		v = child
		seg, rest, problem = cutSegment(rest, pathSyntax)
	}
	return Value{}, false
}

// Names returns the names of the segments, or false if a segment is the index of a list.
func (p Path) Names() ([]string, bool) {
	names := make([]string, 0, len(p.segs))
	for _, s := range p.segs {
		if s.Index >= 0 {
			return nil, false
		}
		names = append(names, s.Name)
	}
	return names, true
}

// CutItem returns PATH if text is item.PATH. Rules about entities have paths in this form. It returns false for any
// other text.
func CutItem(text string) (path string, ok bool) {
	rest, ok := strings.CutPrefix(text, "item")
	if !ok || !strings.HasPrefix(rest, ".") && !strings.HasPrefix(rest, "[") {
		return "", false
	}
	return strings.TrimPrefix(rest, "."), true
}

// PathText returns the text of the path with these names. [ParsePath] parses this text.
func PathText(names []string) string {
	var path []byte
	for _, name := range names {
		path = ddbjson.AppendMember(path, name)
	}
	return string(path)
}
