package yamlbind

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

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
// mean x?". Otherwise the hint lists all names. all is the text before the list, such as "the keys here are".
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

// FailWithin notes a problem at a line and column of a scalar's text, both 1-based.
func (f *File) FailWithin(v *Value, line, column int, message, hint string) {
	line, column = f.positionInFile(v.Node, line, column)
	f.FailAt(line, column, v.Field, message, hint)
}

// WarnWithin notes a warning at a line and column of a scalar's text, both 1-based.
func (f *File) WarnWithin(v *Value, line, column int, message, hint string) {
	line, column = f.positionInFile(v.Node, line, column)
	f.Warnings = append(f.Warnings, Problem{f.name, line, column, v.Field, message, hint})
}

// positionInFile maps a line and a column of a scalar's text to a line and a column of the file, all 1-based. If the
// file spells the text differently (an escape, ${NAME}, folded lines), it returns the beginning of the scalar.
func (f *File) positionInFile(n *yaml.Node, line, column int) (int, int) {
	if n.Style&yaml.LiteralStyle != 0 {
		return f.positionInLiteral(n, line, column)
	}
	isOneLine := line == 1 && n.Style&yaml.FoldedStyle == 0
	if !isOneLine || column < 1 {
		return n.Line, n.Column
	}
	columns, text := f.sourceText(n)
	isAsWritten := text == n.Value && !strings.Contains(n.Value, "${")
	if !isAsWritten || len(columns) == 0 {
		return n.Line, n.Column
	}
	if column > len(columns) {
		return n.Line, columns[len(columns)-1] + 1
	}
	return n.Line, columns[column-1]
}

// sourceText reads a scalar of one line from the text of the file. It returns the scalar's text, and the 1-based column
// of each of its characters.
func (f *File) sourceText(n *yaml.Node) (columns []int, text string) {
	source := runesFrom([]rune(f.line(n.Line)), n.Column-1)
	switch {
	case n.Style&yaml.SingleQuotedStyle != 0:
		return quotedText(source, n.Column, '\'', "''")
	case n.Style&yaml.DoubleQuotedStyle != 0:
		return quotedText(source, n.Column, '"', `\"`, `\\`, `\/`)
	}
	source = source[:min(len(source), len([]rune(n.Value)))]
	for i := range source {
		columns = append(columns, n.Column+i)
	}
	return columns, string(source)
}

// quotedText does the work of sourceText for a scalar in quotes. source begins with the quote, in the column start. Of
// an escape, which has two characters, only the second belongs to the text.
func quotedText(source []rune, start int, quote rune, escapes ...string) (columns []int, text string) {
	var b strings.Builder
	for i := 1; i < len(source); i++ {
		if isEscape := i+1 < len(source) && slices.Contains(escapes, string(source[i:i+2])); isEscape {
			i++
		} else if source[i] == quote {
			break
		}
		columns = append(columns, start+i)
		b.WriteRune(source[i])
	}
	return columns, b.String()
}

// positionInLiteral does the same as positionInFile for a literal block scalar (|). The text of such a scalar begins in
// the next line, after the indentation.
func (f *File) positionInLiteral(n *yaml.Node, line, column int) (int, int) {
	for l := n.Line + 1; l <= len(f.lines); l++ {
		if text := strings.TrimLeft(f.line(l), " "); text != "" {
			return n.Line + line, len(f.line(l)) - len(text) + column
		}
	}
	return n.Line, n.Column
}
