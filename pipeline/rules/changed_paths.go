package rules

import (
	"slices"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Changed is true if the images differ at a path that matches one of the patterns. They differ if the values at the
// path differ by meaning (1.0 and 1 are equal), or if only one image has the path. So an INSERT or a REMOVE changes all
// attributes of the item.
func Changed(patterns ...item.Pattern) pipeline.Condition { return changed{slices.Clone(patterns)} }

// Unchanged is true if [Changed] is false.
func Unchanged(patterns ...item.Pattern) pipeline.Condition { return Not(Changed(patterns...)) }

type changed struct{ patterns []item.Pattern }

var _ pipeline.Requirer = changed{}

// Match compares the images.
func (cond changed) Match(c *record.Change) (bool, error) {
	if err := checkImages(c); err != nil {
		return false, err
	}
	return item.DifferAt(cond.patterns, c.Old, c.New), nil
}

// Requires both images.
func (changed) Requires() pipeline.Needs { return pipeline.Needs{Old: true, New: true} }

// PathChanged is a detector that raises an event for every path that matches one of the patterns, if the values at the
// path differ by meaning. The event has the path, the old value and the new value. One of the values is absent if only
// one image has the path. A pattern that ends in ** raises one event for the subtree.
//
// Only a MODIFY raises events. Use [Appeared] and [Disappeared] for an INSERT and a REMOVE.
func PathChanged(patterns ...item.Pattern) pipeline.Detector {
	patterns = slices.Clone(patterns)
	isNoModify := func(c *record.Change) bool { return c.Op != record.Modify }
	return imageDetector{isNoModify, func(dst []pipeline.Event, c *record.Change) []pipeline.Event {
		if !item.DifferAt(patterns, c.Old, c.New) { // the usual case: it allocates nothing
			return dst
		}
		return appendDifferences(dst, patterns, c)
	}}
}

func appendDifferences(dst []pipeline.Event, patterns []item.Pattern, c *record.Change) []pipeline.Event {
	for d := range item.DifferencesAt(patterns, c.Old, c.New) {
		dst = append(dst, pipeline.Event{Path: d.Path, Old: d.Old, New: d.New})
	}
	return dst
}
