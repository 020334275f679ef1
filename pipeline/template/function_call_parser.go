package template

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline/internal/nearest"
)

// parseCalls parses the functions of the placeholder that begins at open. A zone becomes part of the date after it.
func (p *parser) parseCalls(open int) (calls []call, err *Error) {
	var zone *time.Location
	for p.src[p.at] == '|' {
		at := p.at + 1
		c, err := p.parseCall(open)
		if err != nil {
			return nil, err
		}
		isLastZone := c.fn == fnZone && p.src[p.at] != '|'
		lacksDate := zone != nil && c.fn != fnDate
		if isLastZone || lacksDate {
			return nil, p.fail(at, "as in {CreatedAt|zone:Europe/Berlin|date:2006-01-02}", "zone is followed by date")
		}
		if c.fn == fnZone {
			zone = c.zone
			continue
		}
		c.zone, zone = zone, nil
		calls = append(calls, c)
	}
	return calls, nil
}

// parseCall parses a function, from its | to the next unescaped | or }.
func (p *parser) parseCall(open int) (call, *Error) {
	from := p.at + 1
	n := strings.IndexAny(p.src[from:], ":|}")
	if n < 0 {
		return call{}, p.unclosedError(open)
	}
	name := p.src[from : from+n]
	p.at = from + n
	a := argument{from: p.at, isSet: p.src[p.at] == ':'}
	if a.isSet {
		p.at++
		a.from = p.at
		if err := p.parseArgument(&a, open); err != nil {
			return call{}, err
		}
	}
	if i := slices.Index(functions, name); i >= 0 {
		return p.newCall(function(i+1), a)
	}
	hint := "known are " + strings.Join(functions, " ")
	if name := nearest.Name(name, functions); name != "" {
		hint = fmt.Sprintf("did you mean %s?", name)
	}
	return call{}, p.fail(from, hint, "unknown function %q", name)
}

// argument is the text after a function's colon.
type argument struct {
	from  int // position in src
	isSet bool
	text  string // text without escapes
	colon int    // position in text of the last unescaped colon; -1 if there is none
}

// parseArgument parses an argument, up to the next unescaped | or }.
func (p *parser) parseArgument(a *argument, open int) *Error {
	var b strings.Builder
	a.colon = -1
	for ; p.at < len(p.src); p.at++ {
		switch c := p.src[p.at]; c {
		case '|', '}':
			a.text = b.String()
			return nil
		case ':':
			a.colon = b.Len()
			b.WriteByte(c)
		case '\\':
			p.at++
			if p.at == len(p.src) {
				return p.unclosedError(open)
			}
			if !strings.ContainsRune(`|}:\`, rune(p.src[p.at])) {
				return p.fail(p.at-1, `a backslash is written \\, and \| \} \: are the other escapes`,
					"a backslash that escapes nothing")
			}
			b.WriteByte(p.src[p.at])
		default:
			b.WriteByte(c)
		}
	}
	return p.unclosedError(open)
}

// maxPad is the maximum width of pad.
const maxPad = 1024

// newCall checks the argument of a function, and returns the call.
func (p *parser) newCall(fn function, a argument) (call, *Error) {
	c := call{fn: fn, text: a.text}
	name := functions[fn-1]
	switch fn {
	case fnLower, fnUpper, fnHash, fnEsc, fnIndexName, fnSortable:
		if a.isSet {
			return c, p.fail(a.from, "write |"+name, "%s takes no argument", name)
		}
	case fnPad:
		return p.padCall(a)
	case fnZone:
		var err error
		if c.zone, err = time.LoadLocation(a.text); err != nil || a.text == "" || a.text == "Local" {
			return c, p.fail(a.from, "write one as in {CreatedAt|zone:Europe/Berlin|date:2006-01-02}",
				"%q is the name of no time zone", a.text)
		}
	case fnDate:
		return c, p.checkLayout(a)
	case fnSplit:
		return p.splitCall(a)
	default: // after, before, default
		if a.text == "" {
			return c, p.fail(a.from, fmt.Sprintf("as in {PK|%s:#}", name), "%s takes a text", name)
		}
	}
	return c, nil
}

// splitCall returns the call of split. Its argument is a separator and the index of a piece.
func (p *parser) splitCall(a argument) (call, *Error) {
	if a.isSet && a.colon > 0 {
		index, err := strconv.Atoi(a.text[a.colon+1:])
		if err == nil {
			return call{fn: fnSplit, text: a.text[:a.colon], number: index}, nil
		}
	}
	return call{}, p.fail(a.from, "as in {PK|split:#:1}; pieces are counted from 0, and from the end -1 on",
		"split takes a separator and, after the last colon, an index")
}

// padCall returns the call of pad. Its argument is the width, and optionally the number of digits after the point.
func (p *parser) padCall(a argument) (call, *Error) {
	width, fraction, hasFraction := strings.Cut(a.text, ".")
	c := call{fn: fnPad, text: a.text, fraction: -1}
	var err error
	if c.number, err = strconv.Atoi(width); err != nil || c.number < 1 || c.number > maxPad {
		return c, p.fail(a.from, "as in {Number|pad:10}", "pad takes a width from 1 to %d", maxPad)
	}
	if !hasFraction {
		return c, nil
	}
	c.fraction, err = strconv.Atoi(fraction)
	isTooWide := c.fraction > 0 && c.fraction > c.number-2
	if err != nil || c.fraction < 0 || isTooWide {
		return c, p.fail(a.from,
			"as in {Total|pad:12.2}, which is 12 characters wide with the point and two digits after it",
			"pad's digits after the point are 0 or more, and two less than the width at most")
	}
	return c, nil
}

// checkLayout checks the layout of a date.
func (p *parser) checkLayout(a argument) *Error {
	if a.text == "" {
		return p.fail(a.from, "as in {CreatedAt|date:2006-01-02}", "date takes a Go layout")
	}
	problem, digits, letters := "", strayDigits(a.text), strayLetters(a.text)
	switch {
	case !hasElement(a.text):
		problem = "no layout element"
	case digits != "":
		problem = "the digits " + digits + ", which are no part of a time"
	case letters != "":
		problem = "the letters " + letters + ", which are no part of a time"
	default:
		return nil
	}
	return p.fail(a.from, "a Go layout shows the time 2006-01-02 15:04:05: year-month-day is 2006-01-02",
		"the layout %q has %s", a.text, problem)
}
