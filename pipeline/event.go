package pipeline

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Event is something that a detector saw in a change.
type Event struct {
	Detector string
	Ordinal  int    // among the events that the detector raised in the change, from 0
	Path     string // of the attribute, where there is one
	Old, New item.Value
	Change   *record.Change
}

// ID is [EventID]: the same for every delivery of the change. It is made when it is asked
// for; "" of an event of no change.
func (e *Event) ID() string {
	if e.Change == nil {
		return ""
	}
	return EventID(e.Change, e.Detector, e.Ordinal)
}

// Detector compares the images of a change and appends the events it sees to dst.
// Detect is called concurrently and must be pure. The pipeline sets Detector, Ordinal
// and Change.
type Detector interface {
	Detect(dst []Event, c *record.Change) ([]Event, error)
}

// DetectorFunc makes a function a Detector.
type DetectorFunc func(dst []Event, c *record.Change) ([]Event, error)

// Detect calls f.
func (f DetectorFunc) Detect(dst []Event, c *record.Change) ([]Event, error) { return f(dst, c) }

// EventID is the id of the event that detector raised in c as its ordinal-th,
// from 0: 32 hex digits, a hash of the stream's ARN, the item's key, the change's
// version, the detector's name and the ordinal. It is the same for every delivery
// of the change, and for every process.
//
// Kinesis may hold a change twice, with a sequence number for each: there the change's
// creation time and its own eventID are hashed in place of its version.
func EventID(c *record.Change, detector string, ordinal int) string {
	var buf [256]byte
	b := buf[:0]
	for _, part := range []string{c.StreamARN, string(c.Key), detector} {
		b = binary.AppendUvarint(b, uint64(len(part)))
		b = append(b, part...)
	}
	if id := kinesisID(c); id != "" {
		b = fmt.Appendf(b, "k%016d", c.Version.Epoch()) // a version without its sequence number
		b = binary.AppendUvarint(b, uint64(len(id)))
		b = append(b, id...)
	} else {
		b = c.Version.Append(b)
	}
	b = binary.AppendUvarint(b, uint64(ordinal))
	sum := sha256.Sum256(b)
	var text [32]byte
	hex.Encode(text[:], sum[:16])
	return string(text[:])
}

// kinesisID is the eventID of a change that came by Kinesis: what its copies have in common. "" of others.
func kinesisID(c *record.Change) string {
	if !c.Version.Kinesis() {
		return ""
	}
	return c.EventID
}

// detectorStage is a Detector of the pipeline and what it is called.
type detectorStage struct {
	Detector
	name  string
	stage string
}

func (d *detectorStage) detect(dst []Event, c *record.Change) (events []Event, err error) {
	defer func() {
		if r := recover(); r != nil {
			events, err = nil, recovered(d.stage, r)
		}
	}()
	events, err = d.Detect(dst, c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.stage, err)
	}
	return events, nil
}
