package view

import (
	"context"
	"fmt"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/state"
)

// maxActions is how many group rows and members one item may change. A transaction of DynamoDB has at most 100
// actions (API reference, TransactWriteItems), and one writes the contribution. The limit applies to every store,
// so that a local replay finds such items, too.
const maxActions = 99

// TooManyGroupsError reports that one item changes more group rows and members than one transaction can.
type TooManyGroupsError struct {
	Item    item.Key
	Actions int // rows and members that the change writes
}

// Error names the item and what to do.
func (e *TooManyGroupsError) Error() string {
	return "too_many_groups: item " + string(e.Item) + e.rest()
}

// Redacted returns the error without the item.
func (e *TooManyGroupsError) Redacted() string { return "too_many_groups: an item" + e.rest() }

// Describe returns the class.
func (e *TooManyGroupsError) Describe() (class, field string) { return "too_many_groups", "" }

func (e *TooManyGroupsError) rest() string {
	return fmt.Sprintf(" changes %d group rows and members at once, and one transaction takes %d: count fewer elements (split the item's list, narrow `when`), or group them less finely",
		e.Actions, maxActions)
}

// Write replaces the contributions of the items. The outcome of a change is:
//
//   - Written, if the store has the contribution of this version;
//   - Coalesced, if a later change of the batch replaced it at once;
//   - Superseded, if a newer contribution was stored;
//   - NoEffect, if the item counts for nothing and did before.
func (a *Aggregate) Write(ctx context.Context, ds []pipeline.Delivery) error {
	if a.store == nil {
		return pipeline.Fatal(errs.Errorf("aggregate %s has no store: it was made to plan only", redact.Safe(a.target.View)))
	}
	w := aggregateWrite{Aggregate: a, deliveries: ds, maxItems: len(ds), itemDeltas: deltaBuilder{deltas: a.newDeltas()}}
	a.retention.Refuse(ds, &w.failed)
	if err := w.groupByItem(); err != nil {
		return err
	}
	if err := runRounds(ctx, w.open, w.round, w.onLost); err != nil {
		return fmt.Errorf("aggregate %s: %w", a.target.View, err)
	}
	return w.failed.OrNil()
}

// aggregateWrite is one Write.
type aggregateWrite struct {
	*Aggregate
	deliveries []pipeline.Delivery
	items      []*itemChanges
	maxItems   int          // limit of items in one GroupWrite
	itemDeltas deltaBuilder // of the current item
	failed     pipeline.BatchError
}

// groupByItem sorts the deliveries by item. Deliveries that failed are left out.
func (w *aggregateWrite) groupByItem() error {
	index := make(map[item.Key]*itemChanges, len(w.deliveries))
	for i := range w.deliveries {
		d := &w.deliveries[i]
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
		c.deliveries = append(c.deliveries, i)
	}
	return nil
}

// open returns the items that are not settled.
func (w *aggregateWrite) open() []*itemChanges {
	var open []*itemChanges
	for _, c := range w.items {
		if len(c.deliveries) > 0 {
			open = append(open, c)
		}
	}
	return open
}

// onLost makes the writes smaller, so that fewer items are lost together, and fails items that lost too often.
func (w *aggregateWrite) onLost(lost []*itemChanges, lostRounds int) {
	w.maxItems = max(1, w.maxItems/2)
	if lostRounds <= maxLost {
		return
	}
	err := pipeline.Transient(errs.Errorf("aggregate %s: other workers changed what the items count for %d times meanwhile", redact.Safe(w.target.View), lostRounds))
	for _, c := range lost {
		c.fail(&w.failed, err)
	}
}

// round reads, advances and writes each open item once. It returns the items that were lost to other writers. Other
// items may still be open after it.
func (w *aggregateWrite) round(ctx context.Context, open []*itemChanges) (lost []*itemChanges, err error) {
	cs, err := w.store.Contributions(ctx, w.target.State(), keysOf(open, func(c *itemChanges) item.Key { return c.key }))
	if cs, err = complete(cs, err, len(open), "items"); err != nil {
		return nil, err
	}
	txs, err := w.planTransactions(open, cs)
	if err != nil || len(txs) == 0 {
		return nil, err
	}
	rs, err := w.store.Contribute(ctx, w.target, groupWrites(txs))
	lostTxs, err := handleResults(txs, rs, err, "writes", w.failTransaction, w.settleTransaction)
	for _, tx := range lostTxs {
		lost = append(lost, tx.items...)
	}
	return lost, err
}

// groupWrites returns the writes of the transactions, as the store takes them.
func groupWrites(txs []transaction) []state.GroupWrite {
	ws := make([]state.GroupWrite, len(txs))
	for i, tx := range txs {
		ws[i].Groups = tx.deltas.groupChanges()
		for _, c := range tx.items {
			ws[i].Items = append(ws[i].Items, c.write())
		}
	}
	return ws
}

// transaction is the items of one GroupWrite with the sum of their deltas.
type transaction struct {
	items  []*itemChanges
	deltas *deltas
}

// planTransactions advances each open item. It puts the items that have something to write into transactions, up to
// the limit of the store, and settles the others.
func (w *aggregateWrite) planTransactions(open []*itemChanges, cs []state.Contribution) ([]transaction, error) {
	limit := w.store.MaxActions()
	var txs []transaction
	shared := -1 // the part that takes more items
	for i, c := range open {
		c.advance(w.deliveries, cs[i])
		if !c.writes() {
			c.settle(w.deliveries, &w.failed)
			continue
		}
		if err := w.itemDeltas.build(c); err != nil {
			return nil, pipeline.Fatal(fmt.Errorf("%w: it was written under other settings or is damaged", err))
		}
		if actions := len(w.itemDeltas.rows) + w.itemDeltas.memberCount; actions > maxActions {
			w.failItems([]*itemChanges{c}, &TooManyGroupsError{Item: c.key, Actions: actions})
			continue
		}
		if c.alone || shared < 0 || !w.fits(&txs[shared], limit) {
			txs = append(txs, transaction{deltas: w.newDeltas()})
			if !c.alone {
				shared = len(txs) - 1
			}
		}
		tx := &txs[len(txs)-1]
		if !c.alone {
			tx = &txs[shared]
		}
		tx.deltas.merge(w.itemDeltas.deltas)
		tx.items = append(tx.items, c)
	}
	return txs, nil
}

// fits reports whether the item of itemDeltas fits into tx.
func (w *aggregateWrite) fits(tx *transaction, limit int) bool {
	if len(tx.items) >= w.maxItems {
		return false
	}
	if limit == 0 {
		return true
	}
	actions := len(tx.items) + 1 + len(tx.deltas.rows) + tx.deltas.memberCount + w.itemDeltas.memberCount
	for i := range w.itemDeltas.rows {
		if _, ok := tx.deltas.index[w.itemDeltas.rows[i].row]; !ok {
			actions++
		}
	}
	return actions <= limit
}

func (w *aggregateWrite) failTransaction(tx transaction, err error) { w.failItems(tx.items, err) }

// settleTransaction settles the items of a transaction that succeeded.
func (w *aggregateWrite) settleTransaction(tx transaction, _ Result) {
	for _, c := range tx.items {
		c.settle(w.deliveries, &w.failed)
	}
}

// showForeign sets the display key of a ForeignRowError.
func (w *aggregateWrite) showForeign(c *itemChanges, err error) error {
	planned := w.deliveries[c.deliveries[0]].Ops
	ops := make([]*GroupOp, len(planned))
	for i := range planned {
		ops[i] = planned[i].(*GroupOp)
	}
	return showForeign(err, w.mask, ops...)
}

// replanAsVoid replaces a change that the store refused permanently by the removal of the item's contribution. It
// returns false if the removal itself was refused.
func (w *aggregateWrite) replanAsVoid(c *itemChanges, cause error) bool {
	d := &w.deliveries[c.deliveries[0]]
	if groupOp(d).Share.Group == "" {
		return false
	}
	d.Ops = append(d.Ops[:0], w.voidOp(d.Change, cause))
	c.alone = true
	return true
}

// failItems fails items that were written together. A permanent error fails an item only if a single change was
// written: otherwise each change is tried once more, alone.
func (w *aggregateWrite) failItems(items []*itemChanges, err error) {
	permanent := state.IsPermanent(err)
	for _, c := range items {
		if permanent && (len(items) > 1 || len(c.results) > 1) {
			c.alone = true
			continue
		}
		if len(items) == 1 && len(c.results) == 1 {
			err = w.showForeign(c, err)
			if permanent && w.replanAsVoid(c, err) {
				continue
			}
		}
		c.fail(&w.failed, err)
	}
}
