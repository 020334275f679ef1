package athena

import (
	"slices"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
)

// unit is a part of a date layout, such as the month.
type unit struct {
	layout   string // layout in Go's syntax
	pattern  string // pattern in the syntax of java.time.format.DateTimeFormatter
	name     string // name of a column
	interval string // value of projection.interval.unit, if this unit is the smallest
	min      int    // smallest value
	max      int
}

// units has the units that a projection can count, the largest first. A projection is Athena's way to compute
// partitions.
var units = []unit{
	{"2006", "yyyy", "year", "YEARS", 0, 0},
	{"01", "MM", "month", "MONTHS", 1, 12},
	{"02", "dd", "day", "DAYS", 1, 31},
	{"15", "HH", "hour", "HOURS", 0, 23},
	{"04", "mm", "minute", "MINUTES", 0, 59},
	{"05", "ss", "second", "SECONDS", 0, 59},
}

// layout is a parsed date layout. Its units are between literals, which are escaped as in object names.
type layout struct {
	literals []string // has one element more than units
	units    []unit
}

// parseLayout parses a Go layout. It returns false if a projection cannot count the layout's parts, such as names of
// months, or if the layout has no parts.
func parseLayout(src string) (l layout, isCountable bool) {
	literal := "" // text since the last unit
	for rest := src; rest != ""; {
		n := slices.IndexFunc(units, func(u unit) bool { return strings.HasPrefix(rest, u.layout) })
		if n < 0 {
			literal += rest[:1]
			rest = rest[1:]
			continue
		}
		l.addLiteral(literal)
		literal = ""
		l.units = append(l.units, units[n])
		rest = rest[len(units[n].layout):]
	}
	l.addLiteral(literal)
	return l, len(l.units) > 0 && l.matches(src)
}

// addLiteral adds a literal, escaped as in object names.
func (l *layout) addLiteral(text string) {
	l.literals = append(l.literals, string(item.AppendEscaped(nil, text)))
}

// matches reports whether the units format times exactly as Go formats src. If they do not, src has a part that is not
// a unit. The tested times differ in every part.
func (l layout) matches(src string) bool {
	for _, at := range []time.Time{
		time.Date(2024, 2, 29, 7, 8, 9, 123456789, time.UTC),
		time.Date(1999, 12, 31, 23, 59, 58, 987654321, time.UTC),
		time.Date(2031, 6, 3, 14, 36, 41, 0, time.UTC),
	} {
		if l.format(at) != string(item.AppendEscaped(nil, at.Format(src))) {
			return false
		}
	}
	return true
}

// date returns the smallest unit. ok is false if the units do not form a date: the year and all units down to the
// smallest, each once, in any order.
func (l layout) date() (smallest unit, ok bool) {
	used := make(map[string]bool)
	for _, u := range l.units {
		if used[u.layout] {
			return unit{}, false
		}
		used[u.layout] = true
	}
	for _, u := range units[:len(used)] { // a date uses the largest units
		if !used[u.layout] {
			return unit{}, false
		}
	}
	isOnlyYear := len(used) == 1 // a number, because Athena's date parser requires more units
	return units[len(used)-1], !isOnlyYear
}

// pattern returns the layout in the syntax of java.time.format.DateTimeFormatter.
func (l layout) pattern() string {
	var b strings.Builder
	for i, literal := range l.literals {
		if isPunctuation := strings.Trim(literal, "-_.") == ""; isPunctuation {
			b.WriteString(literal)
		} else {
			b.WriteString("'" + strings.ReplaceAll(literal, "'", "''") + "'")
		}
		if i < len(l.units) {
			b.WriteString(l.units[i].pattern)
		}
	}
	return b.String()
}

// format formats a time as in object names.
func (l layout) format(at time.Time) string {
	var b strings.Builder
	for i, u := range l.units {
		b.WriteString(l.literals[i] + at.UTC().Format(u.layout))
	}
	return b.String() + l.literals[len(l.units)]
}
