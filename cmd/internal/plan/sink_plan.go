package plan

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/state"
)

// newSinkPlan returns the plan for the change of one sink. It adds flags to every command that it suggests, and source
// to each backfill command.
func newSinkPlan(c sinks.OutputChange, flags, source string) sinkPlan {
	p := sinkPlan{Sink: c.Sink, Target: c.Target, Change: string(c.Kind), Problem: c.Problem, LeftThere: c.LeftThere}
	if c.Birth != (state.Birth{}) {
		p.Stage = c.Birth.Stage.String()
	}
	for _, s := range c.Settings {
		p.Settings = append(p.Settings, settingJSON(s))
	}
	if c.Kind == sinks.Added {
		p.Change = "new"
	}
	isLive := strings.Contains(flags, " --live")
	backfill := target.BackfillCommand(flags, c.Sink, source)
	if c.Kind == sinks.Added && !c.WaitsForBackfill && !isLive {
		backfill = target.BackfillCommand(flags, c.Sink, "--export PATH --keys PK,SK")
	}
	p.Todo, p.Command = nextStep(c, flags, backfill)
	beganWithoutBackfill := c.Birth.Begun && c.Birth.Run == ""
	if p.Todo == "" && c.FilledByDefault && beganWithoutBackfill && isLive {
		p.Note = "it holds what changed since its first start at " + c.Birth.Made.Format(time.RFC3339) +
			"; earlier items that did not change since are only in it after `" + backfill + "`"
	}
	if missed := sinks.MissedByArchive(c.Birth); missed != "" {
		p.Note = "it misses changes, because " + missed + ": no sink can be filled from it"
	}
	p.isRefused = c.Problem != "" || c.Kind == sinks.Changed && !c.TakesSettings
	p.isUnfilled = c.FilledByDefault && (c.Kind == sinks.Added || c.WaitsForBackfill || c.Birth.Stage == state.Waiting)
	if c.Kind != sinks.Unchanged || c.Birth.Stage != state.Live {
		p.Underivable = c.Underivable
	}
	return p
}

// nextStep returns what to do about the change of one sink, and the command for it. Both are "" if there is nothing to
// do. backfill is the command that fills the sink.
func nextStep(c sinks.OutputChange, flags, backfill string) (todo, command string) {
	sinkFlags := " " + flags + " --sink " + c.Sink
	switch {
	case c.Kind == sinks.Removed:
		return removedTodo(c), ""
	case c.StateLost:
		return "a start is refused until this is settled", "tablewake adopt " + flags
	case c.Problem != "":
		return "a start is refused until this is settled", "tablewake adopt" + sinkFlags
	case c.Kind == sinks.Changed && c.WaitsForBackfill:
		return "it holds nothing: at its next start it takes the settings, and waits, and writes nothing until a backfill fills it; stop the processes with the former settings first", backfill
	case c.TakesSettings:
		return "it holds nothing, and takes the settings at its next start: redrive its dead letters then",
			"tablewake redrive" + sinkFlags
	case c.Kind == sinks.Changed && !c.CanAdopt:
		return "a start is refused: take the settings back; or give the sink another name and a place of its own, which a backfill fills", ""
	case c.Kind == sinks.Changed && !c.FilledByDefault:
		return "a start is refused: take the settings back; or accept it, and what was written stays as it is", "tablewake adopt" + sinkFlags
	case c.Kind == sinks.Changed:
		return "a start is refused: take the settings back; or give the sink another name and a place of its own, which a backfill fills; or accept it, and what was written stays as it is until a repair fixes it: `" +
				target.AuditRepairCommand(flags) + "`",
			"tablewake adopt" + sinkFlags
	case c.Kind == sinks.Added && c.WaitsForBackfill:
		return "it waits from its first start on, and writes nothing until a backfill fills it", backfill
	case c.Kind == sinks.Added && c.FilledByDefault:
		return "it begins at its first start, and a backfill brings the earlier items", backfill
	case c.Kind == sinks.Added:
		return "", ""
	case c.Birth.Stage == state.Waiting:
		return "it waits, and writes nothing until a backfill fills it", backfill
	case c.Birth.Stage == state.Filling && c.Birth.Run == sinks.RebuildRun:
		return "`tablewake replay --rebuild` fills it, or was interrupted: repeat it", ""
	case c.Birth.Stage == state.Filling, c.Birth.Stage == state.Settling:
		return "the backfill " + c.Birth.Run + " fills it, or was interrupted: repeat the command that began it; " +
			"or, if that ended with an error, do what the error says", ""
	case sinks.MayMissChanges(c.Birth) && c.FilledByDefault:
		return "it may miss changes: " + sinks.LeftOutText(c.Birth.LeftOut) +
				"; an audit of the table, or of all records that were written into a folder, finds and repairs them",
			target.AuditRepairCommand(flags)
	}
	return "", ""
}

// putBackMisses is the warning about the output of a removed sink.
const putBackMisses = "If you put the sink back, it misses the changes of the time between: `tablewake gaps --repair --audit` repairs it"

// putBackWaits is what putBackMisses is for a sink that waits for a backfill.
const putBackWaits = "If you put the sink back, it waits for a backfill"

// removedTodo says where the output of a removed sink is left and how to delete it.
func removedTodo(c sinks.OutputChange) string {
	kind, name, _ := strings.Cut(c.Target, " ")
	ifPutBack := putBackMisses
	if c.Birth.Stage == state.Waiting {
		ifPutBack = putBackWaits
	}
	switch kind {
	case "table":
		return fmt.Sprintf(
			"its rows stay in the table %s, with _tw.view = %s, and what is remembered of them in the state; delete the rows, or the table if no other sink writes there. "+ifPutBack, name, c.Sink)
	case "index":
		return "its documents stay in the index " + name + ": delete the index if no other sink writes there. " +
			ifPutBack
	case "bucket":
		return "its objects stay in the bucket and prefix " + strings.TrimSpace(name) +
			": delete them there, or keep them: they are the history"
	}
	return "what it published stays where it was sent; nothing is left to drop"
}

// write prints the plan of the sink for people.
func (p *sinkPlan) write(w io.Writer) {
	sign := map[string]string{"unchanged": "=", "new": "+", "changed": "~", "removed": "-"}[p.Change]
	if p.Change == "unchanged" && p.Stage != "" && p.Stage != "live" {
		sign = "+" // a backfill has not filled it yet
	}
	fmt.Fprintf(w, "%s %s (%s)", sign, p.Sink, strings.TrimSpace(p.Target))
	if p.Stage != "" && p.Stage != "live" {
		fmt.Fprintf(w, " is %s", p.Stage)
	}
	fmt.Fprintln(w)
	for _, s := range p.Settings {
		fmt.Fprintf(w, "    %s: was %s, is %s\n", s.Name, orNotSet(s.Old), orNotSet(s.New))
	}
	if p.Problem != "" {
		fmt.Fprintf(w, "    %s\n", p.Problem)
	}
	if len(p.LeftThere) > 0 {
		fmt.Fprintf(w,
			"    what %s wrote is left in the same place, and a key that both have becomes a dead letter: give the sink its former name, or a place of its own, or delete that first\n", strings.Join(p.LeftThere, ", "))
	}
	if p.Todo != "" {
		fmt.Fprintf(w, "    %s\n", p.Todo)
	}
	if p.Note != "" {
		fmt.Fprintf(w, "    %s\n", p.Note)
	}
	if p.Command != "" {
		fmt.Fprintf(w, "    $ %s\n", p.Command)
	}
	for _, u := range p.Underivable {
		fmt.Fprintf(w, "  ! %s\n", u)
	}
}

func orNotSet(text string) string {
	return cli.Choose(text == "", "not set", "'"+text+"'")
}
