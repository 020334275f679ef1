package template

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // a Lambda function's image has no time zones
)

var errYear = errs.New(
	"four digits such as 2026 are a year or epoch seconds, and date cannot know which: write a date as 2026-01-02")

var errLargeNumber = errs.New("the number is too large for epoch seconds and epoch milliseconds: store one of these")

var errEightDigits = errs.New(
	"eight digits such as 20260102 are a date or epoch seconds, and date cannot know which: write a date as 2026-01-02")

var errDate = errs.New(
	"the text is not a date: date reads epoch seconds, epoch milliseconds (from 100000000000 on), and ISO 8601 such as 2026-01-02, 2026-01-02T15:04 and 2026-01-02T15:04:05.678+01:00")

// minMillis is the smallest number that is read as milliseconds. In seconds it is the year 5138.
const minMillis = 100_000_000_000

// date replaces the point in time dst[start:] by its text in a Go layout and a time zone. A time that names no zone is
// read in this zone, too. A nil zone is UTC.
func date(dst []byte, start int, layout string, zone *time.Location) ([]byte, error) {
	zone = cmp.Or(zone, time.UTC)
	switch {
	case isBasicDate(dst[start:]):
		return dst, errEightDigits
	case isYear(dst[start:]):
		return dst, errYear
	}
	t, ok := parseInstant(dst[start:], zone)
	t = t.In(zone)
	hasFourDigitYear := 0 <= t.Year() && t.Year() <= 9999
	if ok && hasFourDigitYear {
		return t.AppendFormat(dst[:start], layout), nil
	}
	if _, isNumber := cutNumber(dst[start:]); isNumber {
		return dst, errLargeNumber
	}
	return dst, errDate
}

// parseInstant parses epoch seconds or milliseconds, with or without a fraction, or a time in ISO 8601. It returns
// false for any other text.
func parseInstant(text []byte, zone *time.Location) (time.Time, bool) {
	number, ok := cutNumber(text)
	if !ok {
		return parseISO(string(text), zone)
	}
	whole, fraction, _ := strings.Cut(string(text), ".")
	var billionths int64 // fraction of the second or the millisecond, in billionths
	if fraction != "" {
		billionths, _ = strconv.ParseInt((fraction + "000000000")[:9], 10, 64)
	}
	if number.isNegative {
		billionths = -billionths
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	switch {
	case err != nil:
		return time.Time{}, false
	case n >= minMillis || n <= -minMillis:
		return time.UnixMilli(n).Add(time.Duration(billionths / 1000)), true
	default:
		return time.Unix(n, billionths), true
	}
}

// isYear reports whether a text is one of the years 1900 to 2100.
func isYear(text []byte) bool {
	n, err := strconv.Atoi(string(text))
	return len(text) == len("2006") && err == nil && n >= 1900 && n <= 2100
}

// isBasicDate reports whether a text is a date of the years 1900 to 2100 in the basic form of ISO 8601, without dashes.
func isBasicDate(text []byte) bool {
	const basic = "20060102"
	if len(text) != len(basic) {
		return false
	}
	t, err := time.Parse(basic, string(text))
	return err == nil && t.Year() >= 1900 && t.Year() <= 2100
}

// parseISO parses a date of ISO 8601. A time may follow the date, and an offset may follow the time. Without an offset,
// the text is a time in zone.
func parseISO(text string, zone *time.Location) (time.Time, bool) {
	p := isoParser{text: text, ok: true}
	year := p.number(4, 0, 9999)
	p.skipOneOf("-")
	month := p.number(2, 1, 12)
	p.skipOneOf("-")
	day := p.number(2, 1, 31)
	p.ok = p.ok && day <= daysIn(year, month)
	if p.text == "" {
		return inZone(time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC), zone), p.ok
	}
	p.skipOneOf("T ")
	hour := p.number(2, 0, 23)
	p.skipOneOf(":")
	minute := p.number(2, 0, 59)
	second, nanoseconds := 0, 0
	if p.skip(":") {
		second = p.number(2, 0, 59)
		if p.skip(".,") {
			nanoseconds = p.nanoseconds()
		}
	}
	t := time.Date(year, time.Month(month), day, hour, minute, second, nanoseconds, time.UTC)
	if p.text == "" {
		return inZone(t, zone), p.ok
	}
	offset := p.offset()
	return t.Add(-offset), p.ok && p.text == ""
}

// daysIn returns the number of days of a month.
func daysIn(year, month int) int {
	return time.Date(year, time.Month(month+1), 0, 0, 0, 0, 0, time.UTC).Day()
}

// inZone returns the instant at which the clocks of a zone show the date and time that t has in UTC. When clocks are
// turned back, they show some times twice: inZone then returns the first instant. When clocks are turned forward, they
// skip some times: inZone then returns the instant that such a time would be without the change.
func inZone(t time.Time, zone *time.Location) time.Time {
	before, after := offsetAt(t.Add(-day), zone), offsetAt(t.Add(day), zone)
	for _, offset := range []time.Duration{max(before, after), min(before, after)} {
		// The larger offset gives the earlier instant.
		if instant := t.Add(-offset); offsetAt(instant, zone) == offset {
			return instant
		}
	}
	return t.Add(-before)
}

const day = 24 * time.Hour

// offsetAt returns the time by which the clocks of a zone are ahead of UTC.
func offsetAt(t time.Time, zone *time.Location) time.Duration {
	_, seconds := t.In(zone).Zone()
	return time.Duration(seconds) * time.Second
}

// isoParser parses a text from its start. text is the part that is not parsed yet. ok becomes false when a part is
// missing or wrong.
type isoParser struct {
	text string
	ok   bool
}

// number parses a number. digits is the exact number of its digits. The number must be from least to most.
func (p *isoParser) number(digits, least, most int) int {
	if len(p.text) < digits || !isDigits([]byte(p.text[:digits])) {
		p.ok = false
		return least
	}
	n, _ := strconv.Atoi(p.text[:digits])
	p.text = p.text[digits:]
	p.ok = p.ok && least <= n && n <= most
	return n
}

// skip skips one byte if the byte is in the string any. It reports whether it did.
func (p *isoParser) skip(any string) bool {
	if p.text == "" || !strings.Contains(any, p.text[:1]) {
		return false
	}
	p.text = p.text[1:]
	return true
}

// skipOneOf skips one byte, which must be in the string any.
func (p *isoParser) skipOneOf(any string) {
	if !p.skip(any) {
		p.ok = false
	}
}

// nanoseconds parses the digits of a fraction of a second. It ignores digits after the ninth.
func (p *isoParser) nanoseconds() int {
	n := len(p.text) - len(strings.TrimLeft(p.text, "0123456789"))
	fraction := p.text[:n]
	p.text = p.text[n:]
	p.ok = p.ok && n > 0
	v, _ := strconv.Atoi((fraction + "000000000")[:9])
	return v
}

// offset parses Z, ±hh, ±hhmm or ±hh:mm.
func (p *isoParser) offset() time.Duration {
	if p.skip("Z") {
		return 0
	}
	west := strings.HasPrefix(p.text, "-")
	p.skipOneOf("+-")
	offset := time.Duration(p.number(2, 0, 23)) * time.Hour
	if p.text != "" {
		p.skip(":")
		offset += time.Duration(p.number(2, 0, 59)) * time.Minute
	}
	if west {
		return -offset
	}
	return offset
}

// hasElement reports whether a layout shows any part of a time. To find out, it formats two times that differ in every
// part.
func hasElement(layout string) bool {
	a := time.Date(2001, time.February, 3, 4, 5, 6, 123_456_789, time.UTC)
	b := time.Date(2012, time.November, 26, 19, 48, 57, 987_654_321, time.UTC)
	return a.Format(layout) != b.Format(layout)
}

var (
	// layoutZones and layoutFractions match layout elements such as -0700 and .000, whose digits alone are not
	// elements.
	layoutZones     = regexp.MustCompile(`[Z+-]07(:?00(:?00)?)?`)
	layoutFractions = regexp.MustCompile(`[.,](0+|9+)([^0-9]|$)`)
	digitRuns       = regexp.MustCompile(`[0-9]+`)

	// layoutDigits matches a run of digits that consists of layout elements. A single digit is an element, but next to
	// other digits it is a mistake, as in 2026 and 13.
	layoutDigits = regexp.MustCompile(`^((2006|002|01|02|03|04|05|06|15)+|[1-5])$`)
)

// foreignLetters matches elements of other layout languages, which are plain text in a Go layout.
var foreignLetters = regexp.MustCompile(`(^|[^A-Za-z])(YYYY|YY|yyyy|yy|MM|DD|dd|HH|hh|mm|ss|SS|SSS)+([^A-Za-z]|$)`)

// strayLetters returns an element of another layout language, such as MM in 2006-MM. It returns "" if the layout has
// none.
func strayLetters(layout string) string {
	if m := foreignLetters.FindStringSubmatch(layout); m != nil {
		return m[2]
	}
	return ""
}

// strayDigits returns digits of a layout that are not a layout element, such as the digits of today's date. It returns
// "" if the layout has none.
func strayDigits(layout string) string {
	layout = layoutFractions.ReplaceAllString(layoutZones.ReplaceAllString(layout, " "), " $2")
	for _, run := range digitRuns.FindAllString(layout, -1) {
		if !layoutDigits.MatchString(run) {
			return run
		}
	}
	return ""
}
