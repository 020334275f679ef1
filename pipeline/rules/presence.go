package rules

import (
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Appeared is a detector that raises an event when the attribute at path exists
// in the new image and did not in the old one: also when the item itself is new.
// An attribute that is NULL exists.
func Appeared(path item.Path) pipeline.Detector { return presence{path, true} }

// Disappeared is a detector that raises an event when the attribute at path
// existed in the old image and does not in the new one: also when the item itself
// is removed, by whomever. An attribute that is NULL exists.
func Disappeared(path item.Path) pipeline.Detector { return presence{path, false} }

type presence struct {
	path    item.Path
	appears bool
}

var _ pipeline.Requirer = presence{}

// Detect looks the attribute up in both images.
func (p presence) Detect(dst []pipeline.Event, c *record.Change) ([]pipeline.Event, error) {
	if c.Op == record.Snapshot {
		return dst, nil
	}
	if err := checkImages(c); err != nil {
		return dst, err
	}
	old, was := c.Old.At(p.path)
	new, is := c.New.At(p.path)
	if was == is || is != p.appears {
		return dst, nil
	}
	return append(dst, pipeline.Event{Path: p.path.String(), Old: old, New: new}), nil
}

// Requires both images.
func (presence) Requires() pipeline.Needs { return pipeline.Needs{Old: true, New: true} }
