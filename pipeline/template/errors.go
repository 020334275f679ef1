package template

import (
	"fmt"
	"unicode/utf8"

	"github.com/tablewake/tablewake/pipeline/redact"
)

// errs makes this package's errors. Their redacted text holds no data.
const errs = redact.Class("template")

// Error is a parse error with its position in the template.
type Error struct {
	Column  int // 1-based, in characters
	Message string
	Hint    string // what to write instead; "" if unknown
}

// Error returns the position, the message and the hint.
func (e *Error) Error() string {
	text := fmt.Sprintf("template column %d: %s", e.Column, e.Message)
	if e.Hint != "" {
		text += " (" + e.Hint + ")"
	}
	return text
}

// column returns the column of the byte at an index of src.
func column(src string, at int) int {
	return utf8.RuneCountInString(src[:at]) + 1
}
