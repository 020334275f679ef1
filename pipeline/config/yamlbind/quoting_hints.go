package yamlbind

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// likelyText returns the text of the file from a 1-based line and column up to its likely end. The end is the end of
// the line, a comment, or a comma or bracket of the collection around the text. YAML may read this as several values,
// but the author probably meant one text.
func (f *File) likelyText(line, column int) string {
	text := []rune(f.line(line))
	if column < 1 || column > len(text) {
		return ""
	}
	text = text[column-1:]
	depth := 0 // of braces and brackets
	for i, r := range text {
		isComment := r == ' ' && strings.HasPrefix(string(text[i+1:])+" ", "# ") // as people write them
		isEnd := isComment || strings.ContainsRune(",]}", r)
		switch {
		case depth == 0 && isEnd:
			return strings.TrimSpace(string(text[:i]))
		case r == '{' || r == '[':
			depth++
		case r == '}' || r == ']':
			depth--
		}
	}
	return strings.TrimSpace(string(text))
}

// Quoted returns s as a single-quoted YAML scalar.
func Quoted(s string) string {
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

// quoteHint returns the hint to quote the text at a 1-based line and column.
func (f *File) quoteHint(line, column int) string {
	if text := f.likelyText(line, column); text != "" {
		return "quote it: " + Quoted(text)
	}
	return "quote it"
}

// namesOf returns the elements of a list, separated by commas. It returns "" if there is only one, or if one of them is
// not a plain name.
func namesOf(list *yaml.Node) string {
	if len(list.Content) < 2 {
		return ""
	}
	names := make([]string, len(list.Content))
	for i, n := range list.Content {
		if n.Kind != yaml.ScalarNode || !plainText.MatchString(n.Value) {
			return ""
		}
		names[i] = n.Value
	}
	return strings.Join(names, ", ")
}

// explainMisread returns a problem about a text that YAML shortened or read as something else. Examples are {path} as a
// mapping, ["name"] as a list, and #text as a comment. key is the node of the value's key, or nil in lists. ok is false
// if YAML did not misread the value.
func (f *File) explainMisread(key, n *yaml.Node) (message, hint string, ok bool) {
	isFlow := n.Style&yaml.FlowStyle != 0
	switch {
	case n.Kind == yaml.MappingNode && isFlow:
		return "wants text, and YAML made a mapping of it", f.quoteHint(n.Line, n.Column), true
	case n.Kind == yaml.SequenceNode && key == nil && namesOf(n) != "":
		return "wants text, not a list", "write them into the outer list: " + namesOf(n), true
	case n.Kind == yaml.SequenceNode && isFlow:
		return "wants text, and YAML made a list of it", f.quoteHint(n.Line, n.Column), true
	case n.Kind != yaml.ScalarNode || n.Style != 0:
		return "", "", false
	}
	return f.explainPlainScalar(key, n)
}

// explainPlainScalar does the work of explainMisread for a scalar without quotes.
func (f *File) explainPlainScalar(key, n *yaml.Node) (message, hint string, ok bool) {
	text := []rune(n.Value)
	switch {
	case len(text) > 1 && isCurly(text[0]) && isCurly(text[len(text)-1]):
		return "curly quotes are no quotes of YAML", "write " + Quoted(strings.Trim(n.Value, curlyQuotes)), true
	case len(text) == 0:
		return f.explainComment(key)
	}
	rest := string(runesFrom([]rune(f.line(n.Line)), n.Column-1+len(text)))
	comment := strings.TrimLeft(rest, " ")
	if !strings.HasPrefix(comment, "#{") && !strings.HasPrefix(comment, "#[") {
		return "", "", false
	}
	return "YAML made a comment of what follows " + Quoted(n.Value),
		"quote the whole: " + Quoted(n.Value+strings.TrimRight(rest, " ")), true
}

// explainComment does the work of explainMisread for an empty value, whose text YAML may have read as a comment.
func (f *File) explainComment(key *yaml.Node) (message, hint string, ok bool) {
	if key == nil {
		return "", "", false
	}
	keyEnd := key.Column - 1 + len([]rune(key.Value))
	rest := string(runesFrom([]rune(f.line(key.Line)), keyEnd))
	if !startsText(strings.TrimLeft(rest, ": ")) {
		return "", "", false
	}
	column := keyEnd + 1 + strings.Index(rest, "#")
	return "wants text, and YAML made a comment of it", f.quoteHint(key.Line, column), true
}

// curlyQuotes are the quotes that word processors write.
const curlyQuotes = "‘’“”"

func isCurly(r rune) bool { return strings.ContainsRune(curlyQuotes, r) }

// curlyHint returns the hint for a text in curly quotes that begins at start.
func curlyHint(rs []rune, start int) string {
	text, _, _ := strings.Cut(strings.TrimLeft(string(rs[start:]), curlyQuotes), string(closingQuote[rs[start]]))
	return "curly quotes are no quotes of YAML: write " + Quoted(text)
}

// closingQuote maps an opening curly quote to its closing quote.
var closingQuote = map[rune]rune{'‘': '’', '’': '’', '“': '”', '”': '”'}

// unclosed matches a quoted text that contains the next key of the line. In such a line, the closing quote before this
// key is missing.
var unclosed = regexp.MustCompile(`^(.*?), *[A-Za-z_][A-Za-z0-9_-]*: *$`)

// beginsKey matches a line that begins with a key. A quoted text of the line above does not continue in such a line.
var beginsKey = regexp.MustCompile(`^ *(- +)?[A-Za-z_][A-Za-z0-9_-]*:( |$)`)

// withoutClosing removes closing braces and brackets at the end of a text if the text does not open them. They belong
// to the collection around the text.
func withoutClosing(text string) string {
	for _, pair := range []string{"{}", "[]"} {
		opening, closing := pair[:1], pair[1:]
		for strings.HasSuffix(text, closing) && strings.Count(text, closing) > strings.Count(text, opening) {
			text = strings.TrimSuffix(text, closing)
		}
	}
	return text
}

// startsText reports whether a comment was probably meant as text, because no space follows its #.
func startsText(comment string) bool {
	return len(comment) > 1 && comment[0] == '#' && comment[1] != ' ' && comment[1] != '#'
}

func runesFrom(rs []rune, from int) []rune {
	return rs[min(max(from, 0), len(rs)):]
}

// findUnquoted searches a line that is not YAML for a mistake in the line itself. Typical mistakes are texts without
// quotes (a template, a path or ${NAME}), missing closing quotes, and tabs. It returns the 1-based column of the
// mistake, and a hint. The hint is "" if it finds none.
func (f *File) findUnquoted(line int) (column int, hint string) {
	text := []rune(f.line(line))
	indent := f.indent(line)
	if indent < len(text) && text[indent] == '\t' {
		return indent + 1, "YAML indents with spaces, never with a tab"
	}
	flowDepth := 0 // of braces and brackets
	for i := indent; i < len(text); {
		switch r := text[i]; {
		case r == '\'' || r == '"':
			end := quotedEnd(text, i)
			if hint := f.misquotedHint(line, text, i, end); hint != "" {
				return i + 1, hint
			}
			i = end
		case r == '{' || r == '[':
			flowDepth++
			i++
		case r == '}' || r == ']':
			flowDepth--
			i++
		case strings.ContainsRune(" ,:-?", r):
			i++
		case r == '#':
			return indent + 1, ""
		case isCurly(r):
			return i + 1, curlyHint(text, i)
		default:
			endMarks := ""
			if flowDepth > 0 {
				endMarks = ",]}"
			}
			end := plainEnd(text, i, endMarks)
			if !needsQuotes(text[i:end]) {
				i = end
				continue
			}
			if isAfterBrace := flowDepth > 0 && text[i-1] == '{'; isAfterBrace {
				return i, f.quoteHint(line, i) // {@key}: the brace belongs to the text
			}
			return i + 1, "quote templates, paths and ${...}: " + Quoted(strings.TrimSpace(string(text[i:end])))
		}
	}
	return indent + 1, ""
}

// misquotedHint returns the hint for the quoted scalar of the line from start to end, or "" if its quotes are right.
// text is the text of the line.
func (f *File) misquotedHint(line int, text []rune, start, end int) string {
	isOpen := end-start < 2 || text[end-1] != text[start]
	if isOpen && line < len(f.lines) && beginsKey.MatchString(f.line(line+1)) {
		return "the closing quote is missing: write " + Quoted(withoutClosing(strings.TrimSpace(string(text[start+1:]))))
	}
	rest := []rune(strings.TrimLeft(string(runesFrom(text, end)), " "))
	if len(rest) == 0 || strings.ContainsRune(",]}:#", rest[0]) {
		return ""
	}
	if m := unclosed.FindStringSubmatch(string(text[start+1 : end-1])); m != nil {
		return "the closing quote is missing: write " + Quoted(withoutClosing(m[1]))
	}
	return "quote the whole: " + Quoted(f.likelyText(line, start+1)) // "x" in item.Tags
}

// plainEnd returns the index after the plain scalar that begins at start. The scalar ends before the colon of a key,
// before one of the endMarks that is not inside braces or brackets, or with the line.
func plainEnd(line []rune, start int, endMarks string) int {
	depth := 0 // of braces and brackets
	for i := start; i < len(line); i++ {
		switch r := line[i]; {
		case r == '{' || r == '[':
			depth++
		case depth > 0 && (r == '}' || r == ']'):
			depth--
		case depth == 0 && (strings.ContainsRune(endMarks, r) || isKeyColon(line, i)):
			return i
		}
	}
	return len(line)
}

// needsQuotes reports whether a scalar begins with a character, or contains one, that YAML allows only in quotes.
func needsQuotes(scalar []rune) bool {
	return strings.ContainsRune("@`%!&|>", scalar[0]) || strings.ContainsAny(string(scalar), "*{[")
}

// isKeyColon reports whether the character at i is the colon after a key.
func isKeyColon(line []rune, i int) bool {
	return line[i] == ':' && (i+1 == len(line) || line[i+1] == ' ')
}

// quotedEnd returns the index after the quoted scalar that begins at start, or the length of the line if the closing
// quote is missing.
func quotedEnd(line []rune, start int) int {
	quote := line[start]
	for i := start + 1; i < len(line); i++ {
		if quote == '"' && line[i] == '\\' {
			i++ // skip the escaped character
		} else if line[i] == quote {
			return i + 1
		}
	}
	return len(line)
}
