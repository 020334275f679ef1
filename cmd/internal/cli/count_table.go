package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
)

// PrintCounts prints a table of counts, with one line for each entry of rows, sorted by name. counts returns the counts
// of a row, in the order of titles. The table always has the first columns, as many as fixed says, and of the others
// those that are not zero in all rows.
func PrintCounts[T any](w io.Writer, rows map[string]T, fixed int, titles []string, counts func(T) []int64) {
	all := slices.Collect(maps.Values(rows))
	var shown []int // indexes of the columns
	for i := range titles {
		isNotZero := func(row T) bool { return counts(row)[i] != 0 }
		if i < fixed || slices.ContainsFunc(all, isNotZero) {
			shown = append(shown, i)
		}
	}

	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tw, "sink\t")
	for _, i := range shown {
		fmt.Fprint(tw, titles[i]+"\t")
	}
	fmt.Fprintln(tw)
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		fmt.Fprint(tw, name+"\t")
		n := counts(rows[name])
		for _, i := range shown {
			fmt.Fprint(tw, Thousands(n[i])+"\t")
		}
		fmt.Fprintln(tw)
	}
	_ = tw.Flush()
}
