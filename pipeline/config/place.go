package config

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// within is the place in the file of a place in a scalar's text, both 1-based.
// Where the file spells the text differently (an escape, the environment, folded
// lines), it is the scalar's beginning.
func (c *checker) within(n *yaml.Node, line, column int) (int, int) {
	switch {
	case n.Style&yaml.LiteralStyle != 0:
		return c.withinLiteral(n, line, column)
	case n.Style&yaml.FoldedStyle != 0 || line != 1 || column < 1:
		return n.Line, n.Column
	}
	columns, text := c.spelled(n)
	if text != n.Value || strings.Contains(n.Value, "${") || len(columns) == 0 {
		return n.Line, n.Column
	}
	if column > len(columns) {
		return n.Line, columns[len(columns)-1] + 1
	}
	return n.Line, columns[column-1]
}

// spelled reads a scalar of one line from the file: its text, and the 1-based
// column of each of its characters.
func (c *checker) spelled(n *yaml.Node) (columns []int, text string) {
	rs := tail([]rune(c.line(n.Line)), n.Column-1)
	var b strings.Builder
	take := func(i int) {
		columns = append(columns, n.Column+i)
		b.WriteRune(rs[i])
	}
	switch {
	case n.Style&yaml.SingleQuotedStyle != 0:
		for i := 1; i < len(rs); i++ {
			if rs[i] == '\'' {
				if i+1 == len(rs) || rs[i+1] != '\'' {
					break
				}
				i++
			}
			take(i)
		}
	case n.Style&yaml.DoubleQuotedStyle != 0:
		for i := 1; i < len(rs) && rs[i] != '"'; i++ {
			if rs[i] == '\\' && i+1 < len(rs) && strings.ContainsRune(`"\/`, rs[i+1]) {
				i++
			}
			take(i)
		}
	default:
		for i := range min(len(rs), len([]rune(n.Value))) {
			take(i)
		}
	}
	return columns, b.String()
}

// withinLiteral is within for a block scalar: its text begins in the next line,
// indented as that line is.
func (c *checker) withinLiteral(n *yaml.Node, line, column int) (int, int) {
	for l := n.Line + 1; l <= len(c.lines); l++ {
		if text := strings.TrimLeft(c.line(l), " "); text != "" {
			return n.Line + line, len(c.line(l)) - len(text) + column
		}
	}
	return n.Line, n.Column
}
