package audit

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/sinks/audit/run"
)

// summary is the result of an audit as the command prints it.
type summary struct {
	*run.Summary
}

// Write prints the summary for people.
func (s *summary) Write(w io.Writer) {
	s.writeSinks(w)
	fmt.Fprintf(w, "%s of %s in %s", cli.Count(s.Items, "item"), s.Source,
		time.Duration(s.Seconds*float64(time.Second)).Round(time.Millisecond))
	if s.Seconds > 0 && s.Items > 0 {
		fmt.Fprintf(w, ", %s a second", cli.Thousands(int64(float64(s.Items)/s.Seconds)))
	}
	if s.Units > 0 {
		fmt.Fprintf(w, ", %s read units", cli.Thousands(int64(s.Units+0.5)))
	}
	fmt.Fprintln(w)
	if s.Coverage < 1 {
		fmt.Fprintf(w, "a sample: %.3g %% of the table\n", s.Coverage*100)
	}
	if s.NothingSelected {
		fmt.Fprintln(w, "no item of the table is selected")
	}
	if s.NothingSampled {
		fmt.Fprintln(w, "the segments of the sample are empty: choose more or larger ones")
	}
	if s.OpenBefore > 0 {
		fmt.Fprintf(w, "open since the previous audit: %s, which its report does not list: audit everything\n",
			cli.Thousands(s.OpenBefore))
	}
	if s.Assumed != "" {
		fmt.Fprintf(w, "assumed: %s\n", s.Assumed)
	}
	if s.Undecodable > 0 {
		fmt.Fprintf(w, "%s cannot be decoded, and %s not compared\n", cli.Count(s.Undecodable, "item"),
			cli.Choose(s.Undecodable == 1, "was", "were"))
	}
	if s.Differing+s.Open > 0 {
		fmt.Fprintf(w, "report: %s\n", s.Report)
	}
}

// writeSinks prints the result of each sink, and then the notes.
func (s *summary) writeSinks(w io.Writer) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, k := range s.Sinks {
		var found []string
		for _, v := range slices.Sorted(maps.Keys(k.Findings)) {
			found = append(found, fmt.Sprintf("%s %s", cli.Thousands(k.Findings[v]), v))
		}
		result := cli.Choose(len(found) == 0, "equal", strings.Join(found, ", "))
		if k.UpperBound != nil {
			result += fmt.Sprintf("; at most %.3g %% differ (95 %% confidence)", *k.UpperBound*100)
		}
		fmt.Fprintf(tw, "%s\t%s places compared\t%s\n", k.Sink, cli.Thousands(k.Compared), result)
	}
	_ = tw.Flush()
	for _, k := range s.Sinks {
		if k.NotCompared != "" {
			fmt.Fprintf(w, "%s: its groups were not compared: %s\n", k.Sink, k.NotCompared)
		}
		for _, note := range k.Notes {
			fmt.Fprintf(w, "%s: %s\n", k.Sink, note)
		}
	}
}

// Err returns an error if the audit found differences, or if it could not compare everything.
func (s *summary) Err() error {
	switch {
	case s.Differing > 0:
		return cli.WithExitCode(cli.ExitDifferences, fmt.Errorf("%s: see %s",
			cli.Choose(s.Differing == 1, "1 entry differs", cli.Thousands(s.Differing)+" entries differ"), s.Report))
	case !s.Complete():
		return cli.WithExitCode(cli.ExitIncomplete, fmt.Errorf(
			"no difference was found, but not everything could be compared: %s; see above and %s",
			cli.Choose(s.Open == 1, "1 entry, item or sink", cli.Thousands(s.Open)+" entries, items or sinks"), s.Report))
	}
	return nil
}
