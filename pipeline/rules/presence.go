package rules

import (
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Appeared is a detector that raises an event if the attribute at path exists in the new image and not in the old
// image. It raises the event for a new item too. An attribute that is NULL exists.
func Appeared(path item.Path) pipeline.Detector {
	return presenceDetector(path, func(inOld, inNew bool) bool { return inNew && !inOld })
}

// Disappeared is a detector that raises an event if the attribute at path exists in the old image and not in the new
// image. It raises the event for a removed item too, whether a user or TTL removed it. An attribute that is NULL
// exists.
func Disappeared(path item.Path) pipeline.Detector {
	return presenceDetector(path, func(inOld, inNew bool) bool { return inOld && !inNew })
}

// presenceDetector returns a detector that raises an event if the images in which an attribute exists meet a condition.
func presenceDetector(path item.Path, meets func(inOld, inNew bool) bool) pipeline.Detector {
	return imageDetector{isSnapshot, func(dst []pipeline.Event, c *record.Change) []pipeline.Event {
		old, inOld := c.Old.At(path)
		new, inNew := c.New.At(path)
		if !meets(inOld, inNew) {
			return dst
		}
		return append(dst, pipeline.Event{Path: path.String(), Old: old, New: new})
	}}
}
