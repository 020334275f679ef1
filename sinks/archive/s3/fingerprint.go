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
	print, err := s.readFingerprint(ctx, s.fingerprint(pipeline, sink))
	if errors.Is(err, archive.ErrNoObject) || awserr.Code(err) == "NoSuchBucket" {
		return state.Fingerprint{}, false, nil
	}
	if err != nil {
		return state.Fingerprint{}, false, fmt.Errorf("fingerprint of sink %s: %w", sink, err)
	}
	return print, true, nil
}

// readFingerprint reads the fingerprint in the named object.
func (s *Store) readFingerprint(ctx context.Context, name string) (print state.Fingerprint, err error) {
	r, err := s.Get(ctx, name)
	if err != nil {
		return state.Fingerprint{}, err
	}
	b, err := bounded.ReadAll(r, bounded.Object)
	if err := errors.Join(err, r.Close()); err != nil {
		return state.Fingerprint{}, err
	}
	err = json.Unmarshal(b, &print)
	return print, err
}

// SetFingerprint writes the fingerprint of a sink.
func (s *Store) SetFingerprint(ctx context.Context, print state.Fingerprint) error {
	b, err := json.MarshalIndent(print, "", "  ")
	if err != nil {
		return fmt.Errorf("fingerprint of sink %s: %w", print.Sink, err)
	}
	in := s.newPutInput(s.fingerprint(print.Pipeline, print.Sink), "application/json", append(b, '\n'))
	if _, err := s.client.PutObject(ctx, in); err != nil {
		return fmt.Errorf("fingerprint of sink %s: %w", print.Sink, s.callError(ctx, "PutObject", err))
	}
	return nil
}

// fingerprint returns the name of the object with the fingerprint of a sink.
func (s *Store) fingerprint(pipeline, sink string) string {
	return s.ownName(url.QueryEscape(pipeline) + "@" + url.QueryEscape(sink) + ".json")
}
