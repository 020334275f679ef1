package redrive

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/letters"
	"github.com/tablewake/tablewake/sinks/redrive"
)

// redriven is what `redrive -o json` prints.
type redriven struct {
	redrive.Report
	DryRun bool `json:"dry_run"`
	Left   int  `json:"left"`
}

func (o *redriveOptions) print(s cli.Streams, r redrive.Report) error {
	if o.format == cli.FormatJSON {
		if r.Failures == nil {
			r.Failures = []redrive.Failure{}
		}
		if r.Sinks == nil {
			r.Sinks = map[string]redrive.SinkReport{}
		}
		return cli.WriteJSON(s.Out, redriven{r, o.dryRun, r.Left()})
	}
	o.write(s.Out, r)
	return nil
}

// write prints the report for people. Columns that are zero everywhere are left out.
func (o *redriveOptions) write(w io.Writer, r redrive.Report) {
	if r.Empty() {
		fmt.Fprintln(w, "there are no such dead letters")
		return
	}
	columns := []struct {
		title string
		of    func(redrive.SinkReport) int
	}{
		{"letters", func(s redrive.SinkReport) int { return s.Letters }},
		{"delivered", func(s redrive.SinkReport) int { return s.Delivered }},
		{"superseded", func(s redrive.SinkReport) int { return s.Superseded }},
		{"discarded", func(s redrive.SinkReport) int { return s.Discarded }},
		{"failed", func(s redrive.SinkReport) int { return s.Failed }},
		{"waiting", func(s redrive.SinkReport) int { return s.Waiting }},
		{"keys let go", func(s redrive.SinkReport) int { return s.Released }},
		{"keys quarantined", func(s redrive.SinkReport) int { return s.Held }},
	}
	shown := columns[:0:0]
	for i, c := range columns {
		any := i == 0
		for _, k := range r.Sinks {
			any = any || c.of(k) != 0
		}
		if any {
			shown = append(shown, c)
		}
	}
	if len(r.Sinks) > 0 {
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprint(tw, "sink\t")
		for _, c := range shown {
			fmt.Fprint(tw, c.title+"\t")
		}
		fmt.Fprintln(tw)
		for _, name := range slices.Sorted(maps.Keys(r.Sinks)) {
			fmt.Fprint(tw, name+"\t")
			for _, c := range shown {
				fmt.Fprint(tw, cli.Thousands(int64(c.of(r.Sinks[name])))+"\t")
			}
			fmt.Fprintln(tw)
		}
		_ = tw.Flush()
	}
	overtaken := 0
	for _, sink := range r.Sinks {
		overtaken += sink.Superseded
	}
	for _, line := range []struct {
		n    int
		what string
	}{
		{r.Moved, "moved from " + o.sink + " to " + o.to},
		{overtaken, "superseded: the sink has a newer version of their items"},
		{r.Decoded, "could not be decoded before and can now"},
		{r.Undecodable, "still cannot be decoded"},
		{r.Discarded, "that could not be decoded discarded"},
	} {
		if line.n > 0 {
			fmt.Fprintf(w, "%s %s\n", cli.Thousands(int64(line.n)), line.what)
		}
	}
	for _, f := range r.Failures {
		fmt.Fprintf(w, "stays: %s  %s  %s: %s\n", letters.EverySink(f.Sink), f.Key, f.Class, f.Error)
	}
}
