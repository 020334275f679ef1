package guide

import (
	"strings"
	"unicode/utf8"
)

// renderTable returns a table in columns. If the columns would be wider than the text of the guide, it returns each row
// as an item of a list.
func renderTable(lines []string) string {
	head := rowCells(lines[0])
	var rows [][]string
	for _, line := range lines[2:] { // the second line has the dashes
		rows = append(rows, rowCells(line))
	}
	if text, fits := renderColumns(head, rows); fits {
		return text
	}
	items := make([]string, len(rows))
	for i, row := range rows {
		items[i] = renderRow(head, row)
	}
	return strings.Join(items, "\n")
}

// renderRow returns a row as an item of a list, with a line for each cell after the first.
func renderRow(head, row []string) string {
	text := wrapWords("* ", "  ", strings.Fields(row[0]))
	for j, cell := range row {
		if j == 0 || cell == "" {
			continue
		}
		label := ""
		if j < len(head) && head[j] != "" {
			label = head[j] + ": "
		}
		text += wrapWords("    ", "    ", strings.Fields(label+cell))
	}
	return text
}

// renderColumns returns a table with aligned columns. It returns false if the table does not fit into the width.
func renderColumns(head []string, rows [][]string) (text string, fits bool) {
	widths := make([]int, len(head))
	for _, row := range append([][]string{head}, rows...) {
		for j, cell := range row[:min(len(row), len(head))] {
			widths[j] = max(widths[j], utf8.RuneCountInString(cell))
		}
	}
	total := -2 // no spaces follow the last column
	for _, w := range widths {
		total += w + 2
	}
	if total > width {
		return "", false
	}
	text = alignedRow(head, widths) + strings.Repeat("-", total) + "\n"
	for _, row := range rows {
		text += alignedRow(row, widths)
	}
	return text, true
}

// alignedRow returns a line with the cells of a row in columns of the given widths.
func alignedRow(row []string, widths []int) string {
	line := ""
	for j, cell := range row {
		line += cell + strings.Repeat(" ", widths[j]-utf8.RuneCountInString(cell)+2)
	}
	return strings.TrimRight(line, " ") + "\n"
}

// rowCells returns the cells of a line of a table as plain text.
func rowCells(line string) []string {
	line = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "|"), "|")
	const escaped = "\x00" // stands for \|, which is a part of a cell
	cells := strings.Split(strings.ReplaceAll(line, `\|`, escaped), "|")
	for i, cell := range cells {
		cells[i] = plainText(strings.ReplaceAll(strings.TrimSpace(cell), escaped, "|"))
	}
	return cells
}
