package gaps

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/fleet"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/state"
)

// retention is the retention of a stream.
const retention = 24 * time.Hour

// Report is the output of `gaps`.
type Report struct {
	Pipeline string      `json:"pipeline"`
	Gaps     []fleet.Gap `json:"gaps"`
	LeftOut  []LeftOut   `json:"left_out,omitempty"` // sinks that may miss changes although no record was lost
	Open     int         `json:"open"`               // number of gaps and sinks that are not repaired
	Commands []string    `json:"commands,omitempty"` // the commands that repair the open gaps and sinks
	Repair   *Result     `json:"repair,omitempty"`   // with --repair

	NotRepairable []string `json:"not_mended,omitempty"` // parts of the sinks that no repair can restore
}

// LeftOut is a sink that may miss changes, because a process was started with a file without it, or because adopt
// accepted its output.
type LeftOut struct {
	Sink    string    `json:"sink"`
	Output  string    `json:"output"`
	Started time.Time `json:"started"` // when that happened last
}

// newReport returns the report of what a pipeline has noted. flags are the flags of the commands in the report.
func newReport(pipeline, flags string, noted notes, notRepairable []string) *Report {
	r := &Report{Pipeline: pipeline, Gaps: []fleet.Gap{}}
	for _, g := range noted.gaps {
		r.Gaps = append(r.Gaps, fleet.NewGap(g, retention))
	}
	for _, b := range noted.leftOut {
		r.LeftOut = append(r.LeftOut, LeftOut{Sink: b.Sink, Output: b.Target, Started: b.LeftOut})
	}
	openGaps := selectOpenGaps(noted.gaps, nil)
	r.Open = len(openGaps) + len(noted.leftOut)
	if r.Open == 0 {
		return r
	}

	r.NotRepairable = notRepairable
	beginUnknown := func(g state.NotedGap) bool { return g.From.IsZero() }
	exportsSuffice := len(noted.leftOut) == 0 && !slices.ContainsFunc(openGaps, beginUnknown)
	if exportsSuffice {
		r.Commands = append(r.Commands, "tablewake gaps "+flags+" --repair --start-export --bucket BUCKET")
	}
	if len(openGaps) == 0 {
		r.Commands = append(r.Commands, target.AuditRepairCommand(flags))
		return r
	}
	r.Commands = append(r.Commands, "tablewake gaps "+flags+" --repair --audit")
	return r
}

// Write prints the report for people.
func (r *Report) Write(w io.Writer) {
	for i := range r.Gaps {
		g := &r.Gaps[i]
		fmt.Fprintf(w, "%s\n", g)
		for _, line := range repairText(g.Repair) {
			fmt.Fprintf(w, "  %s\n", line)
		}
	}
	for _, l := range r.LeftOut {
		fmt.Fprintf(w, "sink %s (%s) may miss changes: %s\n", l.Sink, l.Output, sinks.LeftOutText(l.Started))
	}
	if len(r.Gaps)+len(r.LeftOut) == 0 {
		fmt.Fprintln(w, "no gaps are noted")
	}
	for _, text := range r.NotRepairable {
		fmt.Fprintf(w, "no repair fixes %s\n", text)
	}
	if r.Repair != nil {
		r.Repair.write(w)
	}
	for i, command := range r.Commands {
		fmt.Fprintf(w, "%s `%s`\n", cli.Choose(i == 0, "repair with", "or        "), command)
	}
}

// repairText describes the repair of a gap.
func repairText(r state.GapRepair) (lines []string) {
	if r.How != "" {
		method := cli.Choose(r.How == "export", "items of exports", "a full audit")
		lines = append(lines, fmt.Sprintf("%s at %s: %s of %s, %s, %s repaired, %s left", method,
			r.At.Format(time.RFC3339), cli.Count(r.Items, "item"), strings.Join(r.Sinks, ", "),
			cli.Count(r.Differences, "difference"), cli.Thousands(r.Repaired), cli.Thousands(r.Left)))
	}
	for _, path := range r.Exports {
		lines = append(lines, "export "+path)
	}
	if r.Stage == state.GapRepairing {
		lines = append(lines, fmt.Sprintf("a process repairs it; if that ended, another may from %s on",
			r.Expires.Format(time.RFC3339)))
	}
	return lines
}

// write prints the result for people.
func (r *Result) write(w io.Writer) {
	nothingRepaired := r.Repair.How == ""
	if r.RepairedByOthers > 0 && nothingRepaired {
		fmt.Fprintf(w, "another process repairs the gaps\n")
		return
	}
	items, differences := cli.Count(r.Repair.Items, "item"), cli.Count(r.Repair.Differences, "difference")
	repaired := cli.Thousands(r.Repair.Repaired)
	if r.DryRun {
		fmt.Fprintf(w, "%s compared, %s, of which %s would be repaired; nothing is written\n", items, differences, repaired)
		return
	}
	fmt.Fprintf(w, "%s compared, %s, %s repaired, %s left\n", items, differences, repaired, cli.Thousands(r.Repair.Left))
	if len(r.LeftOut) > 0 {
		fmt.Fprintf(w, "nothing is missing any more in %s\n", strings.Join(r.LeftOut, ", "))
	}
	if r.Report != "" {
		fmt.Fprintf(w, "what is left: %s\n", r.Report)
	}
	if r.Grew > 0 {
		fmt.Fprintf(w, "%s grew meanwhile, or %s\n", cli.Count(r.Grew, "gap"),
			cli.Choose(r.Grew == 1, "was taken over: it is open", "were taken over: they are open"))
	}
}

// describe describes a gap for an error.
func describe(g state.NotedGap) string {
	return "the gap of " + fleet.NewGap(g, retention).String()
}

// selectOpenGaps returns the gaps that are not repaired. If shards is not empty, it returns only gaps of these shards.
func selectOpenGaps(gaps []state.NotedGap, shards []string) (open []state.NotedGap) {
	for _, g := range gaps {
		isSelected := len(shards) == 0 || slices.Contains(shards, g.Shard)
		if isSelected && g.Repair.Stage != state.GapRepaired {
			open = append(open, g)
		}
	}
	return open
}
