package view

import (
	"context"
	"errors"

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

// itemRowsWrite is one call of Write for a view with ForEach.
type itemRowsWrite struct {
	sink  *Sink
	store ItemRowsStore
	batch *batch[*ItemRowsOp]
}

// writeRound writes one transaction for each attempt. It returns the attempts that were lost to other writers.
func (w *itemRowsWrite) writeRound(
	ctx context.Context, attempts []attempt[*ItemRowsOp],
) (lost []attempt[*ItemRowsOp], err error) {
	items := keysOf(attempts, func(a attempt[*ItemRowsOp]) item.Key { return a.op.Source })
	stored, err := w.store.Contributions(ctx, w.sink.target.State(), items)
	if err = checkCount(err, len(stored), len(items), "items"); err != nil {
		return nil, err
	}
	var ws []state.ItemRowsWrite
	var writing []attempt[*ItemRowsOp]
	for i, a := range attempts {
		switch a.op.compareWithContribution(&stored[i], w.batch.allNoEffect(a.key)) {
		case guardIsNewer:
			w.batch.settle(a.key, superseded, nil)
		case guardNotNeeded:
			w.batch.settle(a.key, noEffect, nil)
		case guardChanges:
			var next state.ItemRowsWrite
			next, a.last = a.op.nextPart(&stored[i], w.store.MaxActions())
			ws, writing = append(ws, next), append(writing, a)
		default:
			w.batch.settle(a.key, written, nil)
		}
	}
	if len(ws) == 0 {
		return nil, nil
	}
	rs, err := w.store.ReplaceItemRows(ctx, w.sink.target, ws)
	onError := func(a attempt[*ItemRowsOp], err error) { failOrRemove(w.batch, a.key, w.sink.showItemRows(err, a.op)) }
	return handleResults(writing, rs, err, "writes", onError, func(a attempt[*ItemRowsOp], _ Result) {
		if a.last { // otherwise the next round continues
			w.batch.settle(a.key, written, nil)
		}
	})
}

// showItemRows sets the display key of the row in an error of the store, and masks the keys of items.
func (s *Sink) showItemRows(err error, op *ItemRowsOp) error {
	if e, ok := errors.AsType[*CollisionError](err); ok {
		for _, r := range op.Rows {
			if r.Row != e.RowKey {
				continue
			}
			if e.Row = r.KeyText(); r.displayKey != "" {
				e.Owner, e.Source = item.Key(s.mask.Text(string(e.Owner))), item.Key(s.mask.Text(string(e.Source)))
			}
		}
		return err
	}
	return showForeignRow(err, s.mask, op.Rows...)
}

// RepairItemRows writes the rows of the op. was is the item's contribution at the time when it was compared with the
// rows. If was is not zero, the rows get the version of was. rewrite names the stored rows that differ from their
// share. If the contribution has changed since the comparison, the Result is Lost.
func (o *ItemRowsOp) RepairItemRows(
	ctx context.Context, store ItemRowsStore, was state.Contribution, rewrite []state.Row,
) (Result, error) {
	if !was.Version.IsZero() {
		o.Version = was.Version
	}
	assumed := was
	assumed.Shares = unknownDigests(was.Shares, rewrite)
	for {
		next, last := o.nextPart(&assumed, store.MaxActions())
		next.Expected = was
		rs, err := store.ReplaceItemRows(ctx, *o.Target, []state.ItemRowsWrite{next})
		if err = checkCount(err, len(rs), 1, "writes"); err != nil {
			return Result{}, err
		}
		if last || rs[0] != (Result{}) {
			return rs[0], nil
		}
		was, assumed = next.Next, next.Next
	}
}

// unknownDigests returns a copy of shares in which the share of each of rows has an empty digest. No row has this
// digest, so the rows are written again. If a row has no share, unknownDigests adds one, so that the row is removed if
// the item should not have it.
func unknownDigests(shares []state.Share, rows []state.Row) []state.Share {
	assumed := append([]state.Share(nil), shares...)
	for _, row := range rows {
		unknown := state.Share{Group: row, Values: []string{""}}
		found := false
		for i := range assumed {
			if assumed[i].Group == row {
				assumed[i], found = unknown, true
			}
		}
		if !found {
			assumed = append(assumed, unknown)
		}
	}
	return assumed
}
