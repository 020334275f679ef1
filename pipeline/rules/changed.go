package rules

import (
	"slices"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Changed is true when, for one of the patterns, some place that it fits holds
// different values in the old and the new image, by meaning, or exists in one of
// them only. So an INSERT or a REMOVE changes every attribute that the item has.
func Changed(patterns ...item.Pattern) pipeline.Condition { return changed{slices.Clone(patterns)} }

// Unchanged is the contrary of [Changed].
func Unchanged(patterns ...item.Pattern) pipeline.Condition { return Not(Changed(patterns...)) }

type changed struct{ patterns []item.Pattern }

var _ pipeline.Requirer = changed{}

// Match compares the images.
func (ch changed) Match(c *record.Change) (bool, error) {
	if err := checkImages(c); err != nil {
		return false, err
	}
	return item.DifferAt(ch.patterns, c.Old, c.New), nil
}

// Requires both images.
func (changed) Requires() pipeline.Needs { return pipeline.Needs{Old: true, New: true} }

// PathChanged is a detector that raises an event for every place that fits one of
// the patterns and differs between the images, by meaning: with the path of that
// place and its old and new value, one of them absent where the place exists on
// one side only. A pattern that ends in ** raises one event for the subtree.
//
// Only a MODIFY raises events: an item that appears or goes has not changed.
// See [Appeared] and [Disappeared] for those.
func PathChanged(patterns ...item.Pattern) pipeline.Detector {
	return pathChanged{slices.Clone(patterns)}
}

type pathChanged struct{ patterns []item.Pattern }

var _ pipeline.Requirer = pathChanged{}

// Detect compares the images.
func (d pathChanged) Detect(dst []pipeline.Event, c *record.Change) ([]pipeline.Event, error) {
	if c.Op != record.Modify {
		return dst, nil
	}
	if err := checkImages(c); err != nil {
		return dst, err
	}
	if !item.DifferAt(d.patterns, c.Old, c.New) { // as a rule, and that costs no allocation
		return dst, nil
	}
	return d.events(dst, c), nil
}

// events appends an event for each difference.
func (d pathChanged) events(dst []pipeline.Event, c *record.Change) []pipeline.Event {
	for diff := range item.DifferencesAt(d.patterns, c.Old, c.New) {
		dst = append(dst, pipeline.Event{Path: diff.Path, Old: diff.Old, New: diff.New})
	}
	return dst
}

// Requires both images.
func (pathChanged) Requires() pipeline.Needs { return pipeline.Needs{Old: true, New: true} }
