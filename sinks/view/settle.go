package view

import (
	"context"
	"fmt"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/state"
)

// lostError is what a change comes to that lost maxLost times.
type lostError struct{}

var _ redact.Redacted = lostError{}

func (lostError) Error() string {
	return fmt.Sprintf("other workers changed its item or its rows %d times meanwhile", maxLost+1)
}

func (e lostError) Redacted() string { return e.Error() }

func (lostError) Describe() (class, field string) { return "conflict", "" }

// writeClaims writes rows that are guarded by item: it reads the guards of the
// batch's items and the claims on their rows, moves the items in memory, one after the
// other, and commits each move on condition that what it was read from is
// unchanged. What was lost to others is read again.
func (s *Sink) writeClaims(ctx context.Context, ds []pipeline.Delivery, failed *pipeline.BatchError) error {
	b := &batch[*ClaimOp]{}
	b.gather(ds)
	if len(b.ops) == 0 {
		return nil
	}
	store, ok := s.store.(ItemStore)
	if !ok {
		return pipeline.Fatal(errs.Errorf("its store is no ItemStore: its rows are guarded by item, because %s", redact.Safe(b.ops[0].op.Guard.Why)))
	}
	w := &claims{sink: s, store: store, batch: b, rows: make(map[state.Row]*RowClaims)}
	s.claiming.RLock()
	leave := s.claiming.RUnlock
	defer func() { leave() }()
	round := func(turns []turn[*ClaimOp]) ([]turn[*ClaimOp], error) { return w.round(ctx, turns) }
	err := rounds(b.next, round, func(lost []turn[*ClaimOp], times int) {
		if times == 1 {
			// Most likely to another Write of this process: this one goes on by itself.
			leave()
			s.claiming.Lock()
			leave = s.claiming.Unlock
		}
		if times > maxLost {
			for _, t := range lost {
				b.fail(t.line, pipeline.Transient(lostError{}))
			}
		}
	})
	if err != nil {
		return err
	}
	if err := w.conclude(ctx); err != nil {
		return err
	}
	b.finish(ds, failed)
	return nil
}

// claims is one Write of rows that are guarded by item.
type claims struct {
	sink  *Sink
	store ItemStore
	batch *batch[*ClaimOp]
	rows  map[state.Row]*RowClaims // as this Write read them or left them; none that it lost
	stand []standing
}

// standing is a claim that is durable, in a line that is parked until the rows
// are as the whole batch leaves them.
type standing struct {
	turn turn[*ClaimOp]
	row  state.Row
}

// round tries each turn once, and returns those that were lost to other writers.
func (w *claims) round(ctx context.Context, turns []turn[*ClaimOp]) (lost []turn[*ClaimOp], err error) {
	guards, err := w.guards(ctx, turns)
	if err != nil {
		return nil, err
	}
	moving := make([]int, 0, len(turns)) // turns
	var rows []state.Row
	for i, t := range turns {
		switch t.op.judge(guards[i], w.batch.quiet(t.line)) {
		case older:
			w.batch.settle(t.line, superseded, nil)
		case done:
			w.batch.settle(t.line, held, nil)
		case nothing:
			w.batch.settle(t.line, idle, nil)
		case stands:
			w.rest(t, guards[i].Row)
		case moves:
			moving = append(moving, i)
			rows = append(rows, guards[i].Row, t.op.Row)
		}
	}
	if err := w.read(ctx, rows); err != nil {
		return nil, err
	}
	var ws []state.ItemWrite
	var of []turn[*ClaimOp]
	for _, i := range moving {
		t := turns[i]
		if rc := w.rows[t.op.Row]; t.op.Row != "" && rc.Foreign != nil {
			w.refuse(t, rc.Foreign)
			continue
		}
		ws = append(ws, t.op.move(guards[i], w.rows, w.sink.collision))
		of = append(of, t)
	}
	return w.commit(ctx, ws, of)
}

// commit writes what was moved in memory.
func (w *claims) commit(ctx context.Context, ws []state.ItemWrite, of []turn[*ClaimOp]) (lost []turn[*ClaimOp], err error) {
	if len(ws) == 0 {
		return nil, nil
	}
	rs, err := w.store.Settle(ctx, w.sink.target, ws)
	if err != nil {
		return nil, err
	}
	for i := range min(len(rs), len(ws)) {
		if rs[i].Lost || rs[i].Err != nil {
			for _, rw := range ws[i].Rows { // and those that build on it are lost too
				delete(w.rows, rw.Row)
			}
		}
	}
	return judge(of, rs, "writes", w.refuse, func(t turn[*ClaimOp], _ Result) { w.rest(t, t.op.Row) })
}

func (w *claims) refuse(t turn[*ClaimOp], err error) {
	refuse(w.batch, t.line, showForeign(err, w.sink.mask, t.op))
}

// rest settles a turn whose claim is durable, at once where it is for no row.
func (w *claims) rest(t turn[*ClaimOp], row state.Row) {
	if row == "" {
		w.batch.settle(t.line, held, nil)
		return
	}
	w.batch.park(t.line)
	w.stand = append(w.stand, standing{t, row})
}

// conclude says of each durable claim whether it has its row. Only now the items
// of the batch that left a row have made room for those that came for it.
func (w *claims) conclude(ctx context.Context) error {
	rows := make([]state.Row, 0, len(w.stand))
	for _, st := range w.stand {
		rows = append(rows, st.row)
	}
	if err := w.read(ctx, rows); err != nil {
		return err
	}
	for _, st := range w.stand {
		rc, source := w.rows[st.row], st.turn.op.Claim.Source
		switch {
		case !rc.waits(source):
			w.batch.settle(st.turn.line, held, nil)
		case w.sink.collision == DeadLetterCollision:
			w.batch.settle(st.turn.line, failed, w.sink.collides(st, rc.Owner.Source))
		default:
			w.batch.settle(st.turn.line, waiting, nil)
		}
	}
	return nil
}

func (w *claims) guards(ctx context.Context, turns []turn[*ClaimOp]) ([]state.Guard, error) {
	items := make([]item.Key, len(turns))
	for i, t := range turns {
		items[i] = t.op.Claim.Source
	}
	guards, err := w.store.Guards(ctx, w.sink.target, items)
	if err == nil {
		err = complete(len(guards), len(items), "guards")
	}
	return guards, err
}

// read reads the claims on rows that are not read yet.
func (w *claims) read(ctx context.Context, rows []state.Row) error {
	missing := rows[:0]
	for _, r := range rows {
		if _, have := w.rows[r]; r != "" && !have {
			missing = append(missing, r)
			w.rows[r] = nil
		}
	}
	if len(missing) == 0 {
		return nil
	}
	rcs, err := w.store.RowClaims(ctx, w.sink.target, missing)
	if err == nil {
		err = complete(len(rcs), len(missing), "rows")
	}
	if err != nil {
		return err
	}
	for i := range rcs {
		w.rows[missing[i]] = &rcs[i]
	}
	return nil
}

// collides is the error of a claim that waits while another item has its row.
func (s *Sink) collides(st standing, owner item.Key) error {
	op := st.turn.op
	e := &CollisionError{View: s.target.View, Row: op.KeyText(), Owner: owner, Source: op.source}
	if st.row != op.Row { // the guard's, of the same version
		e.Row = s.mask.Text(string(s.target.appendRow(nil, st.row)))
	}
	if op.source != op.Claim.Source { // the other's key is as sensitive
		e.Owner = item.Key(s.mask.Text(string(owner)))
	}
	return e
}
