package athena

import (
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
)

// unit is an element of a layout of dates.
type unit struct {
	layout  string // Go's
	pattern string // of java.time.format.DateTimeFormatter
	name    string // for a column
	every   string // projection.interval.unit of dates that end here
	from    int    // of its numbers
	to      int
}

// units are those that a projection can count through, from the largest on.
var units = []unit{
	{"2006", "yyyy", "year", "YEARS", 0, 0},
	{"01", "MM", "month", "MONTHS", 1, 12},
	{"02", "dd", "day", "DAYS", 1, 31},
	{"15", "HH", "hour", "HOURS", 0, 23},
	{"04", "mm", "minute", "MINUTES", 0, 59},
	{"05", "ss", "second", "SECONDS", 0, 59},
}

// layout is a layout of dates taken apart: units with literals around them, as they
// stand in object names.
type layout struct {
	literals []string // one more than units
	units    []unit
}

// parseLayout takes a Go layout apart; false where it has elements that a projection
// does not know, such as the names of months.
func parseLayout(src string) (layout, bool) {
	var l layout
	literal := ""
	cut := func() {
		l.literals = append(l.literals, string(item.AppendEscaped(nil, literal)))
		literal = ""
	}
	for i := 0; i < len(src); {
		u, ok := unitAt(src[i:])
		if !ok {
			literal += src[i : i+1]
			i++
			continue
		}
		cut()
		l.units = append(l.units, u)
		i += len(u.layout)
	}
	cut()
	return l, len(l.units) > 0 && l.is(src)
}

func unitAt(s string) (unit, bool) {
	for _, u := range units {
		if strings.HasPrefix(s, u.layout) {
			return u, true
		}
	}
	return unit{}, false
}

// is tells whether the units make what Go makes of the layout. What Go takes for an
// element and is none of them shows in times that differ in everything.
func (l layout) is(src string) bool {
	for _, at := range []time.Time{
		time.Date(2024, 2, 29, 7, 8, 9, 123456789, time.UTC),
		time.Date(1999, 12, 31, 23, 59, 58, 987654321, time.UTC),
		time.Date(2031, 6, 3, 14, 36, 41, 0, time.UTC),
	} {
		var b strings.Builder
		for i, u := range l.units {
			b.WriteString(l.literals[i] + at.Format(u.layout))
		}
		b.WriteString(l.literals[len(l.units)])
		if b.String() != string(item.AppendEscaped(nil, at.Format(src))) {
			return false
		}
	}
	return true
}

// date tells whether the units are a moment: the year and all that follows it down to
// the smallest, each once, in whatever order; and which is the smallest.
func (l layout) date() (smallest unit, ok bool) {
	seen := make(map[string]bool)
	for _, u := range l.units {
		if seen[u.layout] {
			return unit{}, false
		}
		seen[u.layout] = true
	}
	for i, u := range units {
		if seen[u.layout] != (i < len(seen)) {
			return unit{}, false
		}
	}
	// A year alone is a number: what parses dates wants more of them.
	return units[len(seen)-1], len(seen) > 1
}

// pattern is the layout as java.time.format.DateTimeFormatter has it.
func (l layout) pattern() string {
	var b strings.Builder
	for i, literal := range l.literals {
		switch {
		case strings.Trim(literal, "-_.") == "":
			b.WriteString(literal)
		default:
			b.WriteString("'" + strings.ReplaceAll(literal, "'", "''") + "'")
		}
		if i < len(l.units) {
			b.WriteString(l.units[i].pattern)
		}
	}
	return b.String()
}

// format writes a time in the layout, as object names have it.
func (l layout) format(at time.Time) string {
	var b strings.Builder
	for i, u := range l.units {
		b.WriteString(l.literals[i] + at.UTC().Format(u.layout))
	}
	return b.String() + l.literals[len(l.units)]
}
