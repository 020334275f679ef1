package dynamo

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/tablewake/tablewake/sinks/state"
)

var _ state.Fingerprints = (*DB)(nil)

// Fingerprint returns the fingerprint of a sink's output, the settings that shaped it. It returns false if no
// fingerprint is stored.
func (db *DB) Fingerprint(ctx context.Context, pipe, sink string) (state.Fingerprint, bool, error) {
	item, err := db.getOne(ctx, db.noteRef(pipe, "fingerprints", sink))
	if err != nil || item == nil {
		return state.Fingerprint{}, false, err
	}
	f := state.Fingerprint{Pipeline: pipe, Sink: sink}
	err = cmp.Or(parseFields(item, fingerprintFields(&f)), json.Unmarshal([]byte(Text(item, "settings")), &f.Settings))
	if err := db.damagedIf(err, "a fingerprint of the sink "+sink); err != nil {
		return state.Fingerprint{}, false, err
	}
	return f, true, nil
}

func fingerprintFields(f *state.Fingerprint) []field {
	return []field{{attrBirth, &f.Birth, always}, {"generation", &f.Generation, always}}
}

// SetFingerprint replaces the fingerprint of a sink's output.
func (db *DB) SetFingerprint(ctx context.Context, f state.Fingerprint) error {
	settings, err := json.Marshal(f.Settings)
	if err != nil {
		return err
	}
	ref := db.noteRef(f.Pipeline, "fingerprints", f.Sink)
	item := withFields(ref.Key, fingerprintFields(&f))
	item["settings"] = S(string(settings))
	return db.Write(ctx, Put(ref.Table, item, Condition{}))
}
