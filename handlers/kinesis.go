package handlers

import (
	"cmp"
	"slices"

	"github.com/tablewake/tablewake/pipeline"
)

// putInOrder leaves out of a page what shows a change of it again, and puts the others into
// the order of their creation; at the same microsecond they stay in the order of the batch. Of
// a change that is there twice the first stays, so that bringing it again brings both.
func putInOrder(page *pipeline.Page) {
	seen := make(map[string]struct{}, len(page.Changes))
	kept := page.Changes[:0]
	for i := range page.Changes {
		c := &page.Changes[i]
		if _, again := seen[c.EventID]; again && c.EventID != "" {
			page.Duplicates++
			continue
		}
		seen[c.EventID] = struct{}{}
		kept = append(kept, *c)
	}
	clear(page.Changes[len(kept):])
	page.Changes = kept
	byCreation := func(a, b pipeline.Change) int { return cmp.Compare(a.Version.Epoch(), b.Version.Epoch()) }
	if !slices.IsSortedFunc(page.Changes, byCreation) {
		slices.SortStableFunc(page.Changes, byCreation)
	}
}
