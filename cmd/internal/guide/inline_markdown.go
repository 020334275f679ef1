package guide

import (
	"path"
	"regexp"
	"strings"
)

var (
	picture = regexp.MustCompile(`!\[([^\]]*)\]\([^)\s]+\)`)
	link    = regexp.MustCompile(`\[([^\]]+)\]\(([^)\s]+)\)`)

	destination = regexp.MustCompile(`\]\(([^)\s]+)\)`)
)

// absolute returns a line of a document. In the result, the paths of links start from the root of the repository.
// folder is the folder of the document.
func absolute(line, folder string) string {
	return destination.ReplaceAllStringFunc(line, func(s string) string {
		to := destination.FindStringSubmatch(s)[1]
		if strings.HasPrefix(to, "#") || strings.Contains(to, "://") {
			return s
		}
		return "](" + path.Join(folder, to) + ")"
	})
}

// plainText returns a line of Markdown as plain text. Code keeps its backquotes.
func plainText(line string) string {
	line = picture.ReplaceAllString(line, "(picture: $1)")
	line = link.ReplaceAllStringFunc(line, func(s string) string {
		m := link.FindStringSubmatch(s)
		return m[1] + linkText(m[2])
	})
	parts := strings.Split(line, "`")
	for i := 0; i < len(parts); i += 2 { // the other parts are code
		parts[i] = strings.ReplaceAll(parts[i], "**", "")
	}
	return strings.Join(parts, "`")
}

// linkText returns the text that is printed after the text of a link: a command that shows the guide, or the path of
// the document. It returns "" for a link into the same page.
func linkText(to string) string {
	file, _, _ := strings.Cut(to, "#")
	if file == "" {
		return ""
	}
	for _, topic := range topics() {
		if file == documentPath(topic) {
			return " (`tablewake guide " + topic + "`)"
		}
	}
	return " (" + to + ")"
}
