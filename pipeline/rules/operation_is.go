package rules

import (
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// OperationIs is a detector that raises an event for each change with one of these operations. The event has no path
// and no values. A snapshot raises no event, because nothing happened to the item.
func OperationIs(ops ...record.Operation) pipeline.Detector {
	return operationIs(Operations(ops...).(operations))
}

type operationIs operations

var _ pipeline.Requirer = operationIs(0)

// Detect compares the operation.
func (o operationIs) Detect(dst []pipeline.Event, c *record.Change) ([]pipeline.Event, error) {
	if is, err := operations(o).Match(c); !is || err != nil || c.Op == record.Snapshot {
		return dst, err
	}
	return append(dst, pipeline.Event{}), nil
}

// Requires no image.
func (operationIs) Requires() pipeline.Needs { return pipeline.Needs{} }
