package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/deadletter"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/redrive"
	"github.com/tablewake/tablewake/sinks/state"
)

// redriveOptions are the flags of `redrive`.
type redriveOptions struct {
	input
	local   string
	sink    string
	key     string
	classes []string
	dryRun  bool
	discard bool
	notify  bool
	verbose bool
	format  format
}

func newRedrive(s streams) *cobra.Command {
	var o redriveOptions
	c := &cobra.Command{
		Use:   "redrive -c FILE --local DIR",
		Short: "Deliver dead letters, each to the sink that it is of",
		Long: `redrive delivers what lies in dead letters to the sink that failed, and to no other: the
changes of an item in their order. What the sink has is removed, and a key that was
quarantined behind its letters is let go when none is left. A letter that fails again
stays, with what waits behind it, and is named. Records that could not be decoded are
tried again, and go to the sinks that are meant.

Notifications are held back unless --notify is given. --discard removes letters
without delivering them, for what can never be delivered: their changes are lost to that
sink, and what waited behind them comes with the next redrive.`,
		Example: `  # What is there, and what would be delivered
  tablewake query dead --local out
  tablewake redrive -c tablewake.yaml --local out --dry-run

  # All of it; one sink; one item
  tablewake redrive -c tablewake.yaml --local out
  tablewake redrive -c tablewake.yaml --local out --sink products
  tablewake redrive -c tablewake.yaml --local out --key 'ORDER%231,META'

  # Give up for good on a change that no sink can take
  tablewake redrive -c tablewake.yaml --local out --sink on_completed --key 'ORDER%231,META' --class write --discard`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), s) },
	}
	o.add(c)
	f := c.Flags()
	f.StringVar(&o.local, "local", "", "the folder that a replay wrote (required)")
	f.StringVar(&o.sink, "sink", "", "letters of this sink only")
	f.StringVar(&o.key, "key", "", "letters of this item only, its key as query dead shows it")
	f.StringSliceVar(&o.classes, "class", nil, "letters of these classes only: "+classes)
	f.BoolVar(&o.dryRun, "dry-run", false, "count, and deliver nothing")
	f.BoolVar(&o.discard, "discard", false, "remove the letters, and deliver none; needs --sink, --key or --class")
	f.BoolVar(&o.notify, "notify", false, "publish notifications too")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "log what the pipeline does to standard error")
	_ = c.MarkFlagDirname("local")
	addFormat(c, &o.format)
	return c
}

const classes = "undecodable, filter, detector, plan, write, panic, held or quarantined"

func (o *redriveOptions) run(ctx context.Context, s streams) (err error) {
	cfg, err := o.load()
	if err != nil {
		return err
	}
	switch {
	case o.local == "":
		return usageError("--local is missing: name the folder that a replay wrote")
	case o.discard && o.sink == "" && o.key == "" && len(o.classes) == 0:
		return usageError("--discard removes letters for good: say which, with --sink, --key or --class")
	case o.sink != "" && !slices.ContainsFunc(cfg.Sinks, func(s config.Sink) bool { return s.Name == o.sink }) && !o.discard:
		return usageError("--sink %q: %s has no such sink", o.sink, cfg.File)
	}
	if err := wroteLocal(o.local); err != nil {
		return err
	}
	release, err := claimLocal(o.local, cfg, false)
	if err != nil {
		return err
	}
	defer release()
	stores, err := local.Open(o.local)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stores.Close()) }()

	bar := newCount(s.err, "redriving")
	opts := []sinks.Option{sinks.WithLogger(logger(bar, o.verbose))}
	if !o.notify {
		opts = append(opts, sinks.Suppressed("redrive"))
	}
	p, err := sinks.Assemble(ctx, cfg, stores, opts...)
	if err != nil {
		return err
	}
	mask, err := sinks.Mask(cfg)
	if err != nil {
		return err
	}
	report, err := o.redrive(ctx, cfg, stores, p, mask, bar)
	bar.end()
	if err := o.print(s, report); err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return &exitError{exitInterrupted, errors.New("interrupted before the end; the same command goes on")}
	case err != nil:
		return err
	case !o.dryRun && report.Left() > 0:
		return &exitError{code: exitDeadLetters}
	}
	return nil
}

// redrive runs the redrive over the stores of the folder.
func (o *redriveOptions) redrive(ctx context.Context, cfg *config.Config, stores *local.Stores, p *pipeline.Pipeline, mask *pipeline.Mask, bar *progress) (redrive.Report, error) {
	kept, err := stores.DeadLetters(ctx, cfg)
	if err != nil {
		return redrive.Report{}, err
	}
	letters, ok := kept.(deadletter.Store)
	if !ok {
		return redrive.Report{}, fmt.Errorf("the dead letters of %s cannot be worked through", o.local)
	}
	var marks state.Quarantine
	if d := cfg.DeadLetters; d == nil || !d.NoHold {
		if marks, err = stores.State(ctx, cfg); err != nil {
			return redrive.Report{}, err
		}
	}
	return redrive.Run(ctx, redrive.Options{
		Pipeline: p, Letters: letters, Quarantine: marks, Decoder: o.decoder(cfg),
		Name: cfg.Name, Sink: o.sink, Key: pipeline.Key(o.key), Classes: o.classes,
		DryRun: o.dryRun, Discard: o.discard, Mask: mask,
		Progress: func(r redrive.Report) {
			total := 0
			for _, sink := range r.Sinks {
				total += sink.Letters
			}
			bar.of(int64(r.Delivered()), int64(total))
		},
	})
}

// redriven is what `redrive -o json` prints.
type redriven struct {
	redrive.Report
	DryRun bool `json:"dry_run"`
	Left   int  `json:"left"`
}

func (o *redriveOptions) print(s streams, r redrive.Report) error {
	if o.format == formatJSON {
		if r.Failures == nil {
			r.Failures = []redrive.Failure{}
		}
		if r.Sinks == nil {
			r.Sinks = map[string]redrive.SinkReport{}
		}
		return writeJSON(s.out, redriven{r, o.dryRun, r.Left()})
	}
	o.write(s.out, r)
	return nil
}

// write prints the report for people. Columns that are zero everywhere are left out.
func (o *redriveOptions) write(w io.Writer, r redrive.Report) {
	if len(r.Sinks) == 0 && r.Decoded+r.Undecodable+r.Discarded == 0 {
		fmt.Fprintln(w, "there are no such dead letters")
		return
	}
	columns := []struct {
		title string
		of    func(redrive.SinkReport) int
	}{
		{"letters", func(s redrive.SinkReport) int { return s.Letters }},
		{"delivered", func(s redrive.SinkReport) int { return s.Delivered }},
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
				fmt.Fprint(tw, thousands(int64(c.of(r.Sinks[name])))+"\t")
			}
			fmt.Fprintln(tw)
		}
		_ = tw.Flush()
	}
	for _, line := range []struct {
		n    int
		what string
	}{
		{r.Decoded, "could not be decoded before and can now"},
		{r.Undecodable, "still cannot be decoded"},
		{r.Discarded, "that could not be decoded discarded"},
	} {
		if line.n > 0 {
			fmt.Fprintf(w, "%s %s\n", thousands(int64(line.n)), line.what)
		}
	}
	for _, f := range r.Failures {
		sink := f.Sink
		if sink == "" {
			sink = "(every sink)"
		}
		fmt.Fprintf(w, "stays: %s  %s  %s: %s\n", sink, f.Key, f.Class, f.Error)
	}
}
