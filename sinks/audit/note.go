package audit

import (
	"cmp"

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
	var note string
	removalOps := b.planner.removalOps(c) // empty if only an image of the item shows where it was
	switch plan := &x.Routes[0]; {
	case plan.Err != nil && c.Removed():
		note = "the item is gone"
	case plan.Err != nil:
		note = "the item cannot be written: " + plan.Err.Error()
	case !plan.Taken:
		note = "a filter of the sink drops the item"
	case len(plan.Ops) == 0:
		note = "the item has no place in it (" + cmp.Or(plan.Reason, "no_effect") + ")"
	case len(removalOps) == 0: // the row's key depends on the item, and no guard has the old key
		return "other places, where it was before, are not searched: what is stale there is not found"
	default:
		return ""
	}
	if len(removalOps) == 0 {
		note += "; where it may have been, no image tells"
	}
	return note
}
