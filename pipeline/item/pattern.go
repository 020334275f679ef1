package item

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
)

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
	Index int // index of an element; -1 if the segment is a name
}

// Wildcard is the kind of a [Segment] that is not a name or an index.
type Wildcard uint8

// The wildcards.
const (
	NoWildcard   Wildcard = iota
	AnyMember             // .*
	AnyElement            // [*]
	wholeSubtree          // .**
)

// PatternError is the error of an invalid pattern.
type PatternError struct {
	Pattern string
	Column  int // 1-based, in bytes
	Message string
}

// Error names the pattern, the column and the problem.
func (e *PatternError) Error() string {
	return fmt.Sprintf("pattern %q, column %d: %s", e.Pattern, e.Column, e.Message)
}

// ParsePattern reads a pattern. The error is a *PatternError.
func ParsePattern(s string) (Pattern, error) {
	p := patternParser{src: s}
	if err := p.parse(); err != nil {
		return Pattern{}, err
	}
	return Pattern{segs: p.segs, text: s}, nil
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

type patternParser struct {
	src  string
	pos  int
	segs []Segment
}

func (p *patternParser) parse() error {
	if p.src == "" {
		return p.fail("is empty")
	}
	for first := true; p.pos < len(p.src); first = false {
		if n := len(p.segs); n > 0 && p.segs[n-1].Wild == wholeSubtree {
			return p.fail("** takes in everything below: nothing may follow it")
		}
		var err error
		switch {
		case p.src[p.pos] == '[':
			err = p.bracket(first)
		case first:
			err = p.member()
		case p.src[p.pos] == '.':
			p.pos++
			err = p.member()
		default:
			err = p.fail(afterName)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// member reads a name, * or **.
func (p *patternParser) member() error {
	rest := p.src[p.pos:]
	switch {
	case strings.HasPrefix(rest, "**"):
		p.pos += 2
		p.segs = append(p.segs, Segment{Wild: wholeSubtree})
		return nil
	case strings.HasPrefix(rest, "*"):
		p.pos++
		p.segs = append(p.segs, Segment{Wild: AnyMember})
		return nil
	}
	n := 0
	for n < len(rest) && ddbjson.BareNameByte(rest[n], n == 0) {
		n++
	}
	if n == 0 {
		return p.fail(`want a name, * or **; write other names as ["first-name"]`)
	}
	p.pos += n
	p.segs = append(p.segs, Segment{Name: rest[:n], Index: -1})
	return nil
}

// bracket reads ["name"], [0] or [*].
func (p *patternParser) bracket(first bool) error {
	start := p.pos
	p.pos++
	rest := p.src[p.pos:]
	if strings.HasPrefix(rest, `"`) {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return p.fail("the quoted name does not end")
		}
		name, err := strconv.Unquote(quoted)
		if err != nil || name == "" {
			return p.fail("the quoted name is empty or unsound")
		}
		p.pos += len(quoted)
		p.segs = append(p.segs, Segment{Name: name, Index: -1})
		return p.close(start)
	}
	if first {
		p.pos = start
		return p.fail("an item is no list: start with a name")
	}
	if strings.HasPrefix(rest, "*") {
		p.pos++
		p.segs = append(p.segs, Segment{Wild: AnyElement})
		return p.close(start)
	}
	n := 0
	for n < len(rest) && '0' <= rest[n] && rest[n] <= '9' {
		n++
	}
	index, err := strconv.Atoi(rest[:n])
	if err != nil {
		return p.fail(`want an index, * or a quoted name behind '['`)
	}
	p.pos += n
	p.segs = append(p.segs, Segment{Index: index})
	return p.close(start)
}

func (p *patternParser) close(start int) error {
	if !strings.HasPrefix(p.src[p.pos:], "]") {
		return p.fail(fmt.Sprintf("want ']' for the '[' of column %d", start+1))
	}
	p.pos++
	return nil
}

func (p *patternParser) fail(message string) error {
	return &PatternError{Pattern: p.src, Column: p.pos + 1, Message: message}
}
