package pipeline

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Event is an occurrence that a detector found in a change.
type Event struct {
	Detector string
	Ordinal  int    // index among the events of the detector for the change
	Path     string // path of the attribute; "" if the event has none
	Old, New item.Value
	Change   *record.Change
}

// ID returns [EventID], which is the same for every delivery of the change. It is "" for an event without a change.
func (e *Event) ID() string {
	if e.Change == nil {
		return ""
	}
	return EventID(e.Change, e.Detector, e.Ordinal)
}

// Detector compares the images of a change and appends events to dst. Detect is called concurrently and must be pure.
// The pipeline sets Event.Detector, Ordinal and Change.
type Detector interface {
	Detect(dst []Event, c *record.Change) ([]Event, error)
}

// DetectorFunc adapts a function to a Detector.
type DetectorFunc func(dst []Event, c *record.Change) ([]Event, error)

// Detect calls f.
func (f DetectorFunc) Detect(dst []Event, c *record.Change) ([]Event, error) { return f(dst, c) }

// EventID returns the id of an event, 32 hex digits. It is a hash of five things: the ARN of the stream, the key of the
// item, the version of the change, the name of the detector, and [Event].Ordinal. So the id is the same for every
// delivery of the change, in every process.
//
// A Kinesis stream can contain a change twice, with different sequence numbers. So for a change that came by Kinesis,
// the creation time and the eventID of the record replace the version.
func EventID(c *record.Change, detector string, ordinal int) string {
	var buf [256]byte
	b := buf[:0]
	for _, part := range []string{c.StreamARN, string(c.Key), detector} {
		b = binary.AppendUvarint(b, uint64(len(part)))
		b = append(b, part...)
	}
	if c.Version.Kinesis() && c.EventID != "" {
		b = fmt.Appendf(b, "k%016d", c.Version.Epoch()) // a version without its sequence number
		b = binary.AppendUvarint(b, uint64(len(c.EventID)))
		b = append(b, c.EventID...)
	} else {
		b = c.Version.Append(b)
	}
	b = binary.AppendUvarint(b, uint64(ordinal))
	sum := sha256.Sum256(b)
	var text [32]byte
	hex.Encode(text[:], sum[:16])
	return string(text[:])
}

// detectorStage is a Detector with its name. In the texts of errors, stage names the detector.
type detectorStage struct {
	Detector
	name  string
	stage string
}

// detect appends the events of a change to dst.
func (d *detectorStage) detect(dst []Event, c *record.Change) (events []Event, err error) {
	defer func() {
		if r := recover(); r != nil {
			events, err = nil, panicError(d.stage, r)
		}
	}()
	events, err = d.Detect(dst, c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.stage, err)
	}
	for i := len(dst); i < len(events); i++ {
		e := &events[i]
		e.Detector, e.Ordinal, e.Change = d.name, i-len(dst), c
	}
	return events, nil
}
