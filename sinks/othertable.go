package sinks

import "github.com/tablewake/tablewake/pipeline"

// otherTable drops what is not of the table of that name: several tables may write to one
// Kinesis stream, and their keys are alike.
type otherTable string

var (
	_ pipeline.Filter = otherTable("")
	_ pipeline.Named  = otherTable("")
)

// Check looks at the table that the record names.
func (table otherTable) Check(c *pipeline.Change) (pipeline.Verdict, error) {
	return pipeline.Verdict{Drop: c.Table != string(table)}, nil
}

// Name is what the drops are counted by.
func (otherTable) Name() string { return "other_table" }
