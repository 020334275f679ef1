package rules

import (
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// CrossedBelow is a detector that raises an event if the N at path was at or above limit and is below it now. Numbers
// are compared exactly. It raises no event if the value is not an N in both images. So an INSERT and a REMOVE raise no
// event.
func CrossedBelow(path item.Path, limit decimal.Decimal) pipeline.Detector {
	return threshold(path, limit, -1)
}

// CrossedAbove is a detector that raises an event if the N at path was at or below limit and is above it now. See
// [CrossedBelow] for the rest.
func CrossedAbove(path item.Path, limit decimal.Decimal) pipeline.Detector {
	return threshold(path, limit, 1)
}

// threshold returns a detector that raises an event if a number crosses the limit. side is -1 if the new value must be
// below the limit, and 1 if it must be above.
func threshold(path item.Path, limit decimal.Decimal, side int) pipeline.Detector {
	return imageDetector{isSnapshot, func(dst []pipeline.Event, c *record.Change) []pipeline.Event {
		old, _ := c.Old.At(path)
		new, _ := c.New.At(path)
		before, ok := old.Number()
		if !ok {
			return dst
		}
		after, ok := new.Number()
		if !ok || before.Cmp(limit) == side || after.Cmp(limit) != side {
			return dst
		}
		return append(dst, pipeline.Event{Path: path.String(), Old: old, New: new})
	}}
}
