package view

import (
	"context"
	"errors"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
)

// writeItemRows writes the rows of items. In each round it reads the contributions of the items whose rows are not complete,
// and writes the next transaction of each. So what another writer did meanwhile decides how it goes on.
func (s *Sink) writeItemRows(ctx context.Context, ds []pipeline.Delivery, failed *pipeline.BatchError) error {
	b := &batch[*ItemRowsOp]{}
	b.addOps(ds)
	if len(b.ops) == 0 {
		return nil
	}
	store, ok := s.store.(ItemRowsStore)
	if !ok {
		return pipeline.Fatal(errs.New("its store is no ItemRowsStore: with for_each an item has several rows"))
	}
	w := itemRowsWrite{sink: s, store: store, batch: b}
	err := runRounds(b.nextAttempts, func(attempts []attempt[*ItemRowsOp]) ([]attempt[*ItemRowsOp], error) {
		return w.round(ctx, attempts)
	}, func(lost []attempt[*ItemRowsOp], lostRounds int) {
		if lostRounds > maxLost {
			for _, a := range lost {
				b.fail(a.key, pipeline.Transient(raceError{}))
			}
		}
	})
	if err != nil {
		return err
	}
	b.setOutcomes(ds, failed)
	return nil
}

// itemRowsWrite is one Write of a view with ForEach.
type itemRowsWrite struct {
	sink  *Sink
	store ItemRowsStore
	batch *batch[*ItemRowsOp]
}

// itemRowsPart is the transaction of one attempt.
type itemRowsPart struct {
	attempt attempt[*ItemRowsOp]
	last    bool
}

// round writes one transaction of each attempt, and returns those that were lost to other writers.
func (w *itemRowsWrite) round(ctx context.Context, attempts []attempt[*ItemRowsOp]) (lost []attempt[*ItemRowsOp], err error) {
	items := make([]item.Key, len(attempts))
	for i, a := range attempts {
		items[i] = a.op.Source
	}
	stored, err := w.store.Contributions(ctx, w.sink.target, items)
	if err == nil {
		err = checkCount(len(stored), len(items), "items")
	}
	if err != nil {
		return nil, err
	}
	var ws []state.ItemRowsWrite
	var parts []itemRowsPart
	for i, a := range attempts {
		switch a.op.compareWithStored(&stored[i], w.batch.allNoEffect(a.key)) {
		case guardIsNewer:
			w.batch.settle(a.key, superseded, nil)
		case guardNotNeeded:
			w.batch.settle(a.key, noEffect, nil)
		case guardChanges:
			next, last := a.op.nextPart(&stored[i], w.store.MaxActions())
			ws, parts = append(ws, next), append(parts, itemRowsPart{a, last})
		default:
			w.batch.settle(a.key, written, nil)
		}
	}
	return w.commit(ctx, ws, parts)
}

// commit writes the transactions. An attempt that has more to write stays open.
func (w *itemRowsWrite) commit(ctx context.Context, ws []state.ItemRowsWrite, parts []itemRowsPart) (lost []attempt[*ItemRowsOp], err error) {
	if len(ws) == 0 {
		return nil, nil
	}
	rs, err := w.store.ReplaceItemRows(ctx, w.sink.target, ws)
	if err != nil {
		return nil, err
	}
	onSuccess := func(p itemRowsPart, _ Result) {
		if p.last {
			w.batch.settle(p.attempt.key, written, nil)
		}
	}
	lostParts, err := handleResults(parts, rs, "writes", w.onError, onSuccess)
	for _, p := range lostParts {
		lost = append(lost, p.attempt)
	}
	return lost, err
}

func (w *itemRowsWrite) onError(p itemRowsPart, err error) {
	failOrRemove(w.batch, p.attempt.key, w.sink.showItemRows(err, p.attempt.op))
}

// showItemRows adds the row to an error of the store, and masks keys.
func (s *Sink) showItemRows(err error, op *ItemRowsOp) error {
	if e, ok := errors.AsType[*CollisionError](err); ok {
		for _, r := range op.Rows {
			if r.Row != e.At {
				continue
			}
			if e.Row = r.KeyText(); r.displayKey != "" {
				e.Owner, e.Source = item.Key(s.mask.Text(string(e.Owner))), item.Key(s.mask.Text(string(e.Source)))
			}
		}
		return err
	}
	return showForeign(err, s.mask, op.Rows...)
}

// RepairItemRows writes the rows of the op at the contribution's version, which replaces o.Version if there is one. was is
// the contribution that was compared with the rows. rewrite names the rows that differ from their share. It returns a lost
// Result if the contribution has changed.
func (o *ItemRowsOp) RepairItemRows(ctx context.Context, store ItemRowsStore, was state.Contribution, rewrite []state.Row) (Result, error) {
	if !was.Version.IsZero() {
		o.Version = was.Version
	}
	have := was
	have.Shares = unknownDigests(was.Shares, rewrite)
	for {
		next, last := o.nextPart(&have, store.MaxActions())
		next.Was = was
		rs, err := store.ReplaceItemRows(ctx, *o.Target, []state.ItemRowsWrite{next})
		if err == nil {
			err = checkCount(len(rs), 1, "writes")
		}
		if err != nil || last || rs[0] != (Result{}) {
			return firstResult(rs), err
		}
		was, have = next.Now, next.Now
	}
}

func firstResult(rs []Result) (r Result) {
	if len(rs) > 0 {
		r = rs[0]
	}
	return r
}

// unknownDigests returns shares in which the rows to write again have a digest that no row has. A row that has no share
// gets one, so that it is removed if the item does not have it.
func unknownDigests(shares []state.Share, rows []state.Row) []state.Share {
	known := append([]state.Share(nil), shares...)
	for _, row := range rows {
		unknown := state.Share{Group: row, Values: []string{""}}
		found := false
		for i := range known {
			if known[i].Group == row {
				known[i], found = unknown, true
			}
		}
		if !found {
			known = append(known, unknown)
		}
	}
	return known
}
