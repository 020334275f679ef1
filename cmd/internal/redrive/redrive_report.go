package redrive

import (
	"fmt"
	"io"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/letters"
	"github.com/tablewake/tablewake/sinks/redrive"
)

// reportJSON is the output of `redrive -o json`.
type reportJSON struct {
	redrive.Report
	DryRun bool `json:"dry_run"`
	Left   int  `json:"left"`
}

func (o *options) printReport(s cli.Streams, r redrive.Report) error {
	r.Failures = append([]redrive.Failure{}, r.Failures...) // not nil, so that JSON has []
	return cli.Print(s.Out, o.format, reportJSON{r, o.dryRun, r.Left()}, func(w io.Writer) { o.write(w, r) })
}

// writeNoLetters says that no letter is selected, and how to see the classes and keys of the existing letters.
func (o *options) writeNoLetters(w io.Writer) {
	fmt.Fprintln(w, "there are no such dead letters")
	if len(o.classes) > 0 {
		fmt.Fprintln(w, "the usual classes of --class are "+classList+"; --list without it shows each letter's class")
	}
	if o.key != "" {
		fmt.Fprintln(w, "--key takes the whole key of an item; --list --unmasked without it shows each letter's key")
	}
}

// write prints the report for people. It leaves out columns that are zero for all sinks.
func (o *options) write(w io.Writer, r redrive.Report) {
	if r.Empty() {
		o.writeNoLetters(w)
		return
	}
	if len(r.Sinks) > 0 {
		cli.PrintCounts(w, r.Sinks, 1, []string{
			"letters", "delivered", "superseded", "discarded", "failed", "waiting", "keys let go", "keys quarantined",
		}, func(s redrive.SinkReport) []int64 {
			return []int64{
				int64(s.Letters), int64(s.Delivered), int64(s.Superseded), int64(s.Discarded), int64(s.Failed), int64(s.Waiting),
				int64(s.Released), int64(s.Held),
			}
		})
	}
	superseded := 0
	for _, sink := range r.Sinks {
		superseded += sink.Superseded
	}
	for _, line := range []struct {
		letters int
		text    string
	}{
		{r.Moved, "moved from " + o.sink + " to " + o.to},
		{superseded, "superseded: the sink has a newer version of their items"},
		{r.Decoded, "could not be decoded before and can now"},
		{r.Undecodable, "still cannot be decoded"},
		{r.Discarded, "that could not be decoded discarded"},
		{r.Discardable, "that could not be decoded would be discarded"},
	} {
		if line.letters > 0 {
			fmt.Fprintf(w, "%s %s\n", cli.Thousands(int64(line.letters)), line.text)
		}
	}
	for _, f := range r.Failures {
		fmt.Fprintf(w, "stays: %s  %s  %s: %s\n", letters.EverySink(f.Sink), f.Key, f.Class, f.Error)
	}
}
