package s3

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"

	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/pipeline/bounded"
	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/state"
)

// Fingerprint reads the fingerprint of a sink. The bool is false if there is no fingerprint, or no bucket.
func (s *Store) Fingerprint(ctx context.Context, pipeline, sink string) (print state.Fingerprint, ok bool, err error) {
	r, err := s.Get(ctx, s.fingerprintName(pipeline, sink))
	if errors.Is(err, archive.ErrNoObject) || awserr.Code(err) == "NoSuchBucket" {
		return state.Fingerprint{}, false, nil
	}
	if err == nil {
		print, err = readFingerprint(r, s.fingerprintName(pipeline, sink))
	}
	if err != nil {
		return state.Fingerprint{}, false, fmt.Errorf("fingerprint of sink %s: %w", sink, err)
	}
	return print, true, nil
}

// readFingerprint reads a fingerprint from the body of the object of that name, and closes the body.
func readFingerprint(body io.ReadCloser, name string) (print state.Fingerprint, err error) {
	b, err := bounded.ReadAll(body, bounded.Object)
	if err := errors.Join(err, body.Close()); err != nil {
		return state.Fingerprint{}, err
	}
	return state.ParseFingerprint(b, "the object "+name)
}

// SetFingerprint writes the fingerprint of a sink.
func (s *Store) SetFingerprint(ctx context.Context, print state.Fingerprint) error {
	b, err := json.MarshalIndent(print, "", "  ")
	if err != nil {
		return fmt.Errorf("fingerprint of sink %s: %w", print.Sink, err)
	}
	in := s.newPutInput(s.fingerprintName(print.Pipeline, print.Sink), "application/json", append(b, '\n'))
	if _, err := s.client.PutObject(ctx, in); err != nil {
		return fmt.Errorf("fingerprint of sink %s: %w", print.Sink, s.callError(ctx, "PutObject", err))
	}
	return nil
}

// fingerprintName returns the name of the object with the fingerprint of a sink.
func (s *Store) fingerprintName(pipeline, sink string) string {
	return s.ownName(url.QueryEscape(pipeline) + "@" + url.QueryEscape(sink) + ".json")
}
