package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
)

// PrintCounts prints a table of counts, with one line for each entry of rows, sorted by name. counts returns the counts
// of a row, in the order of titles. The table always has the first alwaysShown columns. It has another column only
// if a row's count in it is not zero.
func PrintCounts[T any](w io.Writer, rows map[string]T, alwaysShown int, titles []string, counts func(T) []int64) {
	all := slices.Collect(maps.Values(rows))
	var shown []int // indexes of the columns
	for i := range titles {
		isNotZero := func(row T) bool { return counts(row)[i] != 0 }
		if i < alwaysShown || slices.ContainsFunc(all, isNotZero) {
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
