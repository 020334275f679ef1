package s3

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/pipeline/bounded"
	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/state"
)

// Fingerprint reads the fingerprint of a sink. The bool is false if there is no fingerprint, or no bucket.
func (s *Store) Fingerprint(ctx context.Context, pipeline, sink string) (state.Fingerprint, bool, error) {
	r, err := s.Get(ctx, s.fingerprint(pipeline, sink))
	if errors.Is(err, archive.ErrNoObject) || awserr.Code(err) == "NoSuchBucket" {
		return state.Fingerprint{}, false, nil
	}
	var p state.Fingerprint
	if err == nil {
		var b []byte
		b, err = bounded.ReadAll(r, bounded.Object)
		if err = errors.Join(err, r.Close()); err == nil {
			err = json.Unmarshal(b, &p)
		}
	}
	if err != nil {
		return state.Fingerprint{}, false, fmt.Errorf("fingerprint of sink %s: %w", sink, err)
	}
	return p, true, nil
}

// SetFingerprint writes the fingerprint of a sink.
func (s *Store) SetFingerprint(ctx context.Context, p state.Fingerprint) error {
	b, err := json.MarshalIndent(p, "", "  ")
	if err == nil {
		_, err = s.client.PutObject(ctx, s.newPutInput(s.fingerprint(p.Pipeline, p.Sink), "application/json", append(b, '\n')))
		if err != nil {
			err = s.callError(ctx, "PutObject", err)
		}
	}
	if err != nil {
		return fmt.Errorf("fingerprint of sink %s: %w", p.Sink, err)
	}
	return nil
}

func (s *Store) fingerprint(pipeline, sink string) string {
	return s.ownName(url.QueryEscape(pipeline) + "@" + url.QueryEscape(sink) + ".json")
}
