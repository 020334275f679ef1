package explain

import (
	"fmt"
	"strconv"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/view/dynamo"
)

// unitCost is what a change costs a sink in DynamoDB's units, as JSON has it.
type unitCost struct {
	WriteUnits float64 `json:"write_units"`
	ReadUnits  float64 `json:"read_units"`
	Why        string  `json:"why"`
}

// costOf is what the ops of a change cost on DynamoDB; nil where they write nothing there.
func costOf(c *record.Change, ops []pipeline.Op) *unitCost {
	cost, ok := dynamo.CostOf(c, ops)
	if !ok {
		return nil
	}
	return &unitCost{cost.WriteUnits, cost.ReadUnits, cost.Why}
}

// String is a line of `explain`.
func (u unitCost) String() string {
	return fmt.Sprintf("on DynamoDB %s write and %s read units: %s", units(u.WriteUnits), units(u.ReadUnits), u.Why)
}

// units is a number of units without digits that mean nothing.
func units(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
