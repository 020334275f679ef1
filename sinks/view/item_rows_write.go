package view

import (
	"context"
	"errors"
	"slices"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
)

// writeItemRows writes the rows of items with ForEach. In each round it reads the contributions of the items whose rows
// are not complete, and writes the next transaction of each item. So it continues correctly after another writer
// changed the rows.
func (s *Sink) writeItemRows(ctx context.Context, ds []pipeline.Delivery, failed *pipeline.BatchError) error {
	b := &batch[*ItemRowsOp]{}
	b.addOps(ds)
	if len(b.ops) == 0 {
		return nil
	}
	store, ok := s.store.(ItemRowsStore)
	if !ok {
		return pipeline.Fatal(errs.New("its store does not implement ItemRowsStore: with for_each an item has several rows"))
	}
	w := itemRowsWrite{sink: s, store: store, batch: b}
	if err := runRounds(ctx, b.nextAttempts, w.writeRound, b.failLost); err != nil {
		return err
	}
	b.setOutcomes(ds, failed)
	return nil
}

// itemRowsAttempt has the rows of an item that the next round writes.
type itemRowsAttempt = attempt[*ItemRowsOp]

// itemRowsWrite is one call of Write for a view with ForEach.
type itemRowsWrite struct {
	sink  *Sink
	store ItemRowsStore
	batch *batch[*ItemRowsOp]
}

// writeRound writes one transaction for each attempt. It returns the attempts that were lost to other writers.
func (w *itemRowsWrite) writeRound(ctx context.Context, attempts []itemRowsAttempt) (lost []itemRowsAttempt, _ error) {
	items := keysOf(attempts, func(a itemRowsAttempt) item.Key { return a.op.Source })
	stored, err := w.store.Contributions(ctx, w.sink.target.State(), items)
	if err = checkCount(err, len(stored), len(items), "items"); err != nil {
		return nil, err
	}

	var ws []state.ItemRowsWrite
	var writing []itemRowsAttempt // attempts of ws
	for i, a := range attempts {
		switch a.op.compareWithContribution(&stored[i], w.batch.allIdle(a.key)) {
		case guardIsNewer:
			w.batch.settle(a.key, superseded, nil)
		case guardNotNeeded:
			w.batch.settle(a.key, noEffect, nil)
		case durableWithRow, durableWithoutRow:
			w.batch.settle(a.key, written, nil)
		case guardChanges:
			var next state.ItemRowsWrite
			next, a.last = a.op.nextPart(&stored[i], w.store.MaxActions())
			ws, writing = append(ws, next), append(writing, a)
		}
	}
	if len(ws) == 0 {
		return nil, nil
	}

	rs, err := w.store.ReplaceItemRows(ctx, w.sink.target, ws)
	return handleResults(writing, rs, err, w.onError, w.onSuccess)
}

func (w *itemRowsWrite) onError(a itemRowsAttempt, err error) {
	failOrRemove(w.batch, a.key, w.sink.showItemRows(err, a.op))
}

// onSuccess settles an attempt whose last transaction is stored. After any other transaction, the next round continues.
func (w *itemRowsWrite) onSuccess(a itemRowsAttempt, _ Result) {
	if a.last {
		w.batch.settle(a.key, written, nil)
	}
}

// showItemRows sets the display key of the row in an error of the store, and masks the keys of items. It returns err.
func (s *Sink) showItemRows(err error, op *ItemRowsOp) error {
	if e, ok := errors.AsType[*CollisionError](err); ok {
		i := slices.IndexFunc(op.Rows, func(r *ElementRowOp) bool { return r.Row == e.RowKey })
		if i >= 0 {
			s.showCollision(e, op.Rows[i].KeyText(), op.Rows[i].displayKey)
		}
		return err
	}
	return showForeignRow(err, s.mask, op.Rows...)
}

// RepairItemRows writes the rows of the op, whose version must be newer than stored. stored is the item's contribution,
// as it was compared with the rows. rewrite has the stored rows that differ from their share or have no share. If the
// contribution has changed since the comparison, the Result is Lost.
func (o *ItemRowsOp) RepairItemRows(
	ctx context.Context, store ItemRowsStore, stored state.Contribution, rewrite []state.Row,
) (Result, error) {
	// The store compares its contribution with stored. nextPart compares the rows of the op with actual.
	actual := stored
	actual.Shares = unknownDigests(stored.Shares, rewrite)
	for {
		next, last := o.nextPart(&actual, store.MaxActions())
		next.Expected = stored
		rs, err := store.ReplaceItemRows(ctx, *o.Target, []state.ItemRowsWrite{next})
		if err = checkCount(err, len(rs), 1, "writes"); err != nil {
			return Result{}, err
		}
		isDurable := rs[0] == Result{}
		if last || !isDurable {
			return rs[0], nil
		}
		stored, actual = next.Next, next.Next
	}
}

// unknownDigests returns a copy of shares in which the shares of the given rows have empty digests. No row has an empty
// digest, so nextPart writes these rows again. If one of rows has no share, unknownDigests adds a share. Then nextPart
// removes the row if the item should not have it.
func unknownDigests(shares []state.Share, rows []state.Row) []state.Share {
	copied := slices.Clone(shares)
	for _, row := range rows {
		unknown := state.Share{Group: row, Values: []string{""}}
		i := slices.IndexFunc(copied, func(s state.Share) bool { return s.Group == row })
		if i < 0 {
			copied = append(copied, unknown)
		} else {
			copied[i] = unknown
		}
	}
	return copied
}
