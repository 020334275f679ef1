package replay

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
)

// Summary is the result of a run. It is the output of `replay -o json` and `consume -o json`.
type Summary struct {
	Pipeline string  `json:"pipeline"`
	Records  int64   `json:"records"`
	Seconds  float64 `json:"seconds"`
	// RecordsPerSecond is 0 for a run that waits for new records, as consume does
	RecordsPerSecond float64         `json:"records_per_second,omitempty"`
	Interrupted      bool            `json:"interrupted"`
	Ledger           pipeline.Ledger `json:"ledger"`
	Balanced         bool            `json:"balanced"`
	// NoEntity is the number of changes that pass the filters but whose item belongs to no entity
	NoEntity int64 `json:"no_entity,omitempty"`
	// DeadLetters is the command that lists the dead letters; "": there are none
	DeadLetters string       `json:"dead_letters,omitempty"`
	Redrive     string       `json:"redrive,omitempty"` // the command that delivers the dead letters
	Errors      []string     `json:"errors,omitempty"`  // errors of broken input files
	Silent      []SilentSink `json:"silent,omitempty"`  // sinks that have seen many changes and written none
}

// Run runs a pipeline, and returns its summary. It calls report five times a second, so that report can update bar. At
// the end it removes bar.
func Run(
	ctx context.Context, name string, p *pipeline.Pipeline, src pipeline.Source, c pipeline.Committer, bar *cli.Progress,
	report func(),
) (Summary, error) {
	reportCtx, stop := context.WithCancel(ctx)
	var reporter sync.WaitGroup
	reporter.Go(func() {
		for pipeline.Sleep(reportCtx, 200*time.Millisecond) == nil {
			report()
		}
	})
	start := time.Now()
	err := p.Run(ctx, src, c)
	duration := time.Since(start)
	stop()
	reporter.Wait()
	bar.End()
	sum := Summarize(name, p.Ledger(), duration)
	if duration > 0 {
		sum.RecordsPerSecond = float64(sum.Records) / duration.Seconds()
	}
	return sum, err
}

// Summarize returns the summary of a run with its duration and ledger. It does not set RecordsPerSecond.
func Summarize(name string, l pipeline.Ledger, duration time.Duration) Summary {
	return Summary{
		Pipeline: name, Records: l.Source.Read, Seconds: duration.Seconds(), Ledger: l, Balanced: l.Check() == nil,
		Silent: silentSinks(l),
	}
}

// Print prints the summary, with the commands of AddCommands.
func (s Summary) Print(to cli.Streams, f cli.Format, cfg *config.Config, t *target.Flags) error {
	s.AddCommands(cfg, t)
	return cli.Print(to.Out, f, s, s.Write)
}

// AddCommands adds the commands that list and deliver the dead letters, if there are any.
func (s *Summary) AddCommands(cfg *config.Config, t *target.Flags) {
	if s.Ledger.DeadLetterCount() == 0 {
		return
	}
	s.Redrive = "tablewake redrive " + t.CommandLine(cfg)
	s.DeadLetters = s.Redrive + " --list"
	if !t.Live {
		s.DeadLetters = "tablewake query dead --local " + t.Local
	}
}

// DeadLetterError returns an error with the exit code for dead letters. It returns nil if all records were decoded and
// delivered.
func (s Summary) DeadLetterError() error {
	if s.Ledger.DeadLetterCount() > 0 {
		return cli.WithExitCode(cli.ExitDeadLetters, nil)
	}
	return nil
}

// Write prints the summary for people.
func (s Summary) Write(w io.Writer) {
	fmt.Fprintf(w, "%s: %s in %.2f s", s.Pipeline, cli.Count(s.Records, "record"), s.Seconds)
	if s.RecordsPerSecond > 0 {
		fmt.Fprintf(w, ", %s records/s", cli.Thousands(int64(s.RecordsPerSecond)))
	}
	fmt.Fprint(w, "\n\n")
	src := s.Ledger.Source
	parts := []string{}
	for _, reason := range slices.Sorted(maps.Keys(src.Filtered)) {
		parts = append(parts, fmt.Sprintf("filtered (%s) %s", reason, cli.Thousands(src.Filtered[reason])))
	}
	for _, count := range []struct {
		name    string
		records int64
	}{{"duplicate", src.Duplicate}, {"unrouted", src.Unrouted}, {"undecodable", src.Undecodable}} {
		if count.records > 0 {
			parts = append(parts, count.name+" "+cli.Thousands(count.records))
		}
	}
	parts = append(parts, "routed "+cli.Thousands(src.Routed))
	fmt.Fprintf(w, "source: read %s = %s\n\n", cli.Thousands(src.Read), strings.Join(parts, " + "))
	if s.NoEntity > 0 {
		fmt.Fprintf(w, "of no entity: %s\n\n", cli.Thousands(s.NoEntity))
	}
	s.writeSinks(w)
	for _, name := range slices.Sorted(maps.Keys(s.Ledger.Events)) {
		fmt.Fprintf(w, "event %s: %s\n", name, cli.Thousands(s.Ledger.Events[name]))
	}
	if err := s.Ledger.Check(); err != nil {
		fmt.Fprintf(w, "THE LEDGER DOES NOT BALANCE: %v\n", err)
	}
	if s.DeadLetters != "" {
		fmt.Fprintf(w, "\n%s could not be decoded or delivered: look with `%s`\n", cli.Thousands(s.Ledger.DeadLetterCount()),
			s.DeadLetters)
		fmt.Fprintf(w, "once the cause is fixed, deliver them with `%s`\n", s.Redrive)
	}
}

// writeSinks prints the counts of each sink. For each filter of a sink it prints how many changes the filter dropped.
func (s Summary) writeSinks(w io.Writer) {
	cli.PrintCounts(w, s.Ledger.Sinks, 2, []string{
		"routed", "written", "superseded", "no effect", "coalesced", "suppressed", "dead letters", "quarantined", "revoked",
		"pending",
	}, func(l pipeline.SinkLedger) []int64 {
		return []int64{
			l.Routed, l.Written, l.Superseded, total(l.NoEffect), l.Coalesced, l.Suppressed, l.DeadLettered, l.Quarantined,
			l.Revoked, l.Pending,
		}
	})
	for _, n := range slices.Sorted(maps.Keys(s.Ledger.Sinks)) {
		dropped := s.Ledger.Sinks[n].RouteFiltered
		for _, reason := range slices.Sorted(maps.Keys(dropped)) {
			fmt.Fprintf(w, "dropped before %s (%s): %s\n", n, reason, cli.Thousands(dropped[reason]))
		}
	}
	writeOutcomes(w, s.Ledger.Sinks)
	writeSilentSinks(w, s.Silent)
	fmt.Fprintln(w)
}

func total(m map[string]int64) int64 {
	var n int64
	for _, v := range m {
		n += v
	}
	return n
}
