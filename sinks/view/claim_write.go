package view

import (
	"context"
	"fmt"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/state"
)

// raceError is the error of a change that lost more than maxLostRounds rounds to other writers.
type raceError struct{}

var _ redact.Redacted = raceError{}

func (raceError) Error() string {
	return fmt.Sprintf("other workers changed its item or its rows %d times meanwhile", maxLostRounds+1)
}

func (e raceError) Redacted() string { return e.Error() }

func (raceError) Describe() (class, field string) { return "conflict", "" }

// writeClaims writes rows that are guarded by item. It reads the guards of the batch's items and the claims on their
// rows. It applies the claims in memory, one after the other. It commits each claim on condition that its guard and
// rows have not changed since the read. If another writer changed the guard or the rows first, writeClaims reads again
// and repeats.
func (s *Sink) writeClaims(ctx context.Context, ds []pipeline.Delivery, failed *pipeline.BatchError) error {
	b := &batch[*ClaimOp]{}
	b.addOps(ds)
	if len(b.ops) == 0 {
		return nil
	}
	store, ok := s.store.(ItemStore)
	if !ok {
		return pipeline.Fatal(errs.Errorf("its store does not implement ItemStore: its rows are guarded by item, because %s",
			redact.Safe(b.ops[0].op.GuardMode.Why)))
	}
	w := &claimWrite{sink: s, store: store, batch: b, rowClaims: make(map[state.Row]*RowClaims)}
	s.claimMu.RLock()
	unlock := s.claimMu.RUnlock
	defer func() { unlock() }()
	err := runRounds(ctx, b.nextAttempts, w.writeRound, func(lost []attempt[*ClaimOp], lostRounds int) {
		if lostRounds == 1 {
			// The winner is most likely another Write of this process, so this Write continues alone.
			unlock()
			s.claimMu.Lock()
			unlock = s.claimMu.Unlock
		}
		b.failLost(lost, lostRounds)
	})
	if err != nil {
		return err
	}
	if err := w.settleDurable(ctx); err != nil {
		return err
	}
	b.setOutcomes(ds, failed)
	return nil
}

// claimWrite is one call of Write for rows that are guarded by item.
type claimWrite struct {
	sink  *Sink
	store ItemStore
	batch *batch[*ClaimOp]
	// rowClaims are the claims on rows, as this Write read or changed them. The rows of lost writes are deleted from
	// the map, so that they are read again.
	rowClaims map[state.Row]*RowClaims
	durable   []durableClaim
}

// durableClaim is a claim that is stored, and that requests a row. Its result is set after the whole batch is stored,
// because only then it is known whether the item owns the row.
type durableClaim struct {
	attempt attempt[*ClaimOp]
	row     state.Row
}

// writeRound tries each attempt once. It returns the attempts that were lost to other writers.
func (w *claimWrite) writeRound(
	ctx context.Context, attempts []attempt[*ClaimOp],
) (lost []attempt[*ClaimOp], err error) {
	items := keysOf(attempts, func(a attempt[*ClaimOp]) item.Key { return a.op.Claim.Source })
	guards, err := w.store.Guards(ctx, w.sink.target.State(), items)
	if err = checkCount(err, len(guards), len(items), "guards"); err != nil {
		return nil, err
	}
	changing := make([]int, 0, len(attempts)) // indexes of the attempts that change the guard
	var rows []state.Row
	for i, a := range attempts {
		switch a.op.compareWithGuard(guards[i], w.batch.allNoEffect(a.key)) {
		case guardIsNewer:
			w.batch.settle(a.key, superseded, nil)
		case durableWithoutRow:
			w.batch.settle(a.key, written, nil)
		case guardNotNeeded:
			w.batch.settle(a.key, noEffect, nil)
		case durableWithRow:
			w.setDurable(a, guards[i].Row)
		case guardChanges:
			changing = append(changing, i)
			rows = append(rows, guards[i].Row, a.op.Row)
		}
	}
	if err := w.readRows(ctx, rows); err != nil {
		return nil, err
	}
	var ws []state.ItemWrite
	var changed []attempt[*ClaimOp]
	for _, i := range changing {
		a := attempts[i]
		if rc := w.rowClaims[a.op.Row]; a.op.Row != "" && rc.Foreign != nil {
			w.onError(a, rc.Foreign)
			continue
		}
		ws = append(ws, a.op.applyClaim(guards[i], w.rowClaims, w.sink.collision))
		changed = append(changed, a)
	}
	return w.commit(ctx, ws, changed)
}

// commit writes the claims that were applied in memory. It returns the attempts that were lost to other writers.
func (w *claimWrite) commit(
	ctx context.Context, ws []state.ItemWrite, attempts []attempt[*ClaimOp],
) (lost []attempt[*ClaimOp], err error) {
	if len(ws) == 0 {
		return nil, nil
	}
	rs, err := w.store.WriteItems(ctx, w.sink.target, ws)
	for i := range min(len(rs), len(ws)) {
		if rs[i].Lost || rs[i].Err != nil {
			for _, rw := range ws[i].Rows { // later writes that build on this row are lost, too
				delete(w.rowClaims, rw.Row)
			}
		}
	}
	return handleResults(attempts, rs, err, "writes", w.onError,
		func(a attempt[*ClaimOp], _ Result) { w.setDurable(a, a.op.Row) })
}

func (w *claimWrite) onError(a attempt[*ClaimOp], err error) {
	failOrRemove(w.batch, a.key, showForeignRow(err, w.sink.mask, a.op))
}

// setDurable handles an attempt whose claim is stored. It sets the result of a claim that requests no row.
// settleDurable later sets the result of a claim on a row.
func (w *claimWrite) setDurable(a attempt[*ClaimOp], row state.Row) {
	if row == "" {
		w.batch.settle(a.key, written, nil)
		return
	}
	w.batch.excludeKey(a.key)
	w.durable = append(w.durable, durableClaim{a, row})
}

// settleDurable sets the result of each claim in w.durable. The result depends on whether the claim owns its row or
// waits. All claims of the batch are stored by now, so an item that left a row does not own it any more.
func (w *claimWrite) settleDurable(ctx context.Context) error {
	rows := make([]state.Row, 0, len(w.durable))
	for _, c := range w.durable {
		rows = append(rows, c.row)
	}
	if err := w.readRows(ctx, rows); err != nil {
		return err
	}
	for _, c := range w.durable {
		rowClaims, source := w.rowClaims[c.row], c.attempt.op.Claim.Source
		switch {
		case !rowClaims.isWaiting(source):
			w.batch.settle(c.attempt.key, written, nil)
		case w.sink.collision == DeadLetterCollision && !w.sink.backfill:
			w.batch.settle(c.attempt.key, failed, w.sink.collisionError(c, rowClaims.Owner.Source))
		default:
			w.batch.settle(c.attempt.key, waiting, nil)
		}
	}
	return nil
}

// readRows reads the claims on rows, except rows that this Write has read already.
func (w *claimWrite) readRows(ctx context.Context, rows []state.Row) error {
	missing := rows[:0]
	for _, r := range rows {
		if _, read := w.rowClaims[r]; r != "" && !read {
			missing = append(missing, r)
			w.rowClaims[r] = nil
		}
	}
	if len(missing) == 0 {
		return nil
	}
	rcs, err := w.store.RowClaims(ctx, w.sink.target, missing)
	if err = checkCount(err, len(rcs), len(missing), "rows"); err != nil {
		return err
	}
	for i := range rcs {
		w.rowClaims[missing[i]] = &rcs[i]
	}
	return nil
}

// collisionError returns the error of a claim that waits for a row of another item.
func (s *Sink) collisionError(c durableClaim, owner item.Key) error {
	op := c.attempt.op
	e := &CollisionError{View: s.target.View, Row: op.KeyText(), Owner: owner, Source: op.displaySource}
	if c.row != op.Row { // the claim was stored before, so c.row is the row of the guard
		e.Row = s.mask.Text(string(s.target.appendRow(nil, c.row)))
	}
	if op.displaySource != op.Claim.Source { // the item's key is masked, so mask the owner's key too
		e.Owner = item.Key(s.mask.Text(string(owner)))
	}
	return e
}
