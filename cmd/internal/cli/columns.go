package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
)

// Column is a column of counts.
type Column[T any] struct {
	Title string
	Of    func(T) int64
}

// Columns prints a line of counts for each of the sinks, by name. Columns that are zero everywhere are left out, but
// for the first ones.
func Columns[T any](w io.Writer, rows map[string]T, always int, columns []Column[T]) {
	names := slices.Sorted(maps.Keys(rows))
	shown := slices.Clone(columns[:always])
	for _, c := range columns[always:] {
		if slices.ContainsFunc(names, func(n string) bool { return c.Of(rows[n]) != 0 }) {
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
			fmt.Fprint(tw, Thousands(c.Of(rows[n]))+"\t")
		}
		fmt.Fprintln(tw)
	}
	_ = tw.Flush()
}
