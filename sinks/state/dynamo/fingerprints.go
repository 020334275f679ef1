package dynamo

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
)

var _ state.Fingerprints = (*DB)(nil)

func (db *DB) fingerprintRef(pipe, sink string) Ref {
	return db.ref(string(of(nil, pipe, "fingerprints")), fit(nil, string(pipeline.AppendEscaped(nil, sink)), MaxSortKey))
}

// Fingerprint is that of a sink's output; false where there is none.
func (db *DB) Fingerprint(ctx context.Context, pipe, sink string) (state.Fingerprint, bool, error) {
	items, err := db.Get(ctx, []Ref{db.fingerprintRef(pipe, sink)})
	if err != nil || items[0] == nil {
		return state.Fingerprint{}, false, err
	}
	f := state.Fingerprint{Pipeline: pipe, Sink: sink, Birth: Text(items[0], attrBirth)}
	f.Generation, err = strconv.Atoi(Digits(items[0], "generation"))
	if err == nil {
		err = json.Unmarshal([]byte(Text(items[0], "settings")), &f.Settings)
	}
	if err != nil {
		return state.Fingerprint{}, false, db.Damaged("a fingerprint of the sink "+sink, err)
	}
	return f, true, nil
}

// SetFingerprint replaces the fingerprint of a sink's output.
func (db *DB) SetFingerprint(ctx context.Context, f state.Fingerprint) error {
	settings, err := json.Marshal(f.Settings)
	if err != nil {
		return err
	}
	return db.put(ctx, db.fingerprintRef(f.Pipeline, f.Sink), Item{
		attrBirth: S(f.Birth), "generation": N(strconv.Itoa(f.Generation)), "settings": S(string(settings)),
	})
}
