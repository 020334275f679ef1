package rules

import (
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// When is a detector that raises the events of d for those changes for which c is true. It evaluates c only if d raises
// events.
func When(c pipeline.Condition, d pipeline.Detector) pipeline.Detector { return when{c, d} }

type when struct {
	condition pipeline.Condition
	detector  pipeline.Detector
}

var _ pipeline.Requirer = when{}

// Detect runs the detector, then the condition.
func (w when) Detect(dst []pipeline.Event, c *record.Change) ([]pipeline.Event, error) {
	events, err := w.detector.Detect(dst, c)
	if err != nil || len(events) == len(dst) {
		return dst, err
	}
	if ok, err := w.condition.Match(c); !ok || err != nil {
		return dst, err
	}
	return events, nil
}

// Requires merges the needs of both.
func (w when) Requires() pipeline.Needs {
	return mergeNeeds[any](w.condition, w.detector)
}
