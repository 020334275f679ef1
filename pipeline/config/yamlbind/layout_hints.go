package yamlbind

import (
	"fmt"
	"slices"
	"strings"
)

// explainLayout looks for the reason why a line is not YAML in its colons and its indentation. It returns a hint and a
// 1-based column. The hint is "" if it finds no reason.
func (f *File) explainLayout(line int) (column int, hint string) {
	if column := f.colonInText(line); column > 0 {
		return column, f.colonHint(line, column)
	}
	indent := f.indent(line)
	above := f.lineAbove(line)
	if above == 0 {
		return indent + 1, ""
	}
	text := strings.TrimSpace(f.line(line))
	if deeper := indent > f.indent(above); deeper {
		if key, value, ok := strings.Cut(strings.TrimSpace(f.line(above)), ": "); ok && endsInLine(value) {
			return indent + 1, fmt.Sprintf(
				"it is indented deeper than line %d, and %s has a value there: begin both in one column, or write nothing after %[2]s:", above, key)
		}
		return indent + 1, ""
	}
	opened := f.openLines(above)
	openIndex := slices.IndexFunc(opened, func(l int) bool { return f.indent(l) == indent })
	switch {
	case openIndex < 0 && len(opened) > 0:
		return indent + 1, "no line above begins in this column: begin it in " + f.columns(opened, indent)
	case openIndex >= 0 && !strings.HasPrefix(text, "-") &&
		strings.HasPrefix(strings.TrimSpace(f.line(opened[openIndex])), "- "):
		return indent + 1, fmt.Sprintf("line %d in the same column begins a list: remove its -, where entries have names",
			opened[openIndex])
	case openIndex >= 0 && strings.HasPrefix(text, "- ") &&
		!strings.HasPrefix(strings.TrimSpace(f.line(opened[openIndex])), "-"):
		return indent + 1, fmt.Sprintf(
			"- begins an entry of a list, and line %d in the same column is a key: remove the -, or indent the list",
			opened[openIndex])
	case openIndex >= 0 && !strings.HasPrefix(text, "-") && !strings.Contains(text, ": ") && !strings.HasSuffix(text, ":"):
		return indent + 1, "write a colon and a space behind the key"
	}
	return indent + 1, ""
}

// columns describes the columns of the opened lines whose indentation is nearest to indent, the deepest first.
func (f *File) columns(opened []int, indent int) string {
	var near []string
	for i, line := range opened {
		next := i+1 == len(opened) || f.indent(opened[i+1]) < indent
		if f.indent(line) > indent && next || f.indent(line) < indent && (i == 0 || f.indent(opened[i-1]) > indent) {
			near = append(near, fmt.Sprintf("column %d, as line %d", f.indent(line)+1, line))
		}
	}
	return strings.Join(near, ", or ")
}

// colonHint returns the hint to quote the text at a 1-based line and column.
func (f *File) colonHint(line, column int) string {
	return "quote a text that has a colon: " + Quoted(f.likelyText(line, column))
}

// openedBraces returns the number of braces and brackets that a line opens, minus the number that it closes.
func (f *File) openedBraces(line int) int {
	rs, n := []rune(f.line(line)), 0
	for i := 0; i < len(rs); i++ {
		switch rs[i] {
		case '\'', '"':
			i = pastQuote(rs, i) - 1
		case '{', '[':
			n++
		case '}', ']':
			n--
		}
	}
	return n
}

// indent returns the number of spaces at the beginning of a line.
func (f *File) indent(line int) int {
	text := f.line(line)
	return len(text) - len(strings.TrimLeft(text, " "))
}

// lineAbove returns the number of the nearest line before this one that is neither empty nor a comment. It returns 0 if
// there is none.
func (f *File) lineAbove(line int) int {
	for line--; line > 0; line-- {
		if text := strings.TrimSpace(f.line(line)); text != "" && text[0] != '#' {
			return line
		}
	}
	return 0
}

// openLines returns the lines whose mapping or list can continue after this line, the deepest first. The next line can
// begin in the column of each of these lines.
func (f *File) openLines(line int) []int {
	var lines []int
	for ; line > 0; line = f.lineAbove(line) {
		if len(lines) == 0 || f.indent(line) < f.indent(lines[len(lines)-1]) {
			lines = append(lines, line)
		}
	}
	return lines
}

// endsInLine reports whether a value ends in the line where it begins, so that the next line cannot continue it.
func endsInLine(value string) bool {
	value, _, _ = strings.Cut(value, " #")
	value = strings.TrimSpace(value)
	return value != "" && !strings.ContainsAny(value[:1], "|>&") &&
		strings.Count(value, "{")+strings.Count(value, "[") <= strings.Count(value, "}")+strings.Count(value, "]")
}

// colonInText returns the 1-based column of the first unquoted text of the line that contains a colon and a space. YAML
// reads such a text as another key. It returns 0 if there is no such text.
func (f *File) colonInText(line int) int {
	rs := []rune(f.line(line))
	valueAt := -1 // index of the value after the last key; -1 in a key
	for i := 0; i < len(rs); {
		switch r := rs[i]; {
		case (r == '\'' || r == '"') && (valueAt < 0 || valueAt == i):
			i = pastQuote(rs, i)
			continue
		case r == '#' && (i == 0 || rs[i-1] == ' '):
			return 0
		case strings.ContainsRune(",{}[]", r):
			valueAt = -1
		case endsKey(rs, i):
			if 0 <= valueAt && valueAt < i {
				return valueAt + 1
			}
			for i++; i < len(rs) && rs[i] == ' '; i++ {
			}
			valueAt = i
			continue
		}
		i++
	}
	return 0
}
