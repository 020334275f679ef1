package backfill

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/records"
	"github.com/tablewake/tablewake/cmd/internal/stream"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/state"
)

// options are the flags of `backfill`.
type options struct {
	records.Input
	target.Flags
	sourceFlags
	functionFlags FunctionFlags
	sinks         []string
	skipFill      bool
	prepare       bool
	dryRun        bool
	maxLag        time.Duration
	maxLagGiven   bool
	assumedLag    time.Duration
	floorDelay    time.Duration
	clockSkew     time.Duration
	verbose       bool
	format        cli.Format
}

// New is the command backfill.
func New(s cli.Streams) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "backfill -c FILE (--live | --local DIR) [--sink NAME,...] SOURCE",
		Short: "Fill sinks with the items that the table already has",
		Long: `backfill fills views, aggregates and search indexes with the items that a table already has. The pipeline processes the
stream at the same time. Every write is conditional on a version, and the versions of a backfill are older than every
change of the stream. So the order of the two does not matter.

SOURCE is one of
  --scan                a parallel, consistent scan of the table
  --export PATH         a full export (folder or s3://BUCKET/PREFIX), and after it incremental ones, each with --export
  --start-export        ask DynamoDB for a full export into --bucket, wait for it, and read it
  --items PATH          items as JSON lines; name the key with --keys
  --archive PATH        all changes that were ever made: an archive (s3://BUCKET/PREFIX or a folder), or saved records

A sink that is added to a running pipeline waits. backfill sets its floor to a time two minutes ahead. The stream writes
the changes after the floor to the sink. The source must show the table as it was after the floor. So an older export is
refused. --prepare only sets the floor, and prints the time from which on an export can be used.

A backfill can be killed at any time: the same command continues it. Several processes can run it with the same flags:
they share the parts. Views, aggregates and indexes are complete when the sink is "live". By then every shard was read
past the last read of the source.

An archive or a Go sink takes part only if --sink names it. It gets the items as SNAPSHOT records, which are older than
every change of the stream. It does not wait, and has no floor. Only a program that contains a Go sink can fill it
(package cmd/cli). A function for the entity Order is named on_Order. A notify sink takes no part, because a snapshot
raises no events.`,
		Example: `  # A view that was added to a running pipeline
  tablewake backfill -c tablewake.yaml --live --sink units_sold --scan --rcu 500

  # From an export that DynamoDB makes: no read units of the table
  tablewake backfill -c tablewake.yaml --live --start-export --bucket shop-exports

  # On a laptop: an export, then the stream
  tablewake backfill -c tablewake.yaml --local out --export export/
  tablewake replay -c tablewake.yaml --local out stream.jsonl

  # What would it do?
  tablewake backfill -c tablewake.yaml --live --export s3://shop-exports/full --dry-run

  # Fill an archive too
  tablewake backfill -c tablewake.yaml --live --sink units_sold,history --scan

  # Fill nothing: begin with the changes from now on
  tablewake backfill -c tablewake.yaml --live --sink units_sold --none`,
		Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			o.maxLagGiven = c.Flags().Changed("max-lag")
			return o.run(c.Context(), s)
		},
	}
	o.Input.Add(c)
	o.Flags.Add(c, "the folder that a replay or a consumer writes; a new one is made")
	o.AddCreate(c)
	o.addSource(c)
	f := c.Flags()
	f.StringSliceVar(&o.sinks, "sink", nil,
		"these sinks, which may be archives and Go sinks (default: those that wait or are being filled; "+
			"if there are none, all views, aggregates and indexes that were never filled)")
	f.BoolVar(&o.skipFill, "none", false, "fill nothing: the sinks begin with the changes from now on")
	f.BoolVar(&o.prepare, "prepare", false, "only set the floor, and print the time from which on an export can be used")
	f.BoolVar(&o.dryRun, "dry-run", false, "show what would be done, and change nothing; the exit code is that of the run if it would be refused")
	f.DurationVar(&o.maxLag, "max-lag", time.Minute,
		"pause while live consumers are further behind the stream than this; 0 never pauses; it needs leases")
	f.DurationVar(&o.assumedLag, "lag", 0,
		"if Lambda reads the stream: maximum time that it is behind the stream; backfill waits as long at the end")
	o.functionFlags.Add(c, "if Lambda reads the stream")
	f.DurationVar(&o.floorDelay, "floor-delay", 2*time.Minute,
		"how far in the future the floor of a waiting sink is set, so that every process knows it by then; at least 15s")
	f.DurationVar(&o.clockSkew, "clock-skew", time.Minute,
		"maximum difference between the clocks of this machine, of the processes and of DynamoDB")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "log to standard error what the pipeline does")
	cli.AddFormat(c, &o.format)
	return c
}

func (o *options) run(ctx context.Context, s cli.Streams) error {
	cfg, err := o.Load()
	if err != nil {
		return err
	}
	if err := errors.Join(o.checkFlags(cfg), checkNames(cfg, s.Extensions, o.sinks)); err != nil {
		return err
	}

	mask, err := sinks.Mask(cfg)
	if err != nil {
		return err
	}
	j := &job{o: o, streams: s, cfg: cfg, mask: mask}
	if o.dryRun {
		err = j.describe(ctx)
	} else {
		err = cli.Interrupted(ctx, j.openAndRun(ctx))
	}
	if errors.Is(err, errNothingToFill) {
		fmt.Fprintln(s.Err, err)
		return nil
	}
	return err
}

// openAndRun opens the stores, records the outputs in the state, and runs the backfill.
func (j *job) openAndRun(ctx context.Context) (err error) {
	if j.cfg.Source.DynamoDBLocal {
		j.o.clockSkew = max(j.o.clockSkew, localClockSkew)
	}
	endTelemetry, err := j.o.StartTelemetry(ctx, j.cfg, nil, j.streams.Err, j.o.verbose)
	if err != nil {
		return err
	}
	defer endTelemetry()
	if j.stores, err = j.o.Open(ctx, j.cfg, j.streams.Err, false); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.stores.Close()) }()
	j.stateStore, err = j.stores.State(ctx, j.cfg)
	if err != nil {
		return err
	}
	if j.stateStore == nil {
		return fmt.Errorf(
			"%s has no state: a backfill remembers there which sinks it fills and how far; add state: {table: NAME}", j.cfg.File)
	}

	if err := j.recordOutputs(ctx); err != nil {
		return j.o.Hint(err)
	}
	if err := j.recordGoSinks(ctx); err != nil {
		return err
	}
	return j.selectAndRun(ctx)
}

// selectAndRun selects the sinks by the births and the backfills in the state, and runs the backfill.
func (j *job) selectAndRun(ctx context.Context) error {
	births, err := stream.Collect(j.stateStore.Births(ctx))
	if err != nil {
		return err
	}
	stored, err := stream.Collect(j.stateStore.Backfills(ctx))
	if err != nil {
		return err
	}
	if j.selection, err = selectSinks(j.allSinks(), births, stored, j.o.sinks); err != nil {
		return err
	}
	if j.o.skipFill {
		return j.markLiveUnfilled(ctx)
	}
	if err := deleteEndedBackfills(ctx, j.stateStore, births, stored); err != nil {
		return err
	}
	j.warnOfWaiting()
	return j.run(ctx)
}

// warnOfWaiting warns of each sink that waits, and that a command without --sink does not select: it continues a stored
// run, which fills other sinks.
func (j *job) warnOfWaiting() {
	if len(j.o.sinks) > 0 {
		return
	}
	for _, s := range j.allSinks() {
		waits := func(b state.Birth) bool { return sinks.IsOutput(s, b) && b.Stage == state.Waiting }
		if slices.ContainsFunc(j.selection.allBirths, waits) && !slices.Contains(j.selection.names(), s.Name) {
			fmt.Fprintf(j.streams.Err, cli.Warning+
				"the sink %s waits, and this run does not fill it: when the run has ended, fill it with --sink %[1]s\n", s.Name)
		}
	}
}

// recordGoSinks records the births of the named Go sinks.
func (j *job) recordGoSinks(ctx context.Context) error {
	for _, s := range j.allSinks() {
		if s.Custom == nil || !slices.Contains(j.o.sinks, s.Name) {
			continue
		}
		if err := sinks.RecordGoBirth(ctx, j.stateStore, s); err != nil {
			return err
		}
	}
	return nil
}

func (o *options) checkFlags(cfg *config.Config) error {
	readsSource := !o.skipFill && !o.prepare
	sources := cli.CountTrue(o.scan, len(o.export) > 0, o.startExport, len(o.items) > 0, len(o.archive) > 0)
	switch {
	case o.maxLag < 0 || o.assumedLag < 0 || o.clockSkew < 0:
		return cli.Usagef("--max-lag, --lag and --clock-skew must not be negative")
	case o.floorDelay < minFloorDelay:
		return cli.Usagef("--floor-delay must be %s or more: processes look at the stage of a sink every ten seconds",
			minFloorDelay)
	case o.skipFill && (o.dryRun || o.prepare || sources > 0):
		return cli.Usagef("--none fills nothing: leave the source, --prepare and --dry-run out")
	case o.skipFill && len(o.sinks) == 0:
		return cli.Usagef("--none needs --sink: name the sinks that begin with the changes from now on")
	case o.prepare && o.dryRun:
		return cli.Usagef("--dry-run changes nothing, and --prepare sets the floor: leave one of them out")
	case o.prepare && sources > 0:
		return cli.Usagef("--prepare sets the floor alone: name the source afterwards, without it")
	case readsSource && sources != 1:
		return cli.Usagef(
			"name one source: --scan, --export, --start-export, --items or --archive; see `tablewake backfill --help`")
	}
	if err := errors.Join(o.Check(), o.functionFlags.Check(), o.checkSource(&o.Flags)); err != nil {
		return err
	}
	fillsFromTable := !o.skipFill && len(o.archive) == 0
	if fillsFromTable && len(cfg.Source.Tables) > 1 {
		return cli.Usagef(
			"%s has several source tables, and a scan, an export or items cover one: fill the sinks from the archive with --archive", cfg.File)
	}
	return nil
}

// localClockSkew is the minimum of --clock-skew with DynamoDB Local. DynamoDB Local truncates the creation times of
// records to the minute.
const localClockSkew = 61 * time.Second

// recordOutputs records the births of all outputs, as the start of a consumer does. The birth of an output is its
// recorded identity, with the stage of its backfill. If the pipeline has already written, a sink that was added to it
// now waits for a backfill. recordOutputs writes no rows or documents.
func (j *job) recordOutputs(ctx context.Context) error {
	before, err := stream.PriorReadEvidence(ctx, &j.o.Flags, j.cfg)
	if err != nil {
		return err
	}
	opts := []sinks.Option{sinks.WithExtensions(j.streams.Extensions...), sinks.HoldCustom("backfill"),
		sinks.SourceWasRead(before), sinks.SuppressEvents("backfill"), sinks.RecordOutputsOnly()}
	_, err = sinks.Assemble(ctx, j.cfg, j.stores, opts...)
	return err
}

// markLiveUnfilled makes sinks live without a backfill. They wait, their run has written nothing, or they began again
// after their output was lost.
func (j *job) markLiveUnfilled(ctx context.Context) error {
	var runs []string
	for _, b := range j.selection.births {
		hasWrittenNothing := b.Stage == state.Filling && !j.selection.isStored()
		s, _ := j.cfg.Sink(b.Sink)
		beganAgain := s.KeepsState() && sinks.BeganLate(b)
		switch {
		case hasWrittenNothing:
			runs = append(runs, b.Run)
		case b.Stage != state.Waiting && !beganAgain:
			return cli.Usagef("--none: the sink %s does not wait: it is %s", b.Sink, b.Stage)
		}
	}
	if err := j.abandonUnstored(ctx, runs); err != nil {
		return err
	}
	makeLive := func(b *state.Birth) { b.Stage, b.Run = state.Live, sinks.NoRun }
	if _, err := sinks.ChangeBirths(ctx, j.stateStore, j.selection.births, makeLive); err != nil {
		return err
	}
	fmt.Fprintf(j.streams.Out, "%s: live within ten seconds, without the earlier items\n", j.selection)
	return nil
}
