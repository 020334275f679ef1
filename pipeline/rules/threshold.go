package rules

import (
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// CrossedBelow is a detector that raises an event if the N at path was at or above limit and is below it now. Numbers are
// compared exactly. An INSERT, a REMOVE, and a value that is not an N in both images raise no event.
func CrossedBelow(path item.Path, limit decimal.Decimal) pipeline.Detector {
	return threshold{path, limit, -1}
}

// CrossedAbove is a detector that raises an event if the N at path was at or below limit and is above it now. See
// [CrossedBelow] for the rest.
func CrossedAbove(path item.Path, limit decimal.Decimal) pipeline.Detector {
	return threshold{path, limit, 1}
}

// threshold raises an event if a number crosses a limit.
type threshold struct {
	path  item.Path
	limit decimal.Decimal
	side  int // -1: the new value must be below the limit, 1: above
}

var _ pipeline.Requirer = threshold{}

// Detect compares the number of both images with the limit.
func (t threshold) Detect(dst []pipeline.Event, c *record.Change) ([]pipeline.Event, error) {
	if c.Op == record.Snapshot {
		return dst, nil
	}
	if err := checkImages(c); err != nil {
		return dst, err
	}
	old, _ := c.Old.At(t.path)
	new, _ := c.New.At(t.path)
	before, ok := old.Number()
	if !ok {
		return dst, nil
	}
	after, ok := new.Number()
	if !ok || before.Cmp(t.limit) == t.side || after.Cmp(t.limit) != t.side {
		return dst, nil
	}
	return append(dst, pipeline.Event{Path: t.path.String(), Old: old, New: new}), nil
}

// Requires both images.
func (threshold) Requires() pipeline.Needs { return pipeline.Needs{Old: true, New: true} }
