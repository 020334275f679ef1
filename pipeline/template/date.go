package template

import (
	"strconv"
	"time"
)

var errDate = errs.New("the text is no date: date reads epoch seconds, epoch milliseconds (from 100000000000 on) and RFC 3339 such as 2026-01-02T15:04:05Z")

// millisFrom is the smallest number that is read as milliseconds. As seconds it would be the year
// 5138.
const millisFrom = 100_000_000_000

// date replaces a point in time by its text in UTC with a Go layout.
func date(dst []byte, start int, layout string) ([]byte, error) {
	t, ok := instant(dst[start:])
	t = t.UTC()
	if !ok || t.Year() < 0 || t.Year() > 9999 {
		return dst, errDate
	}
	return t.AppendFormat(dst[:start], layout), nil
}

// instant parses epoch seconds or milliseconds, without their fraction, or RFC 3339.
func instant(text []byte) (time.Time, bool) {
	digits := text
	if len(digits) > 0 && digits[0] == '-' {
		digits = digits[1:]
	}
	whole := 0
	for whole < len(digits) && '0' <= digits[whole] && digits[whole] <= '9' {
		whole++
	}
	if whole == 0 {
		return time.Time{}, false
	}
	if whole < len(digits) && digits[whole] != '.' {
		var t time.Time
		err := t.UnmarshalText(text)
		return t, err == nil
	}
	for _, b := range digits[min(whole+1, len(digits)):] {
		if b < '0' || b > '9' {
			return time.Time{}, false
		}
	}
	n, err := strconv.ParseInt(string(text[:len(text)-len(digits)+whole]), 10, 64)
	switch {
	case err != nil:
		return time.Time{}, false
	case n >= millisFrom || n <= -millisFrom:
		return time.UnixMilli(n), true
	default:
		return time.Unix(n, 0), true
	}
}

// hasElement reports whether a layout shows any part of a time. It formats two times that differ in
// every part.
func hasElement(layout string) bool {
	a := time.Date(2001, time.February, 3, 4, 5, 6, 123_456_789, time.UTC)
	b := time.Date(2012, time.November, 26, 19, 48, 57, 987_654_321, time.UTC)
	return a.Format(layout) != b.Format(layout)
}
