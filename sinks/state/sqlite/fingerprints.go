package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"iter"

	"github.com/tablewake/tablewake/sinks/state"
)

var _ state.Fingerprints = (*DB)(nil)

const (
	readFingerprints = `SELECT pipeline, sink, generation, birth, settings FROM "_tws_fingerprints"`

	writeFingerprint = `INSERT OR REPLACE INTO "_tws_fingerprints" (pipeline, sink, generation, birth, settings) VALUES (?, ?, ?, ?, ?)`
)

// Fingerprint returns the fingerprint of a sink's output, the settings that shaped it. It returns false if no
// fingerprint is stored.
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
	return f, json.Unmarshal(settings, &f.Settings)
}

// SetFingerprint replaces the fingerprint of a sink's output.
func (db *DB) SetFingerprint(ctx context.Context, f state.Fingerprint) error {
	settings, err := json.Marshal(f.Settings)
	if err == nil {
		_, err = db.execCount(ctx, writeFingerprint, f.Pipeline, f.Sink, f.Generation, f.Birth, string(settings))
	}
	return err
}
