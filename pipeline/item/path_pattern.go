package item

import "github.com/tablewake/tablewake/pipeline/internal/ddbjson"

// Pattern is a path with wildcards. It matches paths of an item:
//
//	Status           the attribute
//	Address.City     a member of a map
//	["first-name"]   a name that needs quotes
//	Lines[0].qty     an element of a list
//	Lines[*].qty     every element
//	Rates.*.amount   every member
//	Address.**       the subtree: Address as a whole
//	**               the item as a whole
//
// A wildcard at the top does not match an aws:rep:* attribute. The zero Pattern matches nothing.
type Pattern struct {
	segs []Segment
	text string
}

// Segment is one part of a [Pattern]: a wildcard, a name or an index.
type Segment struct {
	Wild  Wildcard
	Name  string
	Index int // index of an element, or -1 for a name; unused with a wildcard
}

// Wildcard is the kind of a [Segment] that is not a name or an index.
type Wildcard uint8

// The wildcards.
const (
	NoWildcard   Wildcard = iota
	AnyMember             // .*
	AnyElement            // [*]
	wholeSubtree          // .**
	allInside             // only in Diff: all differing paths, as deep as both values are maps or lists
)

// IsElement reports whether the segment matches elements of lists.
func (s Segment) IsElement() bool {
	return s.Wild == AnyElement || s.Wild == NoWildcard && s.Index >= 0
}

// AppendTo appends the segment to the text of a path. s must not be a wildcard.
func (s Segment) AppendTo(path []byte) []byte {
	if s.Index >= 0 {
		return ddbjson.AppendElement(path, s.Index)
	}
	return ddbjson.AppendMember(path, s.Name)
}

// ParsePattern reads a pattern. The error is a *PathError.
func ParsePattern(s string) (Pattern, error) {
	segs, err := parseSegments(s, patternSyntax)
	if err != nil {
		return Pattern{}, err
	}
	return Pattern{segs: segs, text: s}, nil
}

// Segments returns the segments of the pattern. It leaves out ** at the end, because a value includes everything below
// it. For the pattern ** alone, it returns one AnyMember.
func (p Pattern) Segments() []Segment {
	last := len(p.segs) - 1
	switch {
	case last < 0 || p.segs[last].Wild != wholeSubtree:
		return p.segs
	case last == 0:
		return []Segment{{Wild: AnyMember}}
	}
	return p.segs[:last]
}

// String returns the pattern as it was written.
func (p Pattern) String() string { return p.text }

// IsZero reports whether p is the zero Pattern.
func (p Pattern) IsZero() bool { return len(p.segs) == 0 }

// Root returns the name of the attribute that p starts with, or false if p starts with a wildcard.
func (p Pattern) Root() (string, bool) {
	if p.IsZero() || p.segs[0].Wild != NoWildcard {
		return "", false
	}
	return p.segs[0].Name, true
}
