// Package nearest finds the known name that is most similar to an unknown name. Errors about unknown keys, functions
// and attributes suggest the known name ("did you mean").
package nearest

import "strings"

// Name returns the candidate that needs the fewest edits to become got. If several candidates need the same number of
// edits, it returns the first of them. An edit inserts, deletes or replaces a letter, or swaps two neighbouring
// letters. Name ignores case, and never returns got itself. It allows one edit for each three letters of got, but at
// least one. If every candidate needs more edits, Name returns "".
func Name(got string, candidates []string) string {
	best, least := "", max(1, len(got)/3)+1
	for _, c := range candidates {
		if c == got || abs(len(c)-len(got)) >= least {
			continue
		}
		if d := edits(strings.ToLower(got), strings.ToLower(c)); d < least {
			best, least = c, d
		}
	}
	return best
}

// edits returns the optimal string alignment distance of a and b, in bytes.
func edits(a, b string) int {
	twoRowsUp, rowAbove, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range rowAbove {
		rowAbove[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(rowAbove[j]+1, row[j-1]+1, rowAbove[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], twoRowsUp[j-2]+1)
			}
		}
		twoRowsUp, rowAbove, row = rowAbove, row, twoRowsUp
	}
	return rowAbove[len(b)]
}

func abs(n int) int {
	return max(n, -n)
}
