package view

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/state"
)

// Contested is a row on which claims wait. A claim is the request of an item for a row. The keys are masked, because
// people see them.
type Contested struct {
	Row     string     // key of the row as explain shows it: PK="EMAIL#a@b" SK="USER"
	Owner   item.Key   // key of the item that owns the row; "" if no item does
	Waiting []item.Key // keys of the items whose claims wait, in order
}

// Contested yields the rows on which claims wait, from [ClaimLister.ContestedRows]. It yields nothing if rows guard
// themselves, or with [Options.ForEach], because such rows have no claims. It may read the whole state of all sinks, so
// call it at the end of a backfill. keys are the names of the items' key attributes. If the mask hides one of them, the
// items' keys are masked. The sequence ends with the first error.
func (s *Sink) Contested(ctx context.Context, keys []string) iter.Seq2[Contested, error] {
	hidden := slices.ContainsFunc(keys, s.mask.Hides)
	return func(yield func(Contested, error) bool) {
		rowsGuardThemselves := s.guardModeFixed && !s.guardMode.ByItem
		if rowsGuardThemselves || s.forEach != nil {
			return
		}
		lister, ok := s.store.(ClaimLister)
		if !ok {
			yield(Contested{}, pipeline.Fatal(errs.Errorf(
				"view %s: its store does not implement ClaimLister, so the waiting claims cannot be listed", redact.Safe(s.target.View))))
			return
		}

		for r, err := range lister.ContestedRows(ctx, s.target.State()) {
			if err != nil {
				yield(Contested{}, fmt.Errorf("view %s: list the waiting claims: %w", s.target.View, err))
				return
			}
			if !yield(s.maskContested(r, hidden), nil) {
				return
			}
		}
	}
}

// maskContested returns r with masked keys. hidden means that the mask hides the items' keys. Keys are masked as a
// whole, because it is unknown which parts of a stored key the mask hides.
func (s *Sink) maskContested(r state.ContestedRow, hidden bool) Contested {
	c := Contested{Row: s.target.rowKeyText(r.Row), Owner: r.Owner, Waiting: r.Waiting}
	if s.masksKey || hidden {
		c.Row = s.mask.Text(c.Row)
	}
	if !hidden {
		return c
	}

	if r.Owner != "" {
		c.Owner = s.maskKey(r.Owner)
	}
	c.Waiting = make([]item.Key, len(r.Waiting))
	for i, source := range r.Waiting {
		c.Waiting[i] = s.maskKey(source)
	}
	return c
}
