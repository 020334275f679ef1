package sinks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/rules"
)

// newSourceCheck returns a check that a change comes from the source that the file names. A Lambda function, for
// example, may receive other records by mistake.
//
// If the file names the table's own stream, the check refuses changes of a Kinesis stream: the version of such a change
// is a time, which is above every version of the table's own stream, so that all later changes of its item would look
// old. If the file names a Kinesis stream, the check refuses changes of the table's own stream, which would look old.
//
// If live is true and the file names the table's own stream, the check also refuses changes of another table, because
// items of two tables may have the same keys. If live is false, the check accepts them, because a saved record may come
// from a table with another name.
func newSourceCheck(cfg *config.Config, live bool) func(c *record.Change) error {
	fileLine := fmt.Sprintf("%s:%d", cfg.File, cfg.Source.Line)
	wantsKinesis := cfg.Source.Kinesis != ""
	checksTable := live && !wantsKinesis
	var tables []string
	for _, t := range cfg.Source.Tables {
		tables = append(tables, t.Name)
	}
	return func(c *record.Change) error {
		isKinesis := c.Version.Kinesis()
		switch {
		case isKinesis && !wantsKinesis:
			return errs.Errorf(
				"%s: source: a record came over a Kinesis stream: its version is a time, which the table's own stream could never pass: write source.kinesis, or bring the table's own records", fileLine)
		case !isKinesis && wantsKinesis:
			return errs.Errorf(
				"%s: source.kinesis: a record came over the table's own stream: remove source.kinesis, or bring those of the Kinesis stream", fileLine)
		case checksTable && c.Table != "" && !slices.Contains(tables, c.Table):
			return errs.Errorf(
				"%s: source: a record is of the table %s, and not of %s: look where the event source mapping points", fileLine,
				c.Table, strings.Join(tables, ", "))
		}
		return nil
	}
}

// keepTable returns a filter that keeps only the changes of a table, because several tables may write to one Kinesis
// stream. It drops the others with the reason other_table.
func keepTable(table string) pipeline.Filter {
	return rules.Keep("other_table", pipeline.ConditionFunc(func(c *record.Change) (bool, error) {
		return c.Table == table, nil
	}))
}

// OwnWrites returns a filter that drops the pipeline's own writes, with the reason own_write. An item that the pipeline
// wrote has the attribute _tw, and _tw.by is the name of the pipeline. The filter looks for _tw in the new image, or in
// the old image if the item was deleted. The pipeline writes such items, for example, if a view is stored in its own
// source table. If a user rewrites such a row, _tw is gone, and the change passes.
func OwnWrites(name string) pipeline.Filter {
	return rules.Drop("own_write", pipeline.ConditionFunc(func(c *record.Change) (bool, error) {
		image := c.New
		if c.Removed() {
			image = c.Old
		}
		mark, _ := image.Get("_tw")
		writer, _ := mark.Get("by")
		writerName, ok := writer.Text()
		return ok && writerName == name, nil
	}))
}
