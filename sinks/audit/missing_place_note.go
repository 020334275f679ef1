package audit

import (
	"cmp"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Note explains why an item has no place in the sink, or which of its places Compare does not search. It returns "" if
// Compare searches all places.
func (b *base) Note(c *record.Change) string {
	x := b.planner.pipeline.Explain(c)
	for i := range x.Filters {
		switch f := &x.Filters[i]; {
		case f.Err != nil:
			return "the item cannot be written: " + f.Err.Error()
		case f.Verdict.Drop:
			return "the filter " + f.Name + " drops the item's changes"
		}
	}
	if len(x.Routes) == 0 {
		return ""
	}
	note := noPlaceText(&x.Routes[0], c)
	if findsOldPlaces := len(b.planner.removalOps(c)) > 0; findsOldPlaces {
		return note
	}
	// The key of the row or document depends on the item, so only an image shows where the item was.
	if note == "" {
		return "other places, where it was before, are not searched: what is stale there is not found"
	}
	return note + "; where it may have been, no image tells"
}

// noPlaceText says for people why an item has no place in a sink; "" if it has one.
func noPlaceText(plan *pipeline.RouteTrace, c *record.Change) string {
	switch {
	case plan.Err != nil && c.Removed():
		return "the item is gone"
	case plan.Err != nil:
		return "the item cannot be written: " + plan.Err.Error()
	case !plan.Taken:
		return "a filter of the sink drops the item"
	case len(plan.Ops) == 0:
		return "the item has no place in it (" + cmp.Or(plan.Reason, "no_effect") + ")"
	}
	return ""
}
