package view

import (
	"context"
	"fmt"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/state"
)

// raceError is the error of a change after its Write lost more than maxLostRounds rounds to other writers.
type raceError struct{}

var _ redact.Redacted = raceError{}

func (raceError) Error() string {
	return fmt.Sprintf("other workers changed its item or its rows %d times meanwhile", maxLostRounds+1)
}

func (e raceError) Redacted() string { return e.Error() }

func (raceError) Describe() (class, field string) { return "conflict", "" }

// writeClaims writes rows that are guarded by item. It reads the guards of the batch's items and the claims on their
// rows. It applies the claims in memory, one after the other. It commits each claim on condition that the guard and the
// claims on the rows have not changed since the read. If another writer changed them first, writeClaims reads again and
// repeats.
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
	defer w.unlock()
	if err := runRounds(ctx, b.nextAttempts, w.writeRound, w.onLost); err != nil {
		return err
	}
	if err := w.settleDurable(ctx); err != nil {
		return err
	}
	b.setOutcomes(ds, failed)
	return nil
}

// claimAttempt is a claim that the next round writes.
type claimAttempt = attempt[*ClaimOp]

// claimWrite is one call of Write for rows that are guarded by item.
type claimWrite struct {
	sink      *Sink
	store     ItemStore
	batch     *batch[*ClaimOp]
	exclusive bool // the Write holds Sink.claimMu exclusively, not shared
	// rowClaims are the claims on rows, as this Write read or changed them. If a write is not stored, its rows are
	// deleted from the map, so that they are read again.
	rowClaims map[state.Row]*RowClaims
	durable   []durableClaim
}

// onLost makes this Write the only Write of claims in the process after its first lost round, because the winner was
// most likely another Write of this process. After too many lost rounds it fails the lost attempts.
func (w *claimWrite) onLost(lost []claimAttempt, lostRounds int) {
	if !w.exclusive {
		w.sink.claimMu.RUnlock()
		w.sink.claimMu.Lock()
		w.exclusive = true
	}
	w.batch.failLost(lost, lostRounds)
}

func (w *claimWrite) unlock() {
	if w.exclusive {
		w.sink.claimMu.Unlock()
	} else {
		w.sink.claimMu.RUnlock()
	}
}

// durableClaim is a stored claim on a row. Its result is set after the whole batch is stored: only then the owner of
// the row is known.
type durableClaim struct {
	attempt claimAttempt
	row     state.Row
}

// guardedClaim is a claim that is not stored yet, with the stored guard of its item.
type guardedClaim struct {
	attempt claimAttempt
	guard   state.Guard
}

// writeRound tries each attempt once. It returns the attempts that were lost to other writers.
func (w *claimWrite) writeRound(ctx context.Context, attempts []claimAttempt) (lost []claimAttempt, err error) {
	claims, err := w.claimsToWrite(ctx, attempts)
	if err != nil {
		return nil, err
	}
	rows := make([]state.Row, 0, 2*len(claims))
	for _, c := range claims {
		rows = append(rows, c.guard.Row, c.attempt.op.Row)
	}
	if err := w.readRows(ctx, rows); err != nil {
		return nil, err
	}

	var ws []state.ItemWrite
	var writing []claimAttempt // attempts of ws
	for _, c := range claims {
		op := c.attempt.op
		if op.Row != "" && w.rowClaims[op.Row].Foreign != nil {
			w.onError(c.attempt, w.rowClaims[op.Row].Foreign)
			continue
		}
		ws = append(ws, op.applyClaim(c.guard, w.rowClaims, w.sink.collision))
		writing = append(writing, c.attempt)
	}
	return w.commit(ctx, ws, writing)
}

// claimsToWrite reads the guards of the attempts' items. It returns the claims that change their guards, and handles
// all other attempts.
func (w *claimWrite) claimsToWrite(ctx context.Context, attempts []claimAttempt) ([]guardedClaim, error) {
	items := keysOf(attempts, func(a claimAttempt) item.Key { return a.op.Claim.Source })
	guards, err := w.store.Guards(ctx, w.sink.target.State(), items)
	if err = checkCount(err, len(guards), len(items), "guards"); err != nil {
		return nil, err
	}

	var claims []guardedClaim
	for i, a := range attempts {
		switch a.op.compareWithGuard(guards[i], w.batch.allIdle(a.key)) {
		case guardIsNewer:
			w.batch.settle(a.key, superseded, nil)
		case durableWithoutRow:
			w.batch.settle(a.key, written, nil)
		case guardNotNeeded:
			w.batch.settle(a.key, noEffect, nil)
		case durableWithRow:
			w.setDurable(a, guards[i].Row)
		case guardChanges:
			claims = append(claims, guardedClaim{a, guards[i]})
		}
	}
	return claims, nil
}

// commit writes the claims that were applied in memory. It returns the attempts that were lost to other writers.
func (w *claimWrite) commit(
	ctx context.Context, ws []state.ItemWrite, attempts []claimAttempt,
) (lost []claimAttempt, err error) {
	if len(ws) == 0 {
		return nil, nil
	}
	rs, err := w.store.WriteItems(ctx, w.sink.target, ws)
	w.forgetUnstored(ws, rs)
	return handleResults(attempts, rs, err, w.onError,
		func(a claimAttempt, _ Result) { w.setDurable(a, a.op.Row) })
}

// forgetUnstored forgets the claims on the rows of each write that is not stored. They were changed in memory only, so
// they are read again.
func (w *claimWrite) forgetUnstored(ws []state.ItemWrite, rs []Result) {
	for i := range min(len(rs), len(ws)) {
		isStored := !rs[i].Lost && rs[i].Err == nil
		if isStored {
			continue
		}
		for _, rowWrite := range ws[i].Rows {
			delete(w.rowClaims, rowWrite.Row)
		}
	}
}

func (w *claimWrite) onError(a claimAttempt, err error) {
	failOrRemove(w.batch, a.key, showForeignRow(err, w.sink.mask, a.op))
}

// setDurable handles an attempt whose claim is stored. If the claim requests no row, setDurable sets its result. If it
// requests a row, settleDurable sets the result later.
func (w *claimWrite) setDurable(a claimAttempt, row state.Row) {
	if row == "" {
		w.batch.settle(a.key, written, nil)
		return
	}
	w.batch.keys[a.key].isClosed = true
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

	deadLetters := w.sink.collision == DeadLetterCollision && !w.sink.backfill
	for _, c := range w.durable {
		rowClaims, source := w.rowClaims[c.row], c.attempt.op.Claim.Source
		switch {
		case !rowClaims.isWaiting(source):
			w.batch.settle(c.attempt.key, written, nil)
		case deadLetters:
			w.batch.settle(c.attempt.key, failed, w.sink.collisionError(c, rowClaims.Owner.Source))
		default:
			w.batch.settle(c.attempt.key, waiting, nil)
		}
	}
	return nil
}

// readRows reads the claims on rows, except rows that this Write has read already.
func (w *claimWrite) readRows(ctx context.Context, rows []state.Row) error {
	var missing []state.Row
	for _, row := range rows {
		if _, isRead := w.rowClaims[row]; row != "" && !isRead {
			missing = append(missing, row)
			w.rowClaims[row] = nil // a row may be in rows several times
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
		e.Row = s.mask.Text(s.target.rowKeyText(c.row))
	}
	if op.displaySource != op.Claim.Source { // the item's key is masked, so mask the owner's key too
		e.Owner = s.maskKey(owner)
	}
	return e
}
