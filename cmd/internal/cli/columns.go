package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
)

// Column is a column of counts in the table of [PrintCounts].
type Column[T any] struct {
	Title string
	Value func(T) int64
}

// PrintCounts prints a table of counts with a row for each sink, sorted by name. It leaves out columns that are zero
// in all rows, except the first fixed columns.
func PrintCounts[T any](w io.Writer, rows map[string]T, fixed int, columns []Column[T]) {
	names := slices.Sorted(maps.Keys(rows))
	shown := slices.Clone(columns[:fixed])
	for _, c := range columns[fixed:] {
		if slices.ContainsFunc(names, func(n string) bool { return c.Value(rows[n]) != 0 }) {
			shown = append(shown, c)
		}
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tw, "sink\t")
	for _, c := range shown {
		fmt.Fprint(tw, c.Title+"\t")
	}
	fmt.Fprintln(tw)
	for _, n := range names {
		fmt.Fprint(tw, n+"\t")
		for _, c := range shown {
			fmt.Fprint(tw, Thousands(c.Value(rows[n]))+"\t")
		}
		fmt.Fprintln(tw)
	}
	_ = tw.Flush()
}
