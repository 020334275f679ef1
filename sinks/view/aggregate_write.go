package view

import (
	"context"
	"fmt"
	"slices"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/state"
)

// maxActions is the maximum number of group rows and members that one item may change. A transaction of DynamoDB has at
// most 100 actions (API reference, TransactWriteItems), and one of them writes the contribution. The limit applies to
// every store, so that a local replay also finds such items.
const maxActions = 99

// TooManyGroupsError reports that one item changes more group rows and members than fit into one transaction.
type TooManyGroupsError struct {
	Item    item.Key
	Actions int // number of rows and members that the change writes
}

// Error names the item and what to do.
func (e *TooManyGroupsError) Error() string {
	return "too_many_groups: item " + string(e.Item) + e.restText()
}

// Redacted returns the error without the item.
func (e *TooManyGroupsError) Redacted() string { return "too_many_groups: an item" + e.restText() }

// Describe returns the class.
func (e *TooManyGroupsError) Describe() (class, field string) { return "too_many_groups", "" }

func (e *TooManyGroupsError) restText() string {
	return fmt.Sprintf(
		" changes %d group rows and members at once, and one transaction takes %d: count fewer elements (split the item's list, narrow `when`), or group them less finely",
		e.Actions, maxActions)
}

// Write replaces the contributions of the items. The outcome of a change is:
//
//   - Written, if the store has the contribution of this version;
//   - Coalesced, if a later change of the batch replaced its contribution before the write;
//   - Superseded, if a newer contribution was stored;
//   - NoEffect, if the item counts for nothing, and counted for nothing before.
func (a *Aggregate) Write(ctx context.Context, ds []pipeline.Delivery) error {
	if a.store == nil {
		return pipeline.Fatal(errs.Errorf("aggregate %s has no store: it was made to plan only", redact.Safe(a.target.View)))
	}
	w := aggregateWrite{Aggregate: a, deliveries: ds, maxItems: len(ds), itemDeltas: deltaBuilder{deltas: a.newDeltas()}}
	a.retention.Refuse(ds, &w.failed)
	if err := w.groupByItem(); err != nil {
		return err
	}
	if err := runRounds(ctx, w.openItems, w.writeRound, w.onLost); err != nil {
		return fmt.Errorf("aggregate %s: %w", a.target.View, err)
	}
	return w.failed.OrNil()
}

// aggregateWrite is one call of Write.
type aggregateWrite struct {
	*Aggregate
	deliveries []pipeline.Delivery
	items      []*itemChanges
	maxItems   int          // maximum number of items in one GroupWrite
	itemDeltas deltaBuilder // deltas of the current item
	failed     pipeline.BatchError
}

// groupByItem groups the deliveries by item. It leaves out deliveries that failed.
func (w *aggregateWrite) groupByItem() error {
	byKey := make(map[item.Key]*itemChanges, len(w.deliveries))
	for i := range w.deliveries {
		d := &w.deliveries[i]
		if w.failed.Failed[i] != nil {
			continue
		}
		if len(d.Ops) == 0 {
			return pipeline.Fatal(errs.Errorf("aggregate %s: a delivery was not planned by it", redact.Safe(w.target.View)))
		}
		c := byKey[d.Change.Key]
		if c == nil {
			c = &itemChanges{key: d.Change.Key}
			byKey[c.key] = c
			w.items = append(w.items, c)
		}
		c.deliveries = append(c.deliveries, i)
	}
	return nil
}

// openItems returns the items with deliveries that have no outcome yet.
func (w *aggregateWrite) openItems() []*itemChanges {
	return slices.DeleteFunc(slices.Clone(w.items), func(c *itemChanges) bool { return len(c.deliveries) == 0 })
}

// onLost halves the number of items in a write, so that fewer items are lost together. After too many lost rounds it
// fails the lost items.
func (w *aggregateWrite) onLost(lost []*itemChanges, lostRounds int) {
	w.maxItems = max(1, w.maxItems/2)
	if lostRounds <= maxLostRounds {
		return
	}
	err := pipeline.Transient(
		errs.Errorf("aggregate %s: other workers changed what the items count for %d times meanwhile",
			redact.Safe(w.target.View), lostRounds))
	for _, c := range lost {
		c.fail(&w.failed, err)
	}
}

// writeRound reads, advances and writes each open item once. It returns the items that were lost to other writers.
// After the round, items that were not lost may still be open, because some of their deliveries have no outcome yet.
func (w *aggregateWrite) writeRound(ctx context.Context, open []*itemChanges) (lost []*itemChanges, err error) {
	items := keysOf(open, func(c *itemChanges) item.Key { return c.key })
	stored, err := w.store.Contributions(ctx, w.target.State(), items)
	if err = checkCount(err, len(stored), len(open), "items"); err != nil {
		return nil, err
	}
	txs, err := w.planTransactions(open, stored)
	if err != nil || len(txs) == 0 {
		return nil, err
	}

	rs, err := w.store.Contribute(ctx, w.target, groupWrites(txs))
	lostTxs, err := handleResults(txs, rs, err, w.failTransaction, w.settleTransaction)
	for _, tx := range lostTxs {
		lost = append(lost, tx.items...)
	}
	return lost, err
}

// groupWrites returns the transactions as arguments for the store.
func groupWrites(txs []*transaction) []state.GroupWrite {
	ws := make([]state.GroupWrite, len(txs))
	for i, tx := range txs {
		ws[i].Groups = tx.deltas.groupChanges()
		for _, c := range tx.items {
			ws[i].Items = append(ws[i].Items, c.contributionWrite())
		}
	}
	return ws
}

// transaction is the items of one GroupWrite, with the sum of their deltas.
type transaction struct {
	items  []*itemChanges
	deltas *deltas
}

func (tx *transaction) add(c *itemChanges, itemDeltas *deltas) {
	tx.items = append(tx.items, c)
	tx.deltas.merge(itemDeltas)
}

// planTransactions advances each open item. If the item needs a write, planTransactions adds it to a transaction, up to
// the limit of the store. Otherwise it sets the outcomes of the item's deliveries. stored has the contributions of the
// open items, in the same order.
func (w *aggregateWrite) planTransactions(
	open []*itemChanges, stored []state.Contribution,
) (txs []*transaction, _ error) {
	limit := w.store.MaxActions()
	var shared *transaction // the transaction that more items are added to; nil if there is none yet
	for i, c := range open {
		c.advance(w.deliveries, stored[i])
		if !c.needsWrite() {
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

		if c.oneByOne {
			alone := &transaction{deltas: w.newDeltas()}
			alone.add(c, w.itemDeltas.deltas)
			txs = append(txs, alone)
			continue
		}
		if shared == nil || !w.fitsTransaction(shared, limit) {
			shared = &transaction{deltas: w.newDeltas()}
			txs = append(txs, shared)
		}
		shared.add(c, w.itemDeltas.deltas)
	}
	return txs, nil
}

// fitsTransaction reports whether the item of itemDeltas fits into tx. limit is the maximum number of actions; 0 if
// there is no maximum.
func (w *aggregateWrite) fitsTransaction(tx *transaction, limit int) bool {
	if len(tx.items) >= w.maxItems {
		return false
	}
	if limit == 0 {
		return true
	}

	items, members := len(tx.items)+1, tx.deltas.memberCount+w.itemDeltas.memberCount
	rows := len(tx.deltas.rows)
	for i := range w.itemDeltas.rows {
		if _, isShared := tx.deltas.index[w.itemDeltas.rows[i].row]; !isShared {
			rows++
		}
	}
	return items+rows+members <= limit
}

func (w *aggregateWrite) failTransaction(tx *transaction, err error) { w.failItems(tx.items, err) }

// settleTransaction sets the outcomes of the deliveries in a transaction that succeeded.
func (w *aggregateWrite) settleTransaction(tx *transaction, _ Result) {
	for _, c := range tx.items {
		c.settle(w.deliveries, &w.failed)
	}
}

// showForeignRow sets the display key of a ForeignRowError. It takes the key from the ops of the item's first delivery.
// It returns err.
func (w *aggregateWrite) showForeignRow(c *itemChanges, err error) error {
	planned := w.deliveries[c.deliveries[0]].Ops
	ops := make([]*GroupOp, len(planned))
	for i := range planned {
		ops[i] = planned[i].(*GroupOp)
	}
	return showForeignRow(err, w.mask, ops...)
}

// failItems handles the error of a write. If the error is temporary, the items fail. If the error is permanent and the
// write had several changes, each change is written again, alone. If the error is permanent and the write had only one
// change, failChange handles the error.
func (w *aggregateWrite) failItems(items []*itemChanges, err error) {
	hadOneChange := len(items) == 1 && len(items[0].results) == 1
	if hadOneChange {
		w.failChange(items[0], err)
		return
	}
	if state.IsPermanent(err) {
		for _, c := range items {
			c.oneByOne = true
		}
		return
	}
	for _, c := range items {
		c.fail(&w.failed, err)
	}
}

// failChange handles the error of a write that had one change. If the store refused the change permanently, failChange
// replaces its ops by one op that removes the item's contribution, and the next round writes this op. If the error is
// temporary, or if the refused op was such a removal, the change fails.
func (w *aggregateWrite) failChange(c *itemChanges, err error) {
	err = w.showForeignRow(c, err)
	d := &w.deliveries[c.deliveries[0]]
	isRemoval := groupOp(d).Share.Group == ""
	if isRemoval || !state.IsPermanent(err) {
		c.fail(&w.failed, err)
		return
	}
	d.Ops = append(d.Ops[:0], w.voidOp(d.Change, err))
	c.oneByOne = true
}
