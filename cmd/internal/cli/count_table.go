package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
)

// PrintCounts prints a table of counts. It has one line for each entry of rows, sorted by name. counts returns the
// counts of a row, in the order of titles. PrintCounts always prints the first columns, as many as fixed says. It
// leaves out each other column that is zero in all rows.
func PrintCounts[T any](w io.Writer, rows map[string]T, fixed int, titles []string, counts func(T) []int64) {
	isShown := make([]bool, len(titles))
	for i := range min(fixed, len(titles)) {
		isShown[i] = true
	}
	for _, row := range rows {
		for i, n := range counts(row) {
			isShown[i] = isShown[i] || n != 0
		}
	}

	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tw, "sink\t")
	for i, title := range titles {
		if isShown[i] {
			fmt.Fprint(tw, title+"\t")
		}
	}
	fmt.Fprintln(tw)
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		fmt.Fprint(tw, name+"\t")
		for i, n := range counts(rows[name]) {
			if isShown[i] {
				fmt.Fprint(tw, Thousands(n)+"\t")
			}
		}
		fmt.Fprintln(tw)
	}
	_ = tw.Flush()
}
