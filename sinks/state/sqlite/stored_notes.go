package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"iter"
	"time"

	"github.com/tablewake/tablewake/sinks/state"
)

// The table of notes is not part of the layout in schema.go. SetHeldBack creates it.
const (
	makeHeldBack = `CREATE TABLE IF NOT EXISTS "_tws_heldback" (
	pipeline TEXT NOT NULL,
	consumer TEXT NOT NULL,
	at INTEGER NOT NULL,
	total INTEGER NOT NULL,
	worst TEXT NOT NULL, -- JSON
	PRIMARY KEY (pipeline, consumer)
) STRICT, WITHOUT ROWID`

	expireNotes   = `DELETE FROM "_tws_heldback" WHERE at <= ?`
	dropHeldBack  = `DELETE FROM "_tws_heldback" WHERE pipeline = ? AND consumer = ?`
	writeHeldBack = `INSERT OR REPLACE INTO "_tws_heldback" (pipeline, consumer, at, total, worst) VALUES (?, ?, ?, ?, ?)`
	allHeldBack   = `SELECT consumer, at, total, worst FROM "_tws_heldback" WHERE pipeline = ? AND at > ? ORDER BY consumer`
)

// SetHeldBack replaces the note of the consumer, or deletes it if h is empty. It also deletes expired notes.
func (s *State) SetHeldBack(ctx context.Context, h state.HeldBack) error {
	worst, err := h.Body()
	if err != nil {
		return err
	}
	return s.db.transact(ctx, func(w *Writer) error {
		if err := w.ExecDDL(makeHeldBack); err != nil {
			return err
		}
		if err := w.Exec(expireNotes, time.Now().Add(-state.HeldBackLifetime).UnixNano()); err != nil {
			return err
		}
		if h.Empty() {
			return w.Exec(dropHeldBack, s.pipeline, h.Consumer)
		}
		return w.Exec(writeHeldBack, s.pipeline, h.Consumer, h.At.UnixNano(), h.Total, worst)
	})
}

// HeldBack returns the notes of all consumers, in the order of their ids, without expired notes.
func (s *State) HeldBack(ctx context.Context) ([]state.HeldBack, error) {
	if made, err := HasTable(ctx, s.db, "_tws_heldback"); err != nil || !made {
		return nil, err
	}
	since := time.Now().Add(-state.HeldBackLifetime).UnixNano()
	return ReadAll(ctx, s.db, allHeldBack, []any{s.pipeline, since}, heldBack)
}

func heldBack(rows *sql.Rows) (h state.HeldBack, err error) {
	var at int64
	var worst string
	if err = rows.Scan(&h.Consumer, &at, &h.Total, &worst); err != nil {
		return h, err
	}
	h.At = time.Unix(0, at).UTC()
	err = h.SetBody(worst)
	return h, err
}

var _ state.Fingerprints = (*DB)(nil)

const (
	readFingerprints = `SELECT pipeline, sink, generation, birth, settings FROM "_tws_fingerprints"`

	writeFingerprint = `INSERT OR REPLACE INTO "_tws_fingerprints" (pipeline, sink, generation, birth, settings) VALUES (?, ?, ?, ?, ?)`
)

// Fingerprint returns the fingerprint of a sink's output. A fingerprint holds the settings that shaped the output.
// Fingerprint returns false if no fingerprint is stored.
func (db *DB) Fingerprint(ctx context.Context, pipeline, sink string) (state.Fingerprint, bool, error) {
	return ReadFirst(ctx, db, readFingerprints+` WHERE pipeline = ? AND sink = ?`, []any{pipeline, sink}, fingerprint)
}

// Fingerprints yields the fingerprints of all sinks, in the order of pipeline and sink. An error ends the sequence.
func (db *DB) Fingerprints(ctx context.Context) iter.Seq2[state.Fingerprint, error] {
	return Read(ctx, db, readFingerprints+` ORDER BY pipeline, sink`, nil, fingerprint)
}

func fingerprint(rows *sql.Rows) (f state.Fingerprint, err error) {
	var settings []byte
	if err := rows.Scan(&f.Pipeline, &f.Sink, &f.Generation, &f.Birth, &settings); err != nil {
		return f, err
	}
	err = json.Unmarshal(settings, &f.Settings)
	return f, err
}

// SetFingerprint replaces the fingerprint of a sink's output.
func (db *DB) SetFingerprint(ctx context.Context, f state.Fingerprint) error {
	settings, err := json.Marshal(f.Settings)
	if err == nil {
		_, err = db.execCount(ctx, writeFingerprint, f.Pipeline, f.Sink, f.Generation, f.Birth, string(settings))
	}
	return err
}
