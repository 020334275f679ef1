package sinktest

import (
	"slices"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// drawBatches divides changes into batches of random lengths.
func drawBatches(t *rapid.T, changes []*record.Change) [][]*record.Change {
	var batches [][]*record.Change
	for len(changes) > 0 {
		n := rapid.IntRange(1, min(len(changes), 12)).Draw(t, "batch")
		batches = append(batches, changes[:n])
		changes = changes[n:]
	}
	return batches
}

// suffix draws where a replay begins, and returns the changes from that place on.
func suffix(t *rapid.T, changes []*record.Change) []*record.Change {
	return changes[rapid.IntRange(0, len(changes)-1).Draw(t, "from"):]
}

// shuffle draws another order of changes. The changes of one key stay in their order.
func shuffle(t *rapid.T, changes []*record.Change) []*record.Change {
	var order []item.Key
	lanes := make(map[item.Key][]*record.Change)
	for _, c := range changes {
		if _, seen := lanes[c.Key]; !seen {
			order = append(order, c.Key)
		}
		lanes[c.Key] = append(lanes[c.Key], c)
	}
	out := make([]*record.Change, 0, len(changes))
	for len(order) > 0 {
		i := rapid.IntRange(0, len(order)-1).Draw(t, "lane")
		k := order[i]
		out = append(out, lanes[k][0])
		if lanes[k] = lanes[k][1:]; len(lanes[k]) == 0 {
			order = slices.Delete(order, i, i+1)
		}
	}
	return out
}

// drawRedeliveries draws a sequence of deliveries that sometimes jumps back. The first deliveries of all changes are in
// order. After a jump back, changes are delivered again.
func drawRedeliveries(t *rapid.T, changes []*record.Change) []*record.Change {
	var out []*record.Change
	jumps := 3
	for at := 0; at < len(changes); {
		out = append(out, changes[at])
		at++
		if jumps > 0 && rapid.IntRange(0, 4).Draw(t, "jump") == 0 {
			jumps--
			at = rapid.IntRange(0, at-1).Draw(t, "back to")
		}
	}
	return out
}

// drawFaults draws one to four faults among the first calls of a store. calls is the greatest index of a call that can
// fail.
func drawFaults(t *rapid.T, calls int, kinds ...Kind) *Faults {
	f := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) Fault {
		return Fault{
			Call:  rapid.IntRange(0, calls).Draw(t, "call"),
			After: rapid.OneOf(rapid.Just(0), rapid.IntRange(0, 6)).Draw(t, "after"),
			Kind:  rapid.SampledFrom(kinds).Draw(t, "kind"),
		}
	}), 1, 4, func(f Fault) int { return f.Call }).Draw(t, "faults")
	return NewFaults(f...)
}
