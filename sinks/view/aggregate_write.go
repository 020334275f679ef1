package view

import (
	"context"
	"fmt"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/state"
)

// maxActions is how many rows of groups, and members of them, one item may change:
// a transaction of DynamoDB has at most 100 actions (API reference, TransactWriteItems), and
// one is the item's. It holds for every store, so that a local replay tells.
const maxActions = 99

// TooManyGroupsError is a change of one item that changes more rows of groups, and
// members of them, than one transaction can.
type TooManyGroupsError struct {
	Item    item.Key
	Actions int // rows and members that the change touches
}

// Error names the item and what to do.
func (e *TooManyGroupsError) Error() string {
	return "too_many_groups: item " + string(e.Item) + e.rest()
}

// Redacted is Error without the item.
func (e *TooManyGroupsError) Redacted() string { return "too_many_groups: an item" + e.rest() }

// Describe is its class.
func (e *TooManyGroupsError) Describe() (class, field string) { return "too_many_groups", "" }

func (e *TooManyGroupsError) rest() string {
	return fmt.Sprintf(" changes %d group rows and members at once, and one transaction takes %d: count fewer elements (split the item's list, narrow `when`), or group them less finely",
		e.Actions, maxActions)
}

// Write replaces what the items counted for by what they count for now. A change
// is Written when the store's contribution is of it, Coalesced when later changes of the batch
// replaced it at once, Superseded when a newer one was there, and NoEffect when
// the item counts for nothing and did before.
func (a *Aggregate) Write(ctx context.Context, ds []pipeline.Delivery) error {
	if a.store == nil {
		return pipeline.Fatal(errs.Errorf("aggregate %s has no store: it was made to plan only", redact.Safe(a.target.View)))
	}
	w := writing{Aggregate: a, ds: ds, most: len(ds), scratch: poster{tally: a.tally()}}
	a.retention.Refuse(ds, &w.failed)
	if err := w.gather(); err != nil {
		return err
	}
	round := func(open []*itemChanges) ([]*itemChanges, error) { return w.round(ctx, open) }
	if err := rounds(w.open, round, w.raced); err != nil {
		return fmt.Errorf("aggregate %s: %w", a.target.View, err)
	}
	return w.failed.OrNil()
}

// writing is one Write.
type writing struct {
	*Aggregate
	ds      []pipeline.Delivery
	items   []*itemChanges
	most    int    // items in one GroupWrite
	scratch poster // of the current item
	failed  pipeline.BatchError
}

// gather sorts the deliveries by item.
func (w *writing) gather() error {
	index := make(map[item.Key]*itemChanges, len(w.ds))
	for i := range w.ds {
		d := &w.ds[i]
		if w.failed.Failed[i] != nil {
			continue
		}
		if len(d.Ops) == 0 {
			return pipeline.Fatal(errs.Errorf("aggregate %s: a delivery was not planned by it", redact.Safe(w.target.View)))
		}
		c := index[d.Change.Key]
		if c == nil {
			c = &itemChanges{key: d.Change.Key}
			index[c.key] = c
			w.items = append(w.items, c)
		}
		c.ds = append(c.ds, i)
	}
	return nil
}

// open are the items that are not settled.
func (w *writing) open() []*itemChanges {
	var open []*itemChanges
	for _, c := range w.items {
		if len(c.ds) > 0 {
			open = append(open, c)
		}
	}
	return open
}

// raced makes the writes smaller, so that fewer items can lose together, and fails items that lost too often.
func (w *writing) raced(lost []*itemChanges, times int) {
	w.most = max(1, w.most/2)
	if times <= maxLost {
		return
	}
	err := pipeline.Transient(errs.Errorf("aggregate %s: other workers changed what the items count for %d times meanwhile", redact.Safe(w.target.View), times))
	for _, c := range lost {
		c.fail(&w.failed, err)
	}
}

// round reads, advances and writes each item once. It returns the items that other workers changed meanwhile. Other
// items may still be open after it.
func (w *writing) round(ctx context.Context, open []*itemChanges) (lost []*itemChanges, err error) {
	keys := make([]item.Key, len(open))
	for i, c := range open {
		keys[i] = c.key
	}
	cs, err := w.store.Contributions(ctx, w.target, keys)
	if err == nil {
		err = complete(len(cs), len(keys), "items")
	}
	if err != nil {
		return nil, err
	}
	parts, err := w.parts(open, cs)
	if err != nil || len(parts) == 0 {
		return nil, err
	}
	rs, err := w.store.Contribute(ctx, w.target, groupWrites(parts))
	if err != nil {
		return nil, err
	}
	again, err := judge(parts, rs, "writes", w.refusePart, w.settlePart)
	for _, p := range again {
		lost = append(lost, p.items...)
	}
	return lost, err
}

// groupWrites is what parts write.
func groupWrites(parts []part) []state.GroupWrite {
	ws := make([]state.GroupWrite, len(parts))
	for i, p := range parts {
		ws[i].Groups = p.tally.changes()
		for _, c := range p.items {
			ws[i].Items = append(ws[i].Items, c.write())
		}
	}
	return ws
}

// part is the items of one GroupWrite with the sum of their changes.
type part struct {
	items []*itemChanges
	tally *tally
}

// parts advances each item, and groups those that have something to write, up to the limit of a write. It settles the
// others.
func (w *writing) parts(open []*itemChanges, cs []state.Contribution) ([]part, error) {
	limit := w.store.MaxActions()
	var parts []part
	shared := -1 // the part that takes more items
	for i, c := range open {
		c.advance(w.ds, cs[i])
		if !c.writes() {
			c.settle(w.ds, &w.failed)
			continue
		}
		if err := w.scratch.post(c); err != nil {
			return nil, pipeline.Fatal(fmt.Errorf("%w: it was written under other settings or is damaged", err))
		}
		if actions := len(w.scratch.rows) + w.scratch.tally.members; actions > maxActions {
			w.refuse([]*itemChanges{c}, &TooManyGroupsError{Item: c.key, Actions: actions})
			continue
		}
		if c.alone || shared < 0 || !w.fits(&parts[shared], limit) {
			parts = append(parts, part{tally: w.tally()})
			if !c.alone {
				shared = len(parts) - 1
			}
		}
		into := &parts[len(parts)-1]
		if !c.alone {
			into = &parts[shared]
		}
		into.tally.merge(w.scratch.tally)
		into.items = append(into.items, c)
	}
	return parts, nil
}

// fits reports whether the item in scratch fits into p.
func (w *writing) fits(p *part, limit int) bool {
	if len(p.items) >= w.most {
		return false
	}
	if limit == 0 {
		return true
	}
	actions := len(p.items) + 1 + len(p.tally.rows) + p.tally.members + w.scratch.tally.members
	for i := range w.scratch.rows {
		if _, ok := p.tally.index[w.scratch.rows[i].row]; !ok {
			actions++
		}
	}
	return actions <= limit
}

func (w *writing) refusePart(p part, err error) { w.refuse(p.items, err) }

// settlePart settles items that were written together.
func (w *writing) settlePart(p part, _ Result) {
	for _, c := range p.items {
		c.settle(w.ds, &w.failed)
	}
}

// showForeign gives an error that is of another sink's row the row's key.
func (w *writing) showForeign(c *itemChanges, err error) error {
	planned := w.ds[c.ds[0]].Ops
	ops := make([]*GroupOp, len(planned))
	for i := range planned {
		ops[i] = planned[i].(*GroupOp)
	}
	return showForeign(err, w.mask, ops...)
}

// vacate plans a change again that the store refused permanently: the item's contribution is removed. It returns false
// if that removal is what was refused.
func (w *writing) vacate(c *itemChanges, flaw error) bool {
	d := &w.ds[c.ds[0]]
	if groupOp(d).Share.Group == "" {
		return false
	}
	d.Ops = append(d.Ops[:0], w.voidOp(d.Change, flaw))
	c.alone = true
	return true
}

// refuse fails items. A permanent error counts only for a single change: changes that were written with others are
// tried once more, each alone.
func (w *writing) refuse(items []*itemChanges, err error) {
	permanent := state.IsPermanent(err)
	for _, c := range items {
		if permanent && (len(items) > 1 || len(c.verdicts) > 1) {
			c.alone = true
			continue
		}
		if len(items) == 1 && len(c.verdicts) == 1 {
			err = w.showForeign(c, err)
			if permanent && w.vacate(c, err) {
				continue
			}
		}
		c.fail(&w.failed, err)
	}
}
