package state

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Fingerprint holds the settings that shaped the output of a sink. It is stored beside the output, so that a sink with
// other settings does not write to it.
type Fingerprint struct {
	Pipeline   string `json:"pipeline"`
	Sink       string `json:"sink"`
	Generation int    `json:"generation"` // generation of the output; the first is 1
	// random ID of the output, see [Birth]; "" if the pipeline has no state
	Birth    string            `json:"birth,omitempty"`
	Settings map[string]string `json:"settings"` // settings by their paths in the sink, such as "view.key.PK"
}

// Fingerprints keeps fingerprints. A store of rows, documents, objects or messages
// implements it for the sinks that write to it.
type Fingerprints interface {
	// Fingerprint returns the fingerprint of a sink's output. It returns false if no fingerprint is stored.
	Fingerprint(ctx context.Context, pipeline, sink string) (Fingerprint, bool, error)
	// SetFingerprint replaces the fingerprint, and blocks until f is durable.
	SetFingerprint(ctx context.Context, f Fingerprint) error
}

// ParseFingerprint parses the JSON of a fingerprint. place is where it is stored, for the error.
func ParseFingerprint(b []byte, place string) (f Fingerprint, err error) {
	if err := json.Unmarshal(b, &f); err != nil {
		return Fingerprint{}, fmt.Errorf("%s, which has the settings of the output, is damaged: if the configuration is still "+
			"that of the output, remove it and start again: %w", place, err)
	}
	return f, nil
}

// Changed returns the names of the settings that differ between f and now, sorted.
func (f Fingerprint) Changed(now Fingerprint) []string {
	either := make(map[string]string)
	maps.Copy(either, f.Settings)
	maps.Copy(either, now.Settings)

	var changed []string
	for name := range either {
		before, wasSet := f.Settings[name]
		after, isSet := now.Settings[name]
		if before != after || wasSet != isSet {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	return changed
}
