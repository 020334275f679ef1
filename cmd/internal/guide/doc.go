// Package guide is the command guide, which shows the guides as plain text.
//
// Read command.go first, then markdown_render.go (the blocks of a page), markdown_table.go and inline_markdown.go.
package guide
