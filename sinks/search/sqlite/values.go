package sqlite

import (
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
)

// A number is a BLOB and a time is TEXT: any TEXT is below any BLOB.
var (
	leastNumber = []byte{}
	mostNumber  = []byte{0xff}
	leastTime   = ""
	mostTime    = "~"
)

// number returns a decimal as its column stores it: bytes that sort as numbers do.
func number(d decimal.Decimal) []byte {
	text, _ := state.SortableText(item.NumberValue(d))
	return []byte(text)
}

// layouts are the recognized forms of a date or time.
var layouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", time.DateOnly}

// normalizeTime returns a date or time as its column stores it: in UTC, to the nanosecond, as text that
// sorts as times do.
func normalizeTime(text string) (string, bool) {
	if len(text) < len(time.DateOnly) || len(text) > 40 || text[4] != '-' || text[7] != '-' {
		return "", false
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, text); err == nil {
			if t = t.UTC(); t.Year() < 0 || t.Year() > 9999 {
				return "", false
			}
			return t.Format("2006-01-02T15:04:05.000000000"), true
		}
	}
	return "", false
}

// longDecimal parses a text as a number: documents contain a number as text if a double would lose digits
// (search.NumberExact).
func longDecimal(text string) (d decimal.Decimal, ok bool) {
	const digits = 15 // digits that a double keeps
	if len(text) <= digits+1 || len(text) > 200 || !strings.Contains(text, ".") {
		return d, false
	}
	d, err := decimal.Parse(text)
	return d, err == nil && d.String() == text
}
