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
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			r.flush()
			i = r.code(lines, i)
		case strings.HasPrefix(line, "|"):
			r.flush()
			end := i
			for ; end < len(lines) && strings.HasPrefix(lines[end], "|"); end++ {
				lines[end] = absolute(lines[end], folder)
			}
			r.out.WriteString(renderTable(lines[i:end]))
			i = end - 1
		case strings.HasPrefix(line, "#"):
			r.flush()
			r.heading(absolute(line, folder))
		case line == "" || strings.HasPrefix(line, "<!--"):
			r.flush()
			r.endBlock()
		default:
			r.addText(absolute(line, folder))
		}
	}
	r.flush()
	return strings.TrimLeft(r.out.String(), "\n")
}

// renderer collects the lines of a paragraph or of a list item until the paragraph or the item ends.
type renderer struct {
	out                     strings.Builder
	firstPrefix, restPrefix string // beginning of the first line, and of the other lines
	lines                   []string
}

// addText adds a line to the paragraph, or begins a list item.
func (r *renderer) addText(line string) {
	if m := bullet.FindStringSubmatch(line); m != nil {
		r.flush()
		r.firstPrefix = m[1] + m[2]
		r.restPrefix = strings.Repeat(" ", len(r.firstPrefix))
		line = m[3]
	} else if len(r.lines) == 0 {
		r.firstPrefix = indent.FindString(line)
		r.restPrefix = r.firstPrefix
	}
	r.lines = append(r.lines, strings.TrimSpace(line))
}

func (r *renderer) flush() {
	if len(r.lines) > 0 { // the lines are joined first, because a link can contain the end of a line
		r.out.WriteString(wrapWords(r.firstPrefix, r.restPrefix, strings.Fields(plainText(strings.Join(r.lines, " ")))))
	}
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
	if underline := map[bool]string{true: "=", false: "-"}[strings.HasPrefix(line, "# ")]; !strings.HasPrefix(line,
		"###") {
		r.out.WriteString(strings.Repeat(underline, utf8.RuneCountInString(text)) + "\n")
	}
}

// code writes the block of code that begins at lines[i], and returns the index of its last line.
func (r *renderer) code(lines []string, i int) int {
	margin := indent.FindString(lines[i])
	r.endBlock()
	for i++; i < len(lines) && !strings.HasPrefix(strings.TrimSpace(lines[i]), "```"); i++ {
		if line := strings.TrimPrefix(lines[i], margin); line != "" {
			r.out.WriteString(margin + "    " + line)
		}
		r.out.WriteByte('\n')
	}
	r.endBlock()
	return i
}

// wrapWords returns words in lines of the width. The first line begins with first, and each other line with rest.
func wrapWords(first, rest string, words []string) string {
	var b strings.Builder
	b.WriteString(first)
	used, begun := utf8.RuneCountInString(first), false
	for _, w := range words {
		n := utf8.RuneCountInString(w)
		if begun && used+1+n > width {
			b.WriteString("\n" + rest)
			used, begun = utf8.RuneCountInString(rest), false
		}
		if begun {
			b.WriteByte(' ')
			used++
		}
		b.WriteString(w)
		used, begun = used+n, true
	}
	b.WriteByte('\n')
	return b.String()
}
