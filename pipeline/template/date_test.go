package template

import (
	"testing"
	"time"
)

// Fact 2: never through the process's local time zone.
func TestFact2_DatesAreUTC(t *testing.T) {
	local := time.Local
	defer func() { time.Local = local }()
	for _, hours := range []int{-12, 0, 14} {
		time.Local = time.FixedZone("somewhere", hours*3600)
		for src, want := range map[string]string{
			"{@time|date:2006-01-02T15:04:05Z07}":     "2026-01-02T15:04:05Z",
			"{CreatedAt|date:2006-01-02T15:04:05Z07}": "2026-01-02T15:04:05Z",
			"{Millis|date:2006-01-02T15:04:05Z07}":    "2026-01-02T15:04:05Z",
			"{Text|date:2006-01-02T15:04:05Z07}":      "2026-01-02T13:04:05Z",
			"{@time}":                                 "2026-01-02T15:04:05Z",
		} {
			got, missing, err := parse(t, src).AppendText(nil, scope(t))
			if err != nil || missing != "" || string(got) != want {
				t.Errorf("UTC%+d: %s is %s, want %s (%v)", hours, src, got, want, err)
			}
		}
	}
}

// A time whose year has five digits in UTC has no text that sorts with the others.
func TestDate_YearInUTC(t *testing.T) {
	for text, want := range map[string]string{
		"9999-12-31T22:30:00-01:00": "9999-12-31",
		"9999-12-31T23:30:00-01:00": "",
		"0000-01-01T00:30:00+01:00": "",
	} {
		got, err := date([]byte(text), 0, "2006-01-02")
		if want == "" && err == nil || want != "" && (err != nil || string(got) != want) {
			t.Errorf("%s is %s (%v), want %q", text, got, err, want)
		}
	}
}
