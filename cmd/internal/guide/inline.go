package guide

import (
	"path"
	"regexp"
	"slices"
	"strings"

	pages "github.com/tablewake/tablewake/cmd/tablewake/guide"
)

var (
	picture = regexp.MustCompile(`!\[([^\]]*)\]\([^)\s]+\)`)
	link    = regexp.MustCompile(`\[([^\]]+)\]\(([^)\s]+)\)`)
)

// folder is that of the guides in the repository, to which their links are relative.
const folder = "cmd/tablewake/guide"

// inline returns a line of Markdown as plain text. Code keeps its backquotes.
func inline(line string) string {
	line = picture.ReplaceAllString(line, "(picture: $1)")
	line = link.ReplaceAllStringFunc(line, func(s string) string {
		m := link.FindStringSubmatch(s)
		return m[1] + target(m[2])
	})
	parts := strings.Split(line, "`")
	for i := 0; i < len(parts); i += 2 { // the others are code
		parts[i] = strings.ReplaceAll(parts[i], "**", "")
	}
	return strings.Join(parts, "`")
}

// target returns what follows the text of a link: a command that shows the guide, or the place of the document.
func target(to string) string {
	file, _, _ := strings.Cut(to, "#")
	switch topic := strings.TrimSuffix(file, ".md"); {
	case file == "":
		return ""
	case strings.Contains(to, "://"):
		return " (" + to + ")"
	case slices.Contains(pages.Topics(), topic):
		return " (`tablewake guide " + topic + "`)"
	}
	return " (" + path.Join(folder, to) + ")"
}
