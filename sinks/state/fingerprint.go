package state

import (
	"context"
	"maps"
	"slices"
)

// Fingerprint is the settings that shaped the output of a sink. It is kept beside
// that output: rows, documents and objects of other settings would mix with it.
type Fingerprint struct {
	Pipeline   string            `json:"pipeline"`
	Sink       string            `json:"sink"`
	Generation int               `json:"generation"`      // of the output; the first is 1
	Birth      string            `json:"birth,omitempty"` // of the output ([Birth]); "" where the pipeline has no state
	Settings   map[string]string `json:"settings"`        // by the setting's path in the sink: "view.key.PK"
}

// Fingerprints keeps fingerprints. A store of rows, documents, objects or messages
// implements it for the sinks that write to it.
type Fingerprints interface {
	// Fingerprint is that of a sink's output; false where there is none.
	Fingerprint(ctx context.Context, pipeline, sink string) (Fingerprint, bool, error)
	// SetFingerprint blocks until f is durable. It replaces what was there.
	SetFingerprint(ctx context.Context, f Fingerprint) error
}

// Changed names the settings that differ, sorted; of each, what it is in f and in
// now is in their Settings, or absent there.
func (f Fingerprint) Changed(now Fingerprint) []string {
	names := make(map[string]bool)
	for _, s := range []map[string]string{f.Settings, now.Settings} {
		for name := range s {
			was, had := f.Settings[name]
			is, has := now.Settings[name]
			names[name] = was != is || had != has
		}
	}
	maps.DeleteFunc(names, func(_ string, differs bool) bool { return !differs })
	return slices.Sorted(maps.Keys(names))
}
