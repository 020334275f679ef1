package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
)

// PrintCounts prints a table of counts. It has one line for each entry of rows, sorted by name. counts returns the
// counts of a row, in the order of titles. PrintCounts leaves out a column that is zero in all rows, unless it is one
// of the first fixed columns.
func PrintCounts[T any](w io.Writer, rows map[string]T, fixed int, titles []string, counts func(T) []int64) {
	shown := make([]bool, len(titles))
	for _, row := range rows {
		for i, n := range counts(row) {
			shown[i] = shown[i] || n != 0
		}
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(first string, cell func(i int) string) {
		fmt.Fprint(tw, first+"\t")
		for i := range titles {
			if shown[i] || i < fixed {
				fmt.Fprint(tw, cell(i)+"\t")
			}
		}
		fmt.Fprintln(tw)
	}
	line("sink", func(i int) string { return titles[i] })
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		line(name, func(i int) string { return Thousands(counts(rows[name])[i]) })
	}
	_ = tw.Flush()
}
