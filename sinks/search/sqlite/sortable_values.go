package sqlite

import (
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
)

// A number is stored as a BLOB and a time as TEXT. In SQLite any TEXT is less than any BLOB, so ranges of numbers hold
// no times.
var (
	leastNumber = []byte{}
	mostNumber  = []byte{0xff}
	leastTime   = ""
	mostTime    = "~"
)

// number returns a decimal as the file stores it: as bytes that sort in the order of the numbers.
func number(d decimal.Decimal) []byte {
	text, _ := state.SortableText(item.NumberValue(d))
	return []byte(text)
}

// layouts are the recognized forms of a date or time.
var layouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", time.DateOnly}

// normalizeTime returns a date or time as the file stores it: in UTC and to the nanosecond. These texts sort in the
// order of the times. It returns false if text is not a date or time.
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

// longDecimal parses a text that is a number. A document has a number as text if a double would lose digits
// (search.NumberExact). ok is false if the text is not such a number.
func longDecimal(text string) (d decimal.Decimal, ok bool) {
	const digits = 15 // digits that a double keeps
	if len(text) <= digits+1 || len(text) > 200 || !strings.Contains(text, ".") {
		return d, false
	}
	d, err := decimal.Parse(text)
	return d, err == nil && d.String() == text
}
