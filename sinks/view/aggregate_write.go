package view

import (
	"context"
	"fmt"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
)

// maxActions is how many rows of groups, and members of them, one item may change:
// a transaction of DynamoDB has at most 100 actions (API reference, TransactWriteItems), and
// one is the item's. It holds for every store, so that a local replay tells.
const maxActions = 99

// TooManyGroupsError is a change of one item that changes more rows of groups, and
// members of them, than one transaction can.
type TooManyGroupsError struct {
	Item    pipeline.Key
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
		return pipeline.Fatal(errs.Errorf("aggregate %s has no store: it was made to plan only", pipeline.Safe(a.target.View)))
	}
	w := writing{Aggregate: a, ds: ds, most: len(ds), scratch: poster{tally: a.tally()}}
	a.retention.Refuse(ds, &w.failed)
	if err := w.gather(); err != nil {
		return err
	}
	round := func(open []*lane) ([]*lane, error) { return w.round(ctx, open) }
	if err := rounds(w.open, round, w.raced); err != nil {
		return fmt.Errorf("aggregate %s: %w", a.target.View, err)
	}
	return w.failed.OrNil()
}

// writing is one Write.
type writing struct {
	*Aggregate
	ds      []pipeline.Delivery
	lanes   []*lane
	most    int    // items in one GroupWrite
	scratch poster // of the lane at hand
	failed  pipeline.BatchError
}

// gather sorts the deliveries by item.
func (w *writing) gather() error {
	index := make(map[pipeline.Key]*lane, len(w.ds))
	for i := range w.ds {
		d := &w.ds[i]
		if w.failed.Failed[i] != nil {
			continue
		}
		if len(d.Ops) == 0 {
			return pipeline.Fatal(errs.Errorf("aggregate %s: a delivery was not planned by it", pipeline.Safe(w.target.View)))
		}
		l := index[d.Change.Key]
		if l == nil {
			l = &lane{key: d.Change.Key}
			index[l.key] = l
			w.lanes = append(w.lanes, l)
		}
		l.ds = append(l.ds, i)
	}
	return nil
}

// open are the lanes that are not settled.
func (w *writing) open() []*lane {
	var open []*lane
	for _, l := range w.lanes {
		if len(l.ds) > 0 {
			open = append(open, l)
		}
	}
	return open
}

// raced makes smaller writes, which have fewer items to lose by, and fails lanes that lost too often.
func (w *writing) raced(lost []*lane, times int) {
	w.most = max(1, w.most/2)
	if times <= maxLost {
		return
	}
	err := pipeline.Transient(errs.Errorf("aggregate %s: other workers changed what the items count for %d times meanwhile", pipeline.Safe(w.target.View), times))
	for _, l := range lost {
		l.fail(&w.failed, err)
	}
}

// round reads, steps and writes once, and returns the lanes that other workers got
// ahead of. Lanes may be open behind it.
func (w *writing) round(ctx context.Context, open []*lane) (lost []*lane, err error) {
	keys := make([]pipeline.Key, len(open))
	for i, l := range open {
		keys[i] = l.key
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
		lost = append(lost, p.lanes...)
	}
	return lost, err
}

// groupWrites is what parts write.
func groupWrites(parts []part) []state.GroupWrite {
	ws := make([]state.GroupWrite, len(parts))
	for i, p := range parts {
		ws[i].Groups = p.tally.changes()
		for _, l := range p.lanes {
			ws[i].Items = append(ws[i].Items, l.write())
		}
	}
	return ws
}

// part is the lanes of one GroupWrite with what they change together.
type part struct {
	lanes []*lane
	tally *tally
}

// parts steps each lane and puts those that have something to write together, as
// many as a write takes. The others are settled.
func (w *writing) parts(open []*lane, cs []state.Contribution) ([]part, error) {
	limit := w.store.MaxActions()
	var parts []part
	shared := -1 // the part that takes more lanes
	for i, l := range open {
		l.advance(w.ds, cs[i])
		if !l.writes() {
			l.settle(w.ds, &w.failed)
			continue
		}
		if err := w.scratch.post(l); err != nil {
			return nil, pipeline.Fatal(fmt.Errorf("%w: it was written under other settings or is damaged", err))
		}
		if actions := len(w.scratch.rows) + w.scratch.tally.members; actions > maxActions {
			w.refuse([]*lane{l}, &TooManyGroupsError{Item: l.key, Actions: actions})
			continue
		}
		if l.alone || shared < 0 || !w.fits(&parts[shared], limit) {
			parts = append(parts, part{tally: w.tally()})
			if !l.alone {
				shared = len(parts) - 1
			}
		}
		into := &parts[len(parts)-1]
		if !l.alone {
			into = &parts[shared]
		}
		into.tally.merge(w.scratch.tally)
		into.lanes = append(into.lanes, l)
	}
	return parts, nil
}

// fits tells whether the lane in scratch fits into p.
func (w *writing) fits(p *part, limit int) bool {
	if len(p.lanes) >= w.most {
		return false
	}
	if limit == 0 {
		return true
	}
	actions := len(p.lanes) + 1 + len(p.tally.rows) + p.tally.members + w.scratch.tally.members
	for i := range w.scratch.rows {
		if _, ok := p.tally.index[w.scratch.rows[i].row]; !ok {
			actions++
		}
	}
	return actions <= limit
}

func (w *writing) refusePart(p part, err error) { w.refuse(p.lanes, err) }

// settlePart ends the turn of lanes that were written together.
func (w *writing) settlePart(p part, _ Result) {
	for _, l := range p.lanes {
		l.settle(w.ds, &w.failed)
	}
}

// showForeign gives an error that is of another sink's row the row's key.
func (w *writing) showForeign(l *lane, err error) error {
	planned := w.ds[l.ds[0]].Ops
	ops := make([]*GroupOp, len(planned))
	for i := range planned {
		ops[i] = planned[i].(*GroupOp)
	}
	return showForeign(err, w.mask, ops...)
}

// vacate plans anew a change that the store refused for good: what the item counted for is
// taken out. False where that is what was refused.
func (w *writing) vacate(l *lane, flaw error) bool {
	d := &w.ds[l.ds[0]]
	if groupOp(d).Share.Group == "" {
		return false
	}
	d.Ops = append(d.Ops[:0], w.voidOp(d.Change, flaw))
	l.alone = true
	return true
}

// refuse fails the turn of lanes. A permanent error is believed of a single
// change only: what was written with others comes once more by itself.
func (w *writing) refuse(lanes []*lane, err error) {
	permanent := state.IsPermanent(err)
	for _, l := range lanes {
		if permanent && (len(lanes) > 1 || len(l.turn) > 1) {
			l.alone = true
			continue
		}
		if len(lanes) == 1 && len(l.turn) == 1 {
			err = w.showForeign(l, err)
			if permanent && w.vacate(l, err) {
				continue
			}
		}
		l.fail(&w.failed, err)
	}
}
