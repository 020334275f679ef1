package sinks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
)

// ofSource holds changes to the source that the file names. Whoever is handed records, as a
// Lambda is, may be handed others by mistake: versions that are times, which no version of
// the table's own stream can pass, or, live, those of another table, whose keys are alike. A
// saved record may be of a table that has another name.
func ofSource(cfg *config.Config, live bool) func(c *pipeline.Change) error {
	place := fmt.Sprintf("%s:%d", cfg.File, cfg.Source.Line)
	kinesis := cfg.Source.Kinesis != ""
	var tables []string
	for _, t := range cfg.Source.Tables {
		tables = append(tables, t.Name)
	}
	return func(c *pipeline.Change) error {
		switch {
		case c.Version.Kinesis() && !kinesis:
			return errs.Errorf("%s: source: a record came over a Kinesis stream: its version is a time, which the table's own stream could never pass: write source.kinesis, or bring the table's own records", place)
		case kinesis && !c.Version.Kinesis():
			return errs.Errorf("%s: source.kinesis: a record came over the table's own stream: remove source.kinesis, or bring those of the Kinesis stream", place)
		case live && !kinesis && c.Table != "" && !slices.Contains(tables, c.Table):
			return errs.Errorf("%s: source: a record is of the table %s, and not of %s: look where the event source mapping points", place, c.Table, strings.Join(tables, ", "))
		}
		return nil
	}
}

// otherTable drops what is not of the table of that name: several tables may write to one
// Kinesis stream.
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
