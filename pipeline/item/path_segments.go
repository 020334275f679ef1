package item

import (
	"strconv"
	"strings"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
)

// syntax is the syntax of a path, or of a pattern, which can have wildcards.
type syntax string

const (
	pathSyntax    syntax = "path"
	patternSyntax syntax = "pattern"
)

// parseSegments reads a path or a pattern. The error is a *PathError. In a pattern, its column is that of the invalid
// byte. In a path, its column is that of the first byte of the invalid segment.
func parseSegments(s string, syntax syntax) ([]Segment, error) {
	fail := func(at, problem string) ([]Segment, error) { // at is the text from the column on
		return nil, &PathError{string(syntax), s, len(s) - len(at) + 1, problem}
	}
	seg, rest, problem := cutFirstSegment(s, syntax)
	if problem == "" && seg.IsElement() {
		return fail(s, "an item is not a list: start with a name")
	}
	start := s // the text from the segment that was cut last
	var segs []Segment
	for problem == "" {
		segs = append(segs, seg)
		if rest == "" {
			return segs, nil
		}
		start = rest
		if seg.Wild == wholeSubtree {
			return fail(start, "** takes in everything below: nothing may follow it")
		}
		seg, rest, problem = cutSegment(start, syntax)
	}
	if syntax == patternSyntax {
		return fail(rest, problem)
	}
	return fail(start, problem)
}

// cutFirstSegment cuts the first segment off a path or a pattern. problem describes an error; it is "" if there is
// none. With an error, rest starts at the byte with the error.
func cutFirstSegment(s string, syntax syntax) (seg Segment, rest, problem string) {
	if s == "" {
		return Segment{}, s, "is empty"
	}
	if strings.HasPrefix(s, "[") {
		return cutBracket(s[1:], syntax)
	}
	return cutName(s, syntax)
}

// cutSegment does the same as cutFirstSegment, for a segment after the first.
func cutSegment(s string, syntax syntax) (seg Segment, rest, problem string) {
	if strings.HasPrefix(s, "[") {
		return cutBracket(s[1:], syntax)
	}
	if strings.HasPrefix(s, ".") {
		return cutName(s[1:], syntax)
	}
	return Segment{}, s, `want '.', '[' or the end; a name with other characters is written ["a:b"]`
}

func cutName(s string, syntax syntax) (seg Segment, rest, problem string) {
	n := 0
	for n < len(s) && ddbjson.BareNameByte(s[n], n == 0) {
		n++
	}
	if n > 0 {
		return Segment{Name: s[:n], Index: -1}, s[n:], ""
	}
	if syntax == pathSyntax {
		return Segment{}, s, `want a name; write one that is not an identifier as ["first-name"]`
	}
	if rest, ok := strings.CutPrefix(s, "**"); ok {
		return Segment{Wild: wholeSubtree}, rest, ""
	}
	if rest, ok := strings.CutPrefix(s, "*"); ok {
		return Segment{Wild: AnyMember}, rest, ""
	}
	return Segment{}, s, `want a name, * or **; write other names as ["first-name"]`
}

// cutBracket does the same as cutSegment, for the text after an opening bracket.
func cutBracket(s string, syntax syntax) (seg Segment, rest, problem string) {
	n := 0
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	switch {
	case strings.HasPrefix(s, `"`):
		quoted, err := strconv.QuotedPrefix(s)
		if err != nil {
			return Segment{}, s, "the quoted name does not end"
		}
		name, err := strconv.Unquote(quoted)
		if err != nil || name == "" {
			return Segment{}, s, "the quoted name is empty or unsound"
		}
		seg, rest = Segment{Name: name, Index: -1}, s[len(quoted):]
	case syntax == patternSyntax && strings.HasPrefix(s, "*"):
		seg, rest = Segment{Wild: AnyElement}, s[1:]
	case 0 < n && n < 10:
		seg, rest = Segment{}, s[n:]
		for _, c := range []byte(s[:n]) {
			seg.Index = seg.Index*10 + int(c-'0')
		}
	case syntax == patternSyntax:
		return Segment{}, s, `want an index, * or a quoted name behind '['`
	default:
		return Segment{}, s, "want an index such as [0], or a quoted name, in brackets"
	}
	if !strings.HasPrefix(rest, "]") {
		return Segment{}, rest, "want ']'"
	}
	return seg, rest[1:], ""
}
