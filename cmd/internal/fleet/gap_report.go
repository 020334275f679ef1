package fleet

import (
	"cmp"
	"fmt"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/sinks/state"
)

// addGapRepair adds a problem for a gap that is not repaired, if a repair is wanted. A repair is wanted if the file
// says on_gap: repair, or if a repair was begun.
func (r *Report) addGapRepair(obs *Observation, g state.NotedGap) {
	repair := g.Repair
	isWanted := obs.RepairsGaps || repair.Run != ""
	if repair.Stage == state.GapRepaired || !isWanted {
		return
	}
	subject := cmp.Or(g.Shard, g.StreamARN)
	command := "`" + obs.command("gaps") + " --repair --audit`"
	takesOver := cli.Choose(obs.RepairsGaps, "a consumer continues with it; "+command+" does, too",
		command+" continues with it")
	lost := cli.Choose(g.Shard == "", "what was written before the stream "+subject+" is in no stream",
		"records of shard "+subject+" were lost")
	var progress, hint string
	switch {
	case repair.Stage == state.GapRepairing && obs.At.Before(repair.Expires):
		hint = "it ends by itself"
		progress = repair.Owner + " repairs the sinks" + withPrefix(", ", RepairProgress(repair)) +
			notedText(repair, obs.At)
	case repair.Stage == state.GapRepairing:
		progress, hint = repair.Owner+" repaired the sinks, and ended before it was done", takesOver
	case repair.Left > 0:
		progress = "a repair of the sinks left " + cli.Count(repair.Left, "difference")
		hint = cli.Choose(obs.RepairsGaps, "a consumer tries again; "+command+" does, and says what is left",
			command+" says what is left")
	case repair.Run != "":
		progress, hint = "a repair of the sinks did not end", takesOver
	default:
		progress, hint = "the sinks are not repaired yet", "a consumer does that by itself; "+command+" does, too"
	}
	r.addProblem(NotRepaired, subject, hint, "%s; %s", lost, progress)
}

// notedText describes when the owner of a repair last stored its progress. It returns "" if that time is unknown.
func notedText(r state.GapRepair, now time.Time) string {
	if r.At.IsZero() {
		return ""
	}
	return fmt.Sprintf(", as it noted %s ago", FormatAge(max(now.Sub(r.At), 0)))
}

// RepairProgress describes how far the current step of a repair is. It returns "" if the step has not looked at
// anything yet.
func RepairProgress(r state.GapRepair) string {
	elapsed := r.At.Sub(r.Since).Seconds()
	hasRate := r.Done != 0 && !r.Since.IsZero() && elapsed > 0
	if !hasRate {
		return ""
	}
	rate := float64(r.Done) / elapsed
	if r.Total == 0 {
		return fmt.Sprintf("%s looked at, %.0f a second", cli.Thousands(r.Done), rate)
	}
	text := fmt.Sprintf("%s of %s looked at, %.0f a second", cli.Thousands(r.Done), cli.Thousands(r.Total), rate)
	if left := r.Total - r.Done; left > 0 {
		text += ", about " + FormatAge(seconds(float64(left)/rate)) + " left"
	}
	return text
}

// withPrefix returns prefix and text, or "" if text is "".
func withPrefix(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}
