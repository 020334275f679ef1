package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing wrong with a file, or worth a warning.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line"`            // 1-based
	Column  int    `json:"column"`          // 1-based, in characters
	Field   string `json:"field,omitempty"` // sinks.orders_by_status.view.key.PK; "" where the file as a whole is meant
	Message string `json:"message"`         // what is wrong
	Hint    string `json:"hint,omitempty"`  // what to do; may be ""
}

// String is "file:line:column: field: message; hint".
func (p Problem) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d:%d: ", p.File, p.Line, p.Column)
	if p.Field != "" {
		b.WriteString(p.Field + ": ")
	}
	b.WriteString(p.Message)
	if p.Hint != "" {
		b.WriteString("; " + p.Hint)
	}
	return b.String()
}

// Problems is everything wrong with a file, in the order of its lines. It is
// never empty where it is an error.
type Problems []Problem

// Error is one problem a line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

func (ps Problems) sort() {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}
