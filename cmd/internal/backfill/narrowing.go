package backfill

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/state"
)

// takenItems selects the items of a narrowing that a sink takes. An item for which a filter or the condition of the
// sink returns an error counts as selected, because its dead letter fills the sink later.
type takenItems struct {
	*snapshot.ItemSelection
	filters []pipeline.Filter
	when    pipeline.ItemCondition // nil: all items
}

// Match implements [pipeline.Condition].
func (t takenItems) Match(c *record.Change) (bool, error) {
	if matches, err := t.ItemSelection.Match(c); !matches && err == nil {
		return false, nil
	}
	for _, f := range t.filters {
		if verdict, err := f.Check(c); err != nil || verdict.Drop {
			return false, err
		}
	}
	takes := func(image item.Image) bool {
		if !image.Exists() {
			return false
		}
		matches, err := t.when.Match(image)
		return matches || err != nil
	}
	return t.when == nil || takes(c.New) || takes(c.Old), nil
}

// selections returns the items that each sink takes, by its name; nil if all items are read.
func (j *job) selections() map[string]pipeline.Condition {
	if j.narrowing == nil {
		return nil
	}
	selections := make(map[string]pipeline.Condition)
	isGo := func(f pipeline.Filter) bool { _, is := f.(*config.GoFilter); return is }
	for _, s := range j.selectedSinks() {
		selections[s.Name] = takenItems{j.narrowing, slices.DeleteFunc(s.FiltersInOrder(), isGo), s.ItemCondition()}
	}
	return selections
}

// withNarrowing returns the name of a source, followed by its narrowing.
func (j *job) withNarrowing(source string) string {
	narrowing := j.narrowing.String()
	if strings.HasSuffix(source, narrowing) { // also if there is no narrowing
		return source
	}
	return source + " " + narrowing
}

// leaveOutUnselected takes each sink out of the run for which the narrowing selects no item, and returns their names.
// Nothing is written in them, so another run can fill them.
func (j *job) leaveOutUnselected(ctx context.Context, src source) ([]string, error) {
	names, err := src.Unselected(ctx)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	return names, j.abandonSinks(ctx, names)
}

// unselectedError returns the error of a narrowing that selects nothing for sinks; nil if there are none.
func (j *job) unselectedError(names []string) error {
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("--type, --key-prefix and --filter select no item of the source for %s (%s), and a sink that is "+
		"filled by nothing can't be filled again: it is not live; %s", strings.Join(names, ", "), j.narrowing,
		j.narrowingCorrection(names))
}

// abandonSinks takes sinks out of the run, which has written nothing in them. They stay Filling, with the id of a new
// run, so that the next command may fill them from another source. Other processes of the run fail: they find another
// run in the births. If the run has no other sinks, it is abandoned.
func (j *job) abandonSinks(ctx context.Context, names []string) error {
	isLeftOut := func(b state.Birth) bool { return slices.Contains(names, b.Sink) }
	run, next := j.selection.runID, state.NewID()
	_, err := sinks.ChangeBirths(ctx, j.stateStore, j.selection.births, func(b *state.Birth) {
		if isLeftOut(*b) && b.Stage == state.Filling && b.Run == run {
			b.Run = next
		}
	})
	if err != nil {
		return err
	}
	j.selection.births = slices.DeleteFunc(j.selection.births, isLeftOut)
	if len(j.selection.births) > 0 {
		return nil
	}
	if err := removeRun(ctx, j.stateStore, run); err != nil {
		return err
	}
	return j.abandonUnstored(ctx, []string{run})
}

// narrowingCorrection returns what to do if the narrowing selects nothing for sinks.
func (j *job) narrowingCorrection(names []string) string {
	repeat := "correct the flags, and repeat the command"
	isFilled := func(b state.Birth) bool { return !slices.Contains(names, b.Sink) }
	if slices.ContainsFunc(j.selection.births, isFilled) {
		repeat = "correct the flags, and repeat the command for --sink " + strings.Join(names, ",")
	}
	hasAllItems := j.o.startExport && j.narrowing.Expression().Text == "" // DynamoDB has left out no item
	if path, err := j.exportPath(j.selection.stored.Source); hasAllItems && err == nil {
		repeat += " with --export " + path + ", which has all items, in place of --start-export, --bucket and --prefix"
	}
	return fmt.Sprintf("%s; or, if the table really has no such item: `%s`", repeat,
		target.BackfillCommand(j.o.CommandLine(j.cfg), strings.Join(names, ","), "--none"))
}
