package template

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Fact 2: dates never depend on the local time zone of the process.
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

// Eight digits may be seconds or a date of ISO 8601. Eight digits that are a valid date are refused.
func TestDate_EightDigits(t *testing.T) {
	for text, want := range map[string]string{"20260102": "", "20261301": "1970-08-23", "30000101": "1970-12-14"} {
		got, err := date([]byte(text), 0, "2006-01-02", nil)
		if want == "" && err == nil || want != "" && (err != nil || string(got) != want) {
			t.Errorf("%s is %s (%v), want %q", text, got, err, want)
		}
	}
}

// A time whose year in UTC has not four digits is an error, because its text would not sort with the others.
func TestDate_YearInUTC(t *testing.T) {
	for text, want := range map[string]string{
		"9999-12-31T22:30:00-01:00": "9999-12-31",
		"9999-12-31T23:30:00-01:00": "",
		"0000-01-01T00:30:00+01:00": "",
	} {
		got, err := date([]byte(text), 0, "2006-01-02", nil)
		if want == "" && err == nil || want != "" && (err != nil || string(got) != want) {
			t.Errorf("%s is %s (%v), want %q", text, got, err, want)
		}
	}
}

// Some texts are dates, and others are not.
func TestDate_Texts(t *testing.T) {
	for text, want := range map[string]string{
		"2026-03-29":                    "2026-03-28T23:00:00Z",
		"2026-03-29T12:30":              "2026-03-29T10:30:00Z",
		"2026-03-29 12:30:15":           "2026-03-29T10:30:15Z",
		"2026-03-29T12:30:15.25":        "2026-03-29T10:30:15.25Z",
		"2026-03-29T12:30:15,123456789": "2026-03-29T10:30:15.123456789Z",
		"2026-03-29T12:30:15Z":          "2026-03-29T12:30:15Z",
		"2026-03-29T12:30:15.5+01":      "2026-03-29T11:30:15.5Z",
		"2026-03-29T12:30+0530":         "2026-03-29T07:00:00Z",
		"2026-03-29T12:30:15-05:30":     "2026-03-29T18:00:15Z",
		"2024-02-29":                    "2024-02-28T23:00:00Z",
		"1767366245":                    "2026-01-02T15:04:05Z",
		"1767366245.9":                  "2026-01-02T15:04:05.9Z",
		"1767366245999":                 "2026-01-02T15:04:05.999Z",
		"-1":                            "1969-12-31T23:59:59Z",
		"2026-03-29T02:30":              "2026-03-29T01:30:00Z", // clocks skip this time
		"2026-10-25T02:30":              "2026-10-25T00:30:00Z", // clocks show this time twice

		"": "", "x": "", "2026": "1970-01-01T00:33:46Z", "2026-1-2": "", "2026-02-29": "", "2026-13-01": "", "2026-00-01": "", "2026-01-00": "", "20260102T1504": "",
		"2026-01-02T": "", "2026-01-02T24:00": "", "2026-01-02T12:60": "", "2026-01-02T12:30:60": "", "2026-01-02T12:30:15.": "", "2026-01-02T12:30:15Z ": "",
		"2026-01-02T12:30:15+1": "", "2026-01-02T12:30:15+01:0": "", "2026-01-02T12:30:15+01:60": "", "2026-01-02T12:30:15+24": "", "2026-01-02X12:30": "", "1e9": "", "1.": "",
	} {
		berlin, err := time.LoadLocation("Europe/Berlin")
		if err != nil {
			t.Fatal(err)
		}
		got, ok := parseInstant([]byte(text), berlin)
		if ok != (want != "") || ok && got.UTC().Format(time.RFC3339Nano) != want {
			t.Errorf("%q is %v (%v), want %q", text, got.UTC(), ok, want)
		}
	}
}

// A text in RFC 3339 is the same instant as in the time package.
func TestDate_RFC3339(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zone := time.FixedZone("", 60*rapid.IntRange(-14*60, 14*60).Draw(t, "offset"))
		want := time.Unix(rapid.Int64Range(-1e10, 1e11).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds")).In(zone)
		text := want.Format(time.RFC3339Nano)
		if got, ok := parseInstant([]byte(text), time.UTC); !ok || !got.Equal(want) {
			t.Fatalf("%s is %v (%v)", text, got, ok)
		}
	})
}

// A time without a zone is the first instant at which the clocks of the zone show it, if they ever do.
func TestDate_Zones(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"UTC", "Europe/Berlin", "America/New_York", "America/Sao_Paulo", "Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Apia", "Africa/Casablanca"}).Draw(t, "zone")
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		near := time.Unix(rapid.Int64Range(0, 2e9).Draw(t, "seconds"), 0).In(zone)
		if _, end := near.ZoneBounds(); !end.IsZero() && rapid.Bool().Draw(t, "at a change") {
			near = end.Add(time.Duration(rapid.IntRange(-7200, 7200).Draw(t, "apart")) * time.Second)
		}
		const layout = "2006-01-02T15:04:05"
		clock := near.In(zone).Format(layout)
		got, ok := parseInstant([]byte(clock), zone)
		if !ok || got.In(zone).Format(layout) != clock || got.After(near) {
			t.Fatalf("%s in %s is %v, and %v shows it", clock, name, got.In(zone), near)
		}
		for before := range 4 * 60 {
			if earlier := got.Add(-time.Duration(before+1) * time.Minute); earlier.In(zone).Format(layout) == clock {
				t.Fatalf("%s in %s is %v, and %v shows it before", clock, name, got, earlier)
			}
		}
	})
}

// A template that names a zone reads and prints times in that zone.
func TestDate_PrintsInTheZone(t *testing.T) {
	it := image(t, `{"PK":{"S":"A"},"At":{"S":"2026-07-01T00:30"}}`)
	for src, want := range map[string]string{
		"{At|zone:Europe/Berlin|date:2006-01-02T15:04Z07:00}": "2026-07-01T00:30+02:00",
		"{At|date:2006-01-02T15:04Z07:00}":                    "2026-07-01T00:30Z",
		"{At|zone:America/New_York|date:2006-01-02 MST}":      "2026-07-01 EDT",
	} {
		got, missing, err := parse(t, src).AppendText(nil, Scope{Item: it})
		if err != nil || missing != "" || string(got) != want {
			t.Errorf("%s is %s, want %s (%v)", src, got, want, err)
		}
	}
	if _, _, err := parse(t, "{PK|zone:UTC|date:2006}").AppendText(nil, Scope{Item: it}); err == nil {
		t.Error("a text that is not a date")
	}
}
