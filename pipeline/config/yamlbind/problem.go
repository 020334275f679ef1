package yamlbind

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/internal/nearest"
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

// Sort puts them in the order of the lines.
func (ps Problems) Sort() {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// Hint is the hint of a [Problem] about a name that is not known: "did you mean
// x?" where one of the names is near, else all of them behind the words of all, as
// "the keys here are".
func Hint(got string, names []string, all string) string {
	if near := nearest.Name(got, names); near != "" {
		return "did you mean " + near + "?"
	}
	if len(names) == 0 {
		return all + " none"
	}
	return all + " " + Enumerate(names, "and")
}

// Join is a field below a field.
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

// Enumerate is "a, b and c".
func Enumerate(names []string, last string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " " + last + " " + names[len(names)-1]
}
