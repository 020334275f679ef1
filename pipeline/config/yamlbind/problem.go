package yamlbind

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/internal/nearest"
)

// Problem is one error or warning about a file.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line"`            // 1-based
	Column  int    `json:"column"`          // 1-based, in characters
	Field   string `json:"field,omitempty"` // such as sinks.orders_by_status.view.key.PK; "" for the whole file
	Message string `json:"message"`         // what is wrong
	Hint    string `json:"hint,omitempty"`  // what to do; may be ""
}

// String returns "file:line:column: field: message; hint".
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

// Problems are all errors, or all warnings, of a file, in the order of its lines. As an error, it has at least one
// Problem.
type Problems []Problem

// Error returns one line for each problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Sort sorts the problems by line and column.
func (ps Problems) Sort() {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// Hint returns the hint of a [Problem] about the unknown name got. If one of the names is similar, the hint is "did you
// mean x?". Otherwise it lists all names after the text all, such as "the keys here are".
func Hint(got string, names []string, all string) string {
	if near := nearest.Name(got, names); near != "" {
		return "did you mean " + near + "?"
	}
	if len(names) == 0 {
		return all + " none"
	}
	return all + " " + Enumerate(names, "and")
}

// Join returns the path of the field name inside field, such as sinks.orders for sinks and orders.
func Join(field, name string) string {
	if strings.ContainsAny(name, ".[] ") {
		name = `["` + name + `"]`
		return field + name
	}
	if field == "" {
		return name
	}
	return field + "." + name
}

// Enumerate joins names to a text such as "a, b and c". last is the word before the last name, such as "and".
func Enumerate(names []string, last string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " " + last + " " + names[len(names)-1]
}
