package item

import (
	"strconv"
	"strings"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
)

// parseSegments reads a path, or a pattern if wild is set. problem describes an error; it is "" if there is none.
// column is the 1-based position of the error, in bytes. In a path, it is the first byte of the segment with the error.
func parseSegments(s string, wild bool) (segs []Segment, column int, problem string) {
	for rest := s; ; {
		column = len(s) - len(rest) + 1
		isStart := len(segs) == 0
		if !isStart && segs[len(segs)-1].Wild == wholeSubtree {
			return nil, column, "** takes in everything below: nothing may follow it"
		}
		seg, next, problem := cutSegment(rest, isStart, wild)
		if problem != "" {
			if wild {
				column = len(s) - len(next) + 1
			}
			return nil, column, problem
		}
		if isStart && seg.IsElement() {
			return nil, column, "an item is no list: start with a name"
		}
		segs = append(segs, seg)
		if next == "" {
			return segs, 0, ""
		}
		rest = next
	}
}

// cutSegment cuts the first segment off a path, or off a pattern if wild is set. isStart means that s is the beginning of
// the path. problem describes an error; it is "" if there is none. With an error, rest starts at the byte with the
// error.
func cutSegment(s string, isStart, wild bool) (seg Segment, rest, problem string) {
	switch {
	case s == "" && isStart:
		return Segment{}, s, "is empty"
	case strings.HasPrefix(s, "["):
		return cutBracket(s[1:], wild)
	case isStart:
		return cutName(s, wild)
	case strings.HasPrefix(s, "."):
		return cutName(s[1:], wild)
	}
	return Segment{}, s, `want '.', '[' or the end; a name with other characters is written ["a:b"]`
}

func cutName(s string, wild bool) (seg Segment, rest, problem string) {
	n := 0
	for n < len(s) && ddbjson.BareNameByte(s[n], n == 0) {
		n++
	}
	switch {
	case n > 0:
		return Segment{Name: s[:n], Index: -1}, s[n:], ""
	case wild && strings.HasPrefix(s, "**"):
		return Segment{Wild: wholeSubtree}, s[2:], ""
	case wild && strings.HasPrefix(s, "*"):
		return Segment{Wild: AnyMember}, s[1:], ""
	case wild:
		return Segment{}, s, `want a name, * or **; write other names as ["first-name"]`
	}
	return Segment{}, s, `want a name; write one that is no identifier as ["first-name"]`
}

// cutBracket does the same as cutSegment, for the text after an opening bracket.
func cutBracket(s string, wild bool) (seg Segment, rest, problem string) {
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
	case wild && strings.HasPrefix(s, "*"):
		seg, rest = Segment{Wild: AnyElement}, s[1:]
	case 0 < n && n < 10:
		seg, rest = Segment{}, s[n:]
		for _, c := range []byte(s[:n]) {
			seg.Index = seg.Index*10 + int(c-'0')
		}
	case wild:
		return Segment{}, s, `want an index, * or a quoted name behind '['`
	default:
		return Segment{}, s, "want an index such as [0], or a quoted name, in brackets"
	}
	if !strings.HasPrefix(rest, "]") {
		return Segment{}, rest, "want ']'"
	}
	return seg, rest[1:], ""
}
