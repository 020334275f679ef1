package template

import (
	"fmt"
	"unicode/utf8"
)

// Error is a parse error with its place in the template.
type Error struct {
	Column  int // 1-based, in characters
	Message string
	Hint    string // what to write instead; "" where nothing is known
}

// Error is the place, the message and the hint.
func (e *Error) Error() string {
	text := fmt.Sprintf("template column %d: %s", e.Column, e.Message)
	if e.Hint != "" {
		text += " (" + e.Hint + ")"
	}
	return text
}

// column is the column of a byte of src.
func column(src string, at int) int {
	return utf8.RuneCountInString(src[:at]) + 1
}
