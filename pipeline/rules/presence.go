package rules

import (
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Appeared is a detector that raises an event if the attribute at path exists in the new image and not in the old
// image. It raises the event for a new item too. An attribute that is NULL exists.
func Appeared(path item.Path) pipeline.Detector { return newPresence(path, true) }

// Disappeared is a detector that raises an event if the attribute at path exists in the old image and not in the new
// image. It raises the event for a removed item too, whether a user or TTL removed it. An attribute that is NULL
// exists.
func Disappeared(path item.Path) pipeline.Detector { return newPresence(path, false) }

// newPresence returns a detector that raises an event if an attribute exists in only one image. If appears is true,
// that is the new image, else the old image.
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
