package rules

import (
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Appeared is a detector that raises an event if the attribute at path exists in the new image and not in the old one.
// A new item raises it too. An attribute that is NULL exists.
func Appeared(path item.Path) pipeline.Detector { return newPresence(path, true) }

// Disappeared is a detector that raises an event if the attribute at path exists in the old image and not in the new
// one. A removed item raises it too, whoever removed it. An attribute that is NULL exists.
func Disappeared(path item.Path) pipeline.Detector { return newPresence(path, false) }

// newPresence returns a detector that raises an event if an attribute exists in only one of the images: the new one if
// appears, else the old one.
func newPresence(path item.Path, appears bool) pipeline.Detector {
	return imageDetector{isSnapshot, func(dst []pipeline.Event, c *record.Change) []pipeline.Event {
		old, inOld := c.Old.At(path)
		new, inNew := c.New.At(path)
		if inOld == inNew || inNew != appears {
			return dst
		}
		return append(dst, pipeline.Event{Path: path.String(), Old: old, New: new})
	}}
}
