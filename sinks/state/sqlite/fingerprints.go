package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/tablewake/tablewake/sinks/state"
)

var _ state.Fingerprints = (*DB)(nil)

// Fingerprint is that of a sink's output; false where there is none, as in a file
// of an older layout that was opened to be read.
func (db *DB) Fingerprint(ctx context.Context, pipeline, sink string) (state.Fingerprint, bool, error) {
	f := state.Fingerprint{Pipeline: pipeline, Sink: sink}
	if found, err := db.format(ctx, db.reader); err != nil || found < stateFormat {
		return state.Fingerprint{}, false, err
	}
	var settings string
	err := db.reader.QueryRowContext(ctx, `SELECT generation, settings FROM "_tw_fingerprints" WHERE pipeline = ? AND sink = ?`, pipeline, sink).
		Scan(&f.Generation, &settings)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return state.Fingerprint{}, false, nil
	case err != nil:
		return state.Fingerprint{}, false, db.Failed("read", err)
	}
	if err := json.Unmarshal([]byte(settings), &f.Settings); err != nil {
		return state.Fingerprint{}, false, db.Damaged("the fingerprint of the sink "+sink, err)
	}
	return f, true, nil
}

// SetFingerprint replaces the fingerprint of a sink's output.
func (db *DB) SetFingerprint(ctx context.Context, f state.Fingerprint) error {
	settings, err := json.Marshal(f.Settings)
	if err != nil {
		return err
	}
	return db.Write(ctx, func(w *Writer) error {
		return w.Exec(context.WithoutCancel(ctx), `INSERT OR REPLACE INTO "_tw_fingerprints" (pipeline, sink, generation, settings) VALUES (?, ?, ?, ?)`,
			f.Pipeline, f.Sink, f.Generation, string(settings))
	})
}
