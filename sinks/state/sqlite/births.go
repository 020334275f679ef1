package sqlite

import (
	"context"
	"database/sql"
	"iter"
	"time"

	"github.com/tablewake/tablewake/sinks/state"
)

const (
	readBirths = `SELECT sink, target, id, made, state, store, begun FROM "_tws_births" WHERE pipeline = ? ORDER BY sink, target`

	anyBirth = `SELECT EXISTS (SELECT 1 FROM "_tws_births")`

	insertBirth = `INSERT INTO "_tws_births" (pipeline, sink, target, id, made, state, store, begun) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`

	ifUnchanged = ` WHERE pipeline = ? AND sink = ? AND target = ? AND id = ? AND state = ? AND store = ? AND begun = ?`

	setBirth = `UPDATE "_tws_births" SET id = ?, made = ?, state = ?, store = ?, begun = ?` + ifUnchanged

	dropBirth = `DELETE FROM "_tws_births"` + ifUnchanged
)

// Births yields a pipeline's births as they are when the read begins.
func (s *State) Births(ctx context.Context) iter.Seq2[state.Birth, error] {
	return Read(ctx, s.db, readBirths, []any{s.pipeline}, func(rows *sql.Rows) (b state.Birth, err error) {
		var made int64
		err = rows.Scan(&b.Sink, &b.Target, &b.ID, &made, &b.State, &b.Store, &b.Begun)
		b.Made = time.Unix(0, made).UTC()
		return b, err
	})
}

// RecordBirth inserts a birth if there is none, and records in the witness that there are births.
func (s *State) RecordBirth(ctx context.Context, b state.Birth) (state.Birth, error) {
	err := s.db.Write(ctx, func(w *Writer) error {
		if err := w.Exec(context.WithoutCancel(ctx), insertBirth, s.pipeline, b.Sink, b.Target, b.ID, b.Made.UnixNano(), b.State, b.Store, b.Begun); err != nil {
			return err
		}
		return s.db.witness.setBirths(true)
	})
	if err != nil {
		return b, err
	}
	stored, _, err := state.FindBirth(ctx, s, b.Sink, b.Target)
	return stored, err
}

// SetBirth replaces a birth if it is unchanged.
func (s *State) SetBirth(ctx context.Context, was, now state.Birth) (done bool, err error) {
	err = s.db.Write(ctx, func(w *Writer) error {
		ctx := context.WithoutCancel(ctx)
		key := []any{s.pipeline, was.Sink, was.Target, was.ID, was.State, was.Store, was.Begun}
		var n int64
		if now == (state.Birth{}) {
			n, err = w.ExecCount(ctx, dropBirth, key...)
		} else {
			n, err = w.ExecCount(ctx, setBirth, append([]any{now.ID, now.Made.UnixNano(), now.State, now.Store, now.Begun}, key...)...)
		}
		if done = n > 0; err != nil || now != (state.Birth{}) {
			return err
		}
		left := false
		if _, err := w.QueryRow(ctx, anyBirth, nil, &left); err != nil || left {
			return err
		}
		return s.db.witness.setBirths(false)
	})
	return done, err
}

// Identity returns the token of the witness; "" if the file has no witness.
func (s *State) Identity(context.Context) (string, error) { return s.db.witness.identity(), nil }

var _ state.LossDetector = (*State)(nil)

// DetectLoss returns evidence if the witness records births and the file has none.
func (s *State) DetectLoss(ctx context.Context) (string, error) {
	found, _, err := ReadFirst(ctx, s.db, anyBirth, nil, ScanColumn[bool])
	if err != nil || found || !s.db.witness.hasBirths() {
		return "", err
	}
	return s.db.witness.path + " says that sinks wrote to " + s.db.path + ", and it knows nothing of them: it was deleted, or exchanged", nil
}
