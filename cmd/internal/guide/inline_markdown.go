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

// absoluteLinks returns a line of a document. In the result, the paths of links start from the root of the repository.
// folder is the folder of the document.
func absoluteLinks(line, folder string) string {
	return destination.ReplaceAllStringFunc(line, func(s string) string {
		target := destination.FindStringSubmatch(s)[1]
		isPath := !strings.HasPrefix(target, "#") && !strings.Contains(target, "://")
		if !isPath {
			return s
		}
		return "](" + path.Join(folder, target) + ")"
	})
}

// plainText returns a line of Markdown as plain text. Code keeps its backquotes.
func plainText(line string) string {
	line = picture.ReplaceAllString(line, "(picture: $1)")
	line = link.ReplaceAllStringFunc(line, func(s string) string {
		match := link.FindStringSubmatch(s)
		text, target := match[1], match[2]
		return text + targetText(target)
	})
	parts := strings.Split(line, "`")
	for i := 0; i < len(parts); i += 2 { // the other parts are code
		parts[i] = strings.ReplaceAll(parts[i], "**", "")
	}
	return strings.Join(parts, "`")
}

// targetText returns the text that is printed after the text of a link: a command that shows the guide, or the path of
// the document. It returns "" for a link into the same page.
func targetText(target string) string {
	file, _, _ := strings.Cut(target, "#")
	if file == "" {
		return ""
	}
	for _, topic := range topics() {
		if file == documentPath(topic) {
			return " (`tablewake guide " + topic + "`)"
		}
	}
	return " (" + target + ")"
}
