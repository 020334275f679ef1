package page

import (
	"html/template"
	"strings"
)

var templates = template.Must(template.New("").Funcs(template.FuncMap{"prose": prose,
	"depth": depthClass}).ParseFS(assets, "assets/page.html"))

// prose escapes a text, and marks the parts in backquotes as code.
func prose(text string) template.HTML {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "`")
		code, after, closed := strings.Cut(rest, "`")
		if !found || !closed {
			b.WriteString(template.HTMLEscapeString(text))
			return template.HTML(b.String()) // all of it is escaped
		}
		b.WriteString(template.HTMLEscapeString(before))
		b.WriteString("<code>" + template.HTMLEscapeString(code) + "</code>")
		text = after
	}
}

// depthClass returns the class that indents a shard below its parents.
func depthClass(depth int) tone {
	if depth == 0 {
		return ""
	}
	return "d" + tone(rune('0'+min(depth, maxDepth)))
}
