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
	depth := 0
	for i, r := range text {
		isComment := r == ' ' && strings.HasPrefix(string(text[i+1:])+" ", "# ") // as people write them
		switch {
		case r == '{' || r == '[':
			depth++
		case depth == 0 && (isComment || strings.ContainsRune(",]}", r)):
			return strings.TrimSpace(string(text[:i]))
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
	if w := f.likelyText(line, column); w != "" {
		return "quote it: " + Quoted(w)
	}
	return "quote it"
}

// explainMisread returns a problem about a text that YAML shortened or read as something else. Examples are {path} as a
// mapping, ["name"] as a list, and #text as a comment. key is the node of the value's key, or nil in lists. ok is false
// if YAML did not misread the value.
func (f *File) explainMisread(key, n *yaml.Node) (message, hint string, ok bool) {
	text := []rune(n.Value)
	switch {
	case n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle != 0:
		return "wants text, and YAML made a mapping of it", f.quoteHint(n.Line, n.Column), true
	case n.Kind == yaml.SequenceNode && n.Style&yaml.FlowStyle != 0:
		return "wants text, and YAML made a list of it", f.quoteHint(n.Line, n.Column), true
	case n.Kind != yaml.ScalarNode || n.Style != 0:
		return "", "", false
	case len(text) > 1 && isCurly(text[0]) && isCurly(text[len(text)-1]):
		return "curly quotes are no quotes of YAML", "write " + Quoted(strings.Trim(n.Value, curlyQuotes)), true
	case n.Value == "" && key != nil:
		line, after := f.line(key.Line), key.Column-1+len([]rune(key.Value))
		if rest := string(runesFrom([]rune(line), after)); startsText(strings.TrimLeft(rest, ": ")) {
			at := after + 1 + strings.Index(rest, "#")
			return "wants text, and YAML made a comment of it", f.quoteHint(key.Line, at), true
		}
	case n.Value != "":
		rest := string(runesFrom([]rune(f.line(n.Line)), n.Column-1+len(text)))
		if comment := strings.TrimLeft(rest, " "); strings.HasPrefix(comment, "#{") || strings.HasPrefix(comment, "#[") {
			return "YAML made a comment of what stands behind " + Quoted(n.Value),
				"quote the whole: " + Quoted(n.Value+strings.TrimRight(rest, " ")), true
		}
	}
	return "", "", false
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

// unclosed matches a quoted text that contains the next key of the line. In such a line, the quote before this key is
// missing.
var unclosed = regexp.MustCompile(`^(.*?), *[A-Za-z_][A-Za-z0-9_-]*: *$`)

// beginsKey matches a line that begins with a key. A quoted text of the line above does not continue in such a line.
var beginsKey = regexp.MustCompile(`^ *(- +)?[A-Za-z_][A-Za-z0-9_-]*:( |$)`)

// withoutClosing removes closing braces and brackets at the end of a text if the text does not open them. They belong
// to the collection around the text.
func withoutClosing(text string) string {
	for _, pair := range []string{"{}", "[]"} {
		for strings.HasSuffix(text, pair[1:]) && strings.Count(text, pair[1:]) > strings.Count(text, pair[:1]) {
			text = strings.TrimSuffix(text, pair[1:])
		}
	}
	return text
}

// startsText reports whether the comment s was probably meant as text. In a comment that is meant as one, people write
// a space after the #.
func startsText(s string) bool {
	return len(s) > 1 && s[0] == '#' && s[1] != ' ' && s[1] != '#'
}

func runesFrom(rs []rune, from int) []rune {
	return rs[min(max(from, 0), len(rs)):]
}

// findUnquoted searches a line that is not YAML for a mistake in the line itself. Typical mistakes are texts without
// quotes (a template, a path or ${NAME}), missing closing quotes, and tabs. It returns the 1-based column of the
// mistake, and a hint. The hint is "" if it finds none.
func (f *File) findUnquoted(line int) (column int, hint string) {
	rs := []rune(f.line(line))
	indent := f.indent(line)
	if indent < len(rs) && rs[indent] == '\t' {
		return indent + 1, "YAML indents with spaces, never with a tab"
	}
	flowDepth := 0
	for i := indent; i < len(rs); {
		switch r := rs[i]; {
		case r == '\'' || r == '"':
			end := pastQuote(rs, i)
			if hint := f.misquotedHint(line, rs, i, end); hint != "" {
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
			return i + 1, curlyHint(rs, i)
		default:
			end, needsQuotes := pastPlain(rs, i, flowDepth > 0)
			switch {
			case needsQuotes && flowDepth > 0 && rs[i-1] == '{':
				return i, f.quoteHint(line, i) // {@key}: the brace belongs to the text
			case needsQuotes:
				return i + 1, "quote templates, paths and ${...}: " + Quoted(strings.TrimSpace(string(rs[i:end])))
			}
			i = end
		}
	}
	return indent + 1, ""
}

// misquotedHint returns the hint for the quoted scalar of the line from start to end, or "" if its quotes are right.
func (f *File) misquotedHint(line int, rs []rune, start, end int) string {
	isOpen := end-start < 2 || rs[end-1] != rs[start]
	if isOpen && line < len(f.lines) && beginsKey.MatchString(f.line(line+1)) {
		return "the closing quote is missing: write " + Quoted(withoutClosing(strings.TrimSpace(string(rs[start+1:]))))
	}
	rest := []rune(strings.TrimLeft(string(runesFrom(rs, end)), " "))
	if len(rest) == 0 || strings.ContainsRune(",]}:#", rest[0]) {
		return ""
	}
	if m := unclosed.FindStringSubmatch(string(rs[start+1 : end-1])); m != nil {
		return "the closing quote is missing: write " + Quoted(withoutClosing(m[1]))
	}
	return "quote the whole: " + Quoted(f.likelyText(line, start+1)) // "x" in item.Tags
}

// pastPlain returns the index after the plain scalar that begins at i. It reports whether the writer had to quote it.
func pastPlain(rs []rune, i int, inFlow bool) (end int, needsQuotes bool) {
	needsQuotes = strings.ContainsRune("*@`%!&|>", rs[i])
	for depth := 0; i < len(rs); i++ {
		r := rs[i]
		switch {
		case r == '{' || r == '[':
			depth++
			needsQuotes = true
		case (r == '}' || r == ']') && depth > 0:
			depth--
			continue
		case r == '*':
			needsQuotes = true
		}
		if depth == 0 && (inFlow && strings.ContainsRune(",]}", r) || endsKey(rs, i)) {
			break
		}
	}
	return i, needsQuotes
}

// endsKey reports whether the character at i is the colon behind a key.
func endsKey(rs []rune, i int) bool { return rs[i] == ':' && (i+1 == len(rs) || rs[i+1] == ' ') }

// pastQuote returns the index after the quoted scalar that begins at i.
func pastQuote(rs []rune, i int) int {
	mark := rs[i]
	for i++; i < len(rs); i++ {
		switch {
		case mark == '"' && rs[i] == '\\':
			i++
		case rs[i] == mark:
			return i + 1
		}
	}
	return len(rs)
}
