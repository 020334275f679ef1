package pipeline

import (
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
