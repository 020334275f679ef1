package dynamo

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/tablewake/tablewake/sinks/state"
)

var _ state.Fingerprints = (*DB)(nil)

// Fingerprint returns the fingerprint of a sink's output; false if there is none.
func (db *DB) Fingerprint(ctx context.Context, pipe, sink string) (state.Fingerprint, bool, error) {
	item, err := db.getOne(ctx, db.noteRef(pipe, "fingerprints", sink))
	if err != nil || item == nil {
		return state.Fingerprint{}, false, err
	}
	a := attributes{item: item}
	f := state.Fingerprint{Pipeline: pipe, Sink: sink, Birth: a.text(attrBirth), Generation: int(a.number("generation"))}
	a.note(json.Unmarshal([]byte(a.text("settings")), &f.Settings))
	if err := a.damaged(db, "a fingerprint of the sink "+sink); err != nil {
		return state.Fingerprint{}, false, err
	}
	return f, true, nil
}

// SetFingerprint replaces the fingerprint of a sink's output.
func (db *DB) SetFingerprint(ctx context.Context, f state.Fingerprint) error {
	settings, err := json.Marshal(f.Settings)
	if err != nil {
		return err
	}
	return db.put(ctx, db.noteRef(f.Pipeline, "fingerprints", f.Sink), Item{
		attrBirth: S(f.Birth), "generation": N(strconv.Itoa(f.Generation)), "settings": S(string(settings)),
	})
}
