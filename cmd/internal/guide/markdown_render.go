package guide

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// width is the width of the text. Code keeps its lines.
const width = 90

var (
	bullet = regexp.MustCompile(`^( *)(- |\d+\. )(.*)$`)
	indent = regexp.MustCompile(`^ +`)
)

// render returns a page of Markdown as plain text. folder is the folder of the page in the repository. render knows the
// Markdown of the guides: headings, paragraphs, lists, tables and blocks of code.
func render(markdown, folder string) string {
	var r renderer
	lines := strings.Split(strings.TrimRight(markdown, "\n"), "\n")
	for len(lines) > 0 {
		line, rest := lines[0], lines[1:]
		switch {
		case isFence(line):
			r.flush()
			rest = r.code(lines)
		case strings.HasPrefix(line, "|"):
			r.flush()
			rest = r.table(lines, folder)
		case strings.HasPrefix(line, "#"):
			r.flush()
			r.heading(absoluteLinks(line, folder))
		case line == "" || strings.HasPrefix(line, "<!--"):
			r.flush()
			r.endBlock()
		default:
			r.addText(absoluteLinks(line, folder))
		}
		lines = rest
	}
	r.flush()
	return strings.TrimLeft(r.out.String(), "\n")
}

// isFence reports whether a line begins or ends a block of code.
func isFence(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), "```") }

// renderer collects the lines of a paragraph or of a list item until the paragraph or the item ends.
type renderer struct {
	out                     strings.Builder
	firstPrefix, restPrefix string // beginning of the first line, and of the other lines
	lines                   []string
}

// addText adds a line to the paragraph, or begins a list item.
func (r *renderer) addText(line string) {
	text, item := line, bullet.FindStringSubmatch(line)
	switch {
	case item != nil:
		r.flush()
		r.firstPrefix, text = item[1]+item[2], item[3]
		r.restPrefix = strings.Repeat(" ", len(r.firstPrefix))
	case len(r.lines) == 0:
		r.firstPrefix = indent.FindString(line)
		r.restPrefix = r.firstPrefix
	}
	r.lines = append(r.lines, strings.TrimSpace(text))
}

// flush writes the paragraph or the list item.
func (r *renderer) flush() {
	if len(r.lines) == 0 {
		return
	}
	text := plainText(strings.Join(r.lines, " ")) // joined first, because a link can contain the end of a line
	r.out.WriteString(wrapWords(r.firstPrefix, r.restPrefix, strings.Fields(text)))
	r.lines = nil
}

// endBlock ends a block with one empty line.
func (r *renderer) endBlock() {
	if !strings.HasSuffix(r.out.String(), "\n\n") {
		r.out.WriteByte('\n')
	}
}

func (r *renderer) heading(line string) {
	text := plainText(strings.TrimLeft(line, "# "))
	r.endBlock()
	r.out.WriteString(text + "\n")
	switch {
	case strings.HasPrefix(line, "# "):
		r.out.WriteString(strings.Repeat("=", utf8.RuneCountInString(text)) + "\n")
	case !strings.HasPrefix(line, "###"):
		r.out.WriteString(strings.Repeat("-", utf8.RuneCountInString(text)) + "\n")
	}
}

// code writes the block of code at the beginning of lines, and returns the lines after it.
func (r *renderer) code(lines []string) (rest []string) {
	margin := indent.FindString(lines[0])
	r.endBlock()
	rest = lines[1:]
	for len(rest) > 0 && !isFence(rest[0]) {
		if line := strings.TrimPrefix(rest[0], margin); line != "" {
			r.out.WriteString(margin + "    " + line)
		}
		r.out.WriteByte('\n')
		rest = rest[1:]
	}
	r.endBlock()
	if len(rest) > 0 {
		rest = rest[1:] // the line that ends the block
	}
	return rest
}

// table writes the table at the beginning of lines, and returns the lines after it.
func (r *renderer) table(lines []string, folder string) (rest []string) {
	var table []string
	for len(lines) > 0 && strings.HasPrefix(lines[0], "|") {
		table = append(table, absoluteLinks(lines[0], folder))
		lines = lines[1:]
	}
	r.out.WriteString(renderTable(table))
	return lines
}

// wrapWords returns words in lines of at most width characters. The first line begins with firstPrefix, and each other
// line with restPrefix.
func wrapWords(firstPrefix, restPrefix string, words []string) string {
	var text strings.Builder
	text.WriteString(firstPrefix)
	length, hasWord := utf8.RuneCountInString(firstPrefix), false // of the current line
	for _, word := range words {
		wordLength := utf8.RuneCountInString(word)
		if hasWord && length+1+wordLength > width {
			text.WriteString("\n" + restPrefix)
			length, hasWord = utf8.RuneCountInString(restPrefix), false
		}
		if hasWord {
			text.WriteByte(' ')
			length++
		}
		text.WriteString(word)
		length += wordLength
		hasWord = true
	}
	text.WriteByte('\n')
	return text.String()
}
