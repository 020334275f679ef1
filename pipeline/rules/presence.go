package rules

import (
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Appeared is a detector that raises an event if the attribute at path exists in the new image and not in the old one. A
// new item raises it too. An attribute that is NULL exists.
func Appeared(path item.Path) pipeline.Detector { return presence{path, true} }

// Disappeared is a detector that raises an event if the attribute at path exists in the old image and not in the new one.
// A removed item raises it too, whoever removed it. An attribute that is NULL exists.
func Disappeared(path item.Path) pipeline.Detector { return presence{path, false} }

// presence raises an event if an attribute exists in only one of the images.
type presence struct {
	path    item.Path
	appears bool // in the new image; else in the old one
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
	old, inOld := c.Old.At(p.path)
	new, inNew := c.New.At(p.path)
	if inOld == inNew || inNew != p.appears {
		return dst, nil
	}
	return append(dst, pipeline.Event{Path: p.path.String(), Old: old, New: new}), nil
}

// Requires both images.
func (presence) Requires() pipeline.Needs { return pipeline.Needs{Old: true, New: true} }
