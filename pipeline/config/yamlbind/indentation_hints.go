package yamlbind

import (
	"fmt"
	"slices"
	"strings"
)

// indentHint returns the hint for a line that does not continue the lines above it, or "".
func (f *File) indentHint(line int) string {
	above := f.lineAbove(line)
	if above == 0 {
		return ""
	}
	indent := f.indent(line)
	if indent > f.indent(above) {
		return f.deeperHint(above)
	}
	opened := f.openLines(above) // never empty
	i := slices.IndexFunc(opened, func(l int) bool { return f.indent(l) == indent })
	if i < 0 {
		return "no line above begins in this column: begin it in " + f.columns(opened, indent)
	}
	return f.siblingHint(line, opened[i])
}

// siblingHint returns the hint for a line of another form than the earlier line that begins in the same column, or "".
func (f *File) siblingHint(line, earlier int) string {
	text, sibling := f.trimmedLine(line), f.trimmedLine(earlier)
	isEntry, isSiblingEntry := strings.HasPrefix(text, "-"), strings.HasPrefix(sibling, "-")
	isKey := strings.Contains(text, ": ") || strings.HasSuffix(text, ":")
	switch {
	case !isEntry && strings.HasPrefix(sibling, "- "):
		return fmt.Sprintf("line %d in the same column begins a list: remove its -, if entries have names", earlier)
	case strings.HasPrefix(text, "- ") && !isSiblingEntry:
		return fmt.Sprintf(
			"- begins an entry of a list, and line %d in the same column is a key: remove the -, or indent the list", earlier)
	case !isEntry && !isKey:
		return "write a colon and a space after the key"
	}
	return ""
}

// deeperHint returns the hint for a line that is indented deeper than the line above, or "".
func (f *File) deeperHint(above int) string {
	key, value, hasKey := strings.Cut(f.trimmedLine(above), ": ")
	if !hasKey || !endsInLine(value) {
		return ""
	}
	return fmt.Sprintf(
		"it is indented deeper than line %d, and %s has a value there: begin both in one column, or write nothing after %[2]s:", above, key)
}

// columns describes the columns of two of the opened lines: the line just deeper than indent, and the line just
// shallower. opened is sorted from deep to shallow.
func (f *File) columns(opened []int, indent int) string {
	shallower := slices.IndexFunc(opened, func(l int) bool { return f.indent(l) < indent })
	if shallower < 0 {
		shallower = len(opened)
	}
	justDeeper, afterShallower := max(shallower-1, 0), min(shallower+1, len(opened))
	var near []string
	for _, line := range opened[justDeeper:afterShallower] {
		near = append(near, fmt.Sprintf("column %d, as line %d", f.indent(line)+1, line))
	}
	return strings.Join(near, ", or ")
}

// openedBraces returns the number of braces and brackets that a line opens, minus the number that it closes.
func (f *File) openedBraces(line int) int {
	text, opened := []rune(f.line(line)), 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\'', '"':
			i = quotedEnd(text, i) - 1
		case '{', '[':
			opened++
		case '}', ']':
			opened--
		}
	}
	return opened
}

// trimmedLine returns a line without the spaces around it.
func (f *File) trimmedLine(line int) string { return strings.TrimSpace(f.line(line)) }

// indent returns the number of spaces at the beginning of a line.
func (f *File) indent(line int) int {
	text := f.line(line)
	return len(text) - len(strings.TrimLeft(text, " "))
}

// lineAbove returns the number of the nearest line before this one that is neither empty nor a comment. It returns 0 if
// there is none.
func (f *File) lineAbove(line int) int {
	for above := line - 1; above > 0; above-- {
		if text := f.trimmedLine(above); text != "" && text[0] != '#' {
			return above
		}
	}
	return 0
}

// openLines returns the lines whose mapping or list can continue after this line, the deepest first. The next line can
// begin in the column of each of these lines.
func (f *File) openLines(line int) []int {
	opened := []int{line}
	for above := f.lineAbove(line); above > 0; above = f.lineAbove(above) {
		if f.indent(above) < f.indent(opened[len(opened)-1]) {
			opened = append(opened, above)
		}
	}
	return opened
}

// endsInLine reports whether a value ends in the line where it begins, so that the next line cannot continue it.
func endsInLine(value string) bool {
	value, _, _ = strings.Cut(value, " #")
	value = strings.TrimSpace(value)
	if value == "" || strings.ContainsAny(value[:1], "|>&") {
		return false
	}
	opened := strings.Count(value, "{") + strings.Count(value, "[")
	closed := strings.Count(value, "}") + strings.Count(value, "]")
	return opened <= closed
}

// colonInText returns the 1-based column of the first unquoted text of the line that contains a colon and a space. YAML
// reads such a text as another key. It returns 0 if there is no such text.
func (f *File) colonInText(line int) int {
	text := []rune(f.line(line))
	const inKey = -1
	valueStart := inKey // index at which the value of the last key begins; inKey before the colon of a key
	for i := 0; i < len(text); {
		r := text[i]
		isInText := valueStart != inKey && valueStart < i
		isComment := r == '#' && (i == 0 || text[i-1] == ' ')
		isQuoted := (r == '\'' || r == '"') && (valueStart == inKey || valueStart == i)
		switch {
		case isComment:
			return 0
		case isQuoted:
			i = quotedEnd(text, i)
		case strings.ContainsRune(",{}[]", r):
			valueStart = inKey
			i++
		case !isKeyColon(text, i):
			i++
		case isInText:
			return valueStart + 1
		default: // the value of the key begins after the spaces
			i++
			for i < len(text) && text[i] == ' ' {
				i++
			}
			valueStart = i
		}
	}
	return 0
}
