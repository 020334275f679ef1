package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"iter"

	"github.com/tablewake/tablewake/sinks/state"
)

var _ state.Fingerprints = (*DB)(nil)

// Fingerprint is that of a sink's output; false where there is none.
func (db *DB) Fingerprint(ctx context.Context, pipeline, sink string) (state.Fingerprint, bool, error) {
	const q = `SELECT generation, birth, settings FROM "_tws_fingerprints" WHERE pipeline = ? AND sink = ?`
	return First(ctx, db, q, []any{pipeline, sink}, func(rows *sql.Rows) (state.Fingerprint, error) {
		f := state.Fingerprint{Pipeline: pipeline, Sink: sink}
		var settings []byte
		if err := rows.Scan(&f.Generation, &f.Birth, &settings); err != nil {
			return f, err
		}
		return f, json.Unmarshal(settings, &f.Settings)
	})
}

// Fingerprints are those of all sinks, in the order of pipeline and sink. A pulled
// error ends the sequence.
func (db *DB) Fingerprints(ctx context.Context) iter.Seq2[state.Fingerprint, error] {
	const q = `SELECT pipeline, sink, generation, birth, settings FROM "_tws_fingerprints" ORDER BY pipeline, sink`
	return Read(ctx, db, q, nil, func(rows *sql.Rows) (f state.Fingerprint, err error) {
		var settings []byte
		if err := rows.Scan(&f.Pipeline, &f.Sink, &f.Generation, &f.Birth, &settings); err != nil {
			return f, err
		}
		return f, json.Unmarshal(settings, &f.Settings)
	})
}

// SetFingerprint replaces the fingerprint of a sink's output.
func (db *DB) SetFingerprint(ctx context.Context, f state.Fingerprint) error {
	settings, err := json.Marshal(f.Settings)
	if err != nil {
		return err
	}
	return db.Write(ctx, func(w *Writer) error {
		return w.Exec(context.WithoutCancel(ctx), `INSERT OR REPLACE INTO "_tws_fingerprints" (pipeline, sink, generation, birth, settings) VALUES (?, ?, ?, ?, ?)`,
			f.Pipeline, f.Sink, f.Generation, f.Birth, string(settings))
	})
}
