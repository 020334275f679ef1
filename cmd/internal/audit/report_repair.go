package audit

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/sinks/audit"
	"github.com/tablewake/tablewake/sinks/audit/run"
	"github.com/tablewake/tablewake/sinks/state"
)

// RepairSummary is the result of `audit --repair`.
type RepairSummary struct {
	Report  string                 `json:"report"` // path of the repaired report
	DryRun  bool                   `json:"dry_run,omitempty"`
	Results map[audit.Result]int64 `json:"results"`
	// NotRepaired counts the findings that were held, busy or skipped. A repair does not change them
	NotRepaired int64 `json:"not_repaired"`
	// Unfinished is true if the audit of the report did not end, so that there may be more differences
	Unfinished bool `json:"unfinished,omitempty"`
}

// Write prints the result for people.
func (r *RepairSummary) Write(w io.Writer) {
	for _, result := range slices.Sorted(maps.Keys(r.Results)) {
		text := cli.Choose(result == audit.Repaired && r.DryRun, "would be repaired", string(result))
		fmt.Fprintf(w, "%s %s\n", cli.Thousands(r.Results[result]), text)
	}
	if r.NotRepaired > 0 {
		fmt.Fprintf(w, "%s held, busy or skipped, and %s: the report says why\n",
			cli.CountWithVerb(r.NotRepaired, "finding", "was", "were"),
			cli.Choose(r.NotRepaired == 1, "stays as it is", "stay as they are"))
	}
	switch {
	case r.Unfinished:
		fmt.Fprintln(w, "the audit of the report did not end: there may be more differences")
	case len(r.Results) == 0 && r.NotRepaired == 0:
		fmt.Fprintln(w, "the report has no difference: there is nothing to repair")
	}
}

// Err returns an error if the repair left findings, or if the audit of the report did not end.
func (r *RepairSummary) Err() error {
	if left := r.NotRepaired + r.Results[audit.ChangedMeanwhile] + r.Results[audit.Refused]; left > 0 {
		return cli.WithExitCode(cli.ExitIncomplete, fmt.Errorf("%s not repaired: audit again",
			cli.CountWithVerb(left, "finding", "was", "were")))
	}
	if r.Unfinished {
		return cli.WithExitCode(cli.ExitIncomplete, fmt.Errorf("the audit of %s did not end: audit again", r.Report))
	}
	return nil
}

// repairFindings repairs the findings in a report. Each write is conditional on the state that the audit saw. So later
// changes win, and a repeated repair does nothing.
//
// The groups of aggregates are repaired first: each is set to the sum of its stored contributions. A contribution is
// what one item counts for in a group. The other findings follow. A contribution that is repaired then adds its
// difference to its groups. That fails for a group that holds less than the contribution, so the groups come first.
func (j *job) repairFindings(
	ctx context.Context, report string, lookup run.Lookup, current run.Header,
) (*RepairSummary, error) {
	r := &RepairSummary{Report: report, DryRun: j.o.dryRun, Results: make(map[audit.Result]int64)}
	groups := make(map[int][]audit.Finding)
	header, runSummary, err := j.forEachFinding(report, func(sink int, f *audit.Finding) error {
		switch {
		case !f.Verdict.Differs():
			r.NotRepaired++
		case f.Kind == audit.Group:
			groups[sink] = append(groups[sink], *f)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := j.checkReport(report, header, current); err != nil {
		return nil, err
	}
	r.Unfinished = runSummary == nil
	for _, sink := range slices.Sorted(maps.Keys(groups)) {
		if err := j.repairGroups(ctx, sink, groups[sink], r); err != nil {
			return nil, err
		}
	}
	repairer := run.NewRepairer(run.RepairOptions{
		Sinks: j.sinks, Lookup: lookup, Budget: j.budget,
		Done: func(sink int, f *audit.Finding, o audit.Outcome) { j.reportRepair(sink, f, o, r) },
	})
	_, _, err = j.forEachFinding(report, func(sink int, f *audit.Finding) error {
		if !f.Verdict.Differs() || f.Kind == audit.Group {
			return nil
		}
		return repairer.Add(ctx, sink, f)
	})
	if err != nil {
		return r, err
	}
	return r, repairer.Flush(ctx)
}

// checkReport returns a usage error if a report is not about the pipeline, the table and the records of this command.
// header is that of the report, and current is that of a report that would begin now.
func (j *job) checkReport(report string, header *run.Header, current run.Header) error {
	switch {
	case header.Pipeline != j.cfg.Name:
		return cli.Usagef("%s is of the pipeline %s, and %s is of %s", report, header.Pipeline, j.cfg.File, j.cfg.Name)
	case header.Stream != current.Stream:
		return cli.Usagef("%s is of a table whose stream was %q, and it is %q: audit again", report, header.Stream,
			current.Stream)
	case !j.live && header.Source != current.Source:
		return cli.Usagef("%s is of %s, and these are %s: name the same records, or audit again", report,
			header.Source, current.Source)
	}
	return nil
}

// forEachFinding reads a report, and calls do with each finding about an audited sink. The summary is nil if the audit
// of the report did not end.
func (j *job) forEachFinding(
	report string, do func(sink int, f *audit.Finding) error,
) (*run.Header, *run.Summary, error) {
	return run.ReadReport(report, func(name string, f *audit.Finding) error {
		sink := j.sinkIndex(name)
		isSelection := len(j.o.sinks) > 0 // the report may have other sinks
		switch {
		case sink < 0 && isSelection:
			return nil
		case sink < 0:
			return fmt.Errorf("%s has the sink %s, and %s has not: audit again, or name the sinks with --sink", report, name,
				j.cfg.File)
		}
		return do(sink, f)
	})
}

// repairGroups sets the groups of an aggregate to the sums of their stored contributions.
func (j *job) repairGroups(ctx context.Context, sink int, fs []audit.Finding, r *RepairSummary) error {
	groups, ok := j.sinks[sink].(audit.GroupSink)
	if !ok {
		return fmt.Errorf("%s: the report has groups, and the sink has none: audit again", j.sinks[sink].Name())
	}
	outcomes, err := groups.RepairGroups(ctx, state.Listing{Spend: j.budget.Spend, Throttled: j.budget.Throttled}, fs)
	if err != nil {
		return fmt.Errorf("%s: %w", groups.Name(), err)
	}
	for i := range outcomes {
		j.reportRepair(sink, &fs[i], outcomes[i], r)
	}
	return nil
}

// reportRepair counts and prints the outcome of a repair.
func (j *job) reportRepair(sink int, f *audit.Finding, o audit.Outcome, r *RepairSummary) {
	r.Results[o.Result]++
	if j.onOutcome != nil {
		j.onOutcome(j.sinks[sink].Name(), f, o)
	}
	text := cli.Choose(o.Result == audit.Repaired && r.DryRun, "would repair", string(o.Result))
	if o.Reason != "" {
		text += " (" + o.Reason + ")"
	}
	fmt.Fprintf(j.streams.Err, "%s: %s: %s\n", j.sinks[sink].Name(), text,
		cmp.Or(o.WriteText, string(f.Kind)+" "+f.PlaceText))
}
