package page

import (
	"fmt"
	"html/template"
	"strings"
)

var templates = template.Must(template.New("").Funcs(template.FuncMap{"prose": prose,
	"depth": depthClass}).ParseFS(assets, "assets/page.html"))

// prose returns a text as HTML. Parts in backquotes become code.
func prose(text string) template.HTML {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "`")
		code, after, closed := strings.Cut(rest, "`")
		if !found || !closed {
			b.WriteString(template.HTMLEscapeString(text))
			return template.HTML(b.String()) // safe: every part is escaped
		}
		b.WriteString(template.HTMLEscapeString(before))
		b.WriteString("<code>" + template.HTMLEscapeString(code) + "</code>")
		text = after
	}
}

// depthClass returns the CSS class that indents a shard by depth; "" for depth 0.
func depthClass(depth int) tone {
	if depth == 0 {
		return ""
	}
	return tone(fmt.Sprint("d", min(depth, maxDepth)))
}
