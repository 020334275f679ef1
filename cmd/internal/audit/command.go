package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/records"
	"github.com/tablewake/tablewake/cmd/internal/stream"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/sinks/audit"
	"github.com/tablewake/tablewake/sinks/audit/run"
)

// options are the flags of `audit`.
type options struct {
	records.Input
	target.Flags
	sinks     []string
	export    string
	report    string
	again     string
	repair    string
	dryRun    bool
	keys      []string
	tableKeys []string
	selection records.SelectionFlags
	sample    int
	segments  int
	parts     int
	rounds    int
	rcu       float64
	maxLag    time.Duration
	lag       time.Duration
	trustLag  bool // --lag was given: the leases are not read
	clockSkew time.Duration
	saveEvery time.Duration
	format    cli.Format
}

// New is the command audit.
func New(s cli.Streams) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "audit -c FILE (--live | --local DIR RECORDS...) [--sink NAME,...]",
		Short: "Compare sinks with the source table, and repair differences",
		Long: `audit compares views, aggregates and search indexes with the items of the source table. It plans what each item should
produce, with the same code as the pipeline, and compares the plan with everything that the sinks hold. It writes only a
report.

The table and the sinks may be in use. audit looks again at each difference that it found at first. A difference counts
only if the item and its entries did not change, versions included, until every consumer had read past the first look.
An item that changes all the time is reported as busy.

With --live, audit reads the table by a parallel scan or from an export (--export), and reads single items from the
table. With --local, it takes the last state of each item from the named records and archives, and from the export of
--export. Name everything that was written into the folder: an item is skipped where a sink has a newer change of it.
An export alone does not show whether it has a change of the stream that a sink has.

The report has a line of JSON for each difference, with the versions that were seen. It contains keys of items: keep it
private. To continue an interrupted audit, run the same command again.

--repair reads a report, and writes what should be there, only at the places and versions in the report. Later changes
win. A second repair of the same report does nothing. Held, busy and skipped places stay as they are. Audit again
afterwards.

Verdicts: missing, extra, stale (an older state of the item), wrong (other contents), held (a dead letter or a quarantined
key explains the difference), busy (the item changed all the time), skipped (it cannot be compared; the report says why).`,
		Example: `  # Everything, at 500 read units a second
  tablewake audit -c tablewake.yaml --live --rcu 500

  # One of 200 parts of the table, with a bound on the share that differs
  tablewake audit -c tablewake.yaml --live --sample 1 --segments 200

  # One item; one entity type
  tablewake audit -c tablewake.yaml --live --key 'PK=USER#001,SK=PROFILE'
  tablewake audit -c tablewake.yaml --live --sink orders_by_status --type order

  # Look again at the differences of an earlier audit
  tablewake audit -c tablewake.yaml --live --again audit.jsonl --report again.jsonl

  # Repair the differences
  tablewake audit -c tablewake.yaml --live --repair audit.jsonl --dry-run
  tablewake audit -c tablewake.yaml --live --repair audit.jsonl

  # On a laptop
  tablewake audit -c tablewake.yaml --local out stream.jsonl`,
		RunE: func(c *cobra.Command, args []string) error {
			o.trustLag = c.Flags().Changed("lag")
			return o.run(c.Context(), s, args)
		},
	}
	o.Input.Add(c)
	o.Flags.Add(c, "the folder that a replay, a backfill or a consumer wrote")
	f := c.Flags()
	f.StringSliceVar(&o.sinks, "sink", nil, "these sinks (default: all views, aggregates and search indexes)")
	f.StringVar(&o.export, "export", "",
		"a full export of the table instead of a scan: a folder or s3://BUCKET/PREFIX; single items are still read from the table")
	f.StringVar(&o.report, "report", "audit.jsonl", "file for the report")
	f.StringVar(&o.again, "again", "", "look again only at the differences in this report")
	f.StringVar(&o.repair, "repair", "", "repair the differences in this report, without an audit")
	f.BoolVar(&o.dryRun, "dry-run", false, "with --repair: show what would be written, and write nothing")
	f.StringArrayVar(&o.keys, "key", nil,
		"only the item with these key attributes, PK=...,SK=..., or its canonical key; several times for several items")
	f.StringSliceVar(&o.tableKeys, "keys", nil,
		"with --local and --export: names of the table's key attributes, partition key first")
	o.selection.Add(c)
	f.IntVar(&o.sample, "sample", 0, "audit this many of the --segments, chosen at random")
	f.IntVar(&o.segments, "segments", run.DefaultSegments,
		"number of segments in which the table and the sinks are read; with --local it is 1")
	f.IntVar(&o.parts, "parts", run.DefaultParts, "segments that are read at the same time")
	f.IntVar(&o.rounds, "rounds", run.DefaultRounds,
		"how often to look again at items that change, before they are reported as busy")
	f.Float64Var(&o.rcu, "rcu", 500, "read units a second; 0 is no limit")
	f.DurationVar(&o.maxLag, "max-lag", time.Minute,
		"pause while consumers are further behind the stream than this; 0 never pauses")
	f.DurationVar(&o.lag, "lag", time.Minute,
		"if Lambda reads the stream, or no consumer can run: maximum time that the sinks are behind the stream. The leases are not read then, and --max-lag has no effect")
	f.DurationVar(&o.clockSkew, "clock-skew", time.Minute,
		"maximum difference between the clocks of this machine, of the processes and of DynamoDB")
	f.DurationVar(&o.saveEvery, "save-every", run.DefaultCheckpoint,
		"time between two checkpoints; an interrupted audit continues at the last one")
	cli.AddFormat(c, &o.format)
	return c
}

func (o *options) run(ctx context.Context, s cli.Streams, paths []string) (err error) {
	cfg, err := o.loadConfig(paths)
	if err != nil {
		return err
	}
	o.ReadOnly = o.repair == "" || o.dryRun
	stores, err := o.OpenExisting(ctx, cfg, s.Err)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stores.Close()) }()
	j := &job{o: o, streams: s, cfg: cfg, stores: stores, live: o.Live, running: o.Live}
	if o.Live || target.IsS3(o.export) {
		if j.aws, err = target.LoadAWS(ctx); err != nil {
			return err
		}
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	j.sinks, err = audit.Open(ctx, cfg, stores, audit.Options{
		Sinks: o.sinks, CommandFlags: o.CommandLine(cfg), DryRun: o.dryRun, Extensions: s.Extensions,
	})
	if err != nil {
		return err
	}

	outcome, err := j.run(ctx, paths)
	if err != nil {
		return cli.Interrupted(ctx, err)
	}
	if err := cli.Print(s.Out, o.format, outcome, outcome.Write); err != nil {
		return err
	}
	return outcome.Err()
}

// loadConfig loads the file, and checks the flags with it.
func (o *options) loadConfig(paths []string) (*config.Config, error) {
	cfg, err := o.Load()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(o.Check(), o.checkFlags(paths)); err != nil {
		return nil, err
	}
	if len(cfg.Source.Tables) > 1 {
		return nil, cli.Usagef("%s has several source tables, and an audit covers one: give each table a file of its own",
			cfg.File)
	}
	if err := cli.CheckSinks(cfg, o.sinks...); err != nil {
		return nil, err
	}
	if _, err := audit.SelectSinks(cfg, o.sinks); err != nil {
		return nil, cli.Usagef("%v", err)
	}
	return cfg, nil
}

// result is what the command prints.
type result interface {
	Write(w io.Writer)
	Err() error
}

func (o *options) checkFlags(paths []string) error {
	samples := o.sample > 0 || o.selection.Given()
	namesItems := len(o.keys) > 0 || o.again != ""
	readsTable := o.Live && o.export == ""
	switch {
	case o.Live && len(paths) > 0:
		return cli.Usagef("%s: records go with --local; with --live the items are those of the table", paths[0])
	case !o.Live && len(paths) == 0 && o.export == "":
		return cli.Usagef(
			"name the records that the folder was made from: saved records, archives, --export; a --local folder asks no table")
	case o.sample < 0 || o.segments < 1 || o.parts < 1 || o.rcu < 0 || o.rounds < 1:
		return cli.Usagef("--segments, --parts and --rounds must be 1 or more, and --sample and --rcu must not be negative")
	case o.sample > o.segments:
		return cli.Usagef("--sample %d is more than --segments %d", o.sample, o.segments)
	case o.sample > 0 && !readsTable:
		return cli.Usagef("--sample reads segments of the table: it goes with --live, and without --export")
	case o.maxLag < 0 || o.lag < 0 || o.clockSkew < 0 || o.saveEvery <= 0:
		return cli.Usagef("--max-lag, --lag and --clock-skew must not be negative, and --save-every must be more than 0")
	case o.dryRun && o.repair == "":
		return cli.Usagef("--dry-run goes with --repair: an audit writes nothing but its report")
	case o.repair != "" && (namesItems || samples):
		return cli.Usagef(
			"--repair repairs what the report has: leave --key, --again, --sample, --type, --key-prefix and --filter out; --sink selects")
	case namesItems && samples, len(o.keys) > 0 && o.again != "":
		return cli.Usagef(
			"--key and --again name what is looked at: leave the other one, --sample, --type, --key-prefix and --filter out")
	}
	return nil
}

// job is one run of the command.
type job struct {
	target.Closers
	o           *options
	streams     cli.Streams
	cfg         *config.Config
	stores      *target.Stores
	aws         awssdk.Config // with --live, or with an export in S3
	live        bool          // items are read from the table, not from saved records
	running     bool          // consumers or a function may write to the sinks meanwhile
	sinks       []audit.Sink
	budget      *run.Budget
	lostRecords int64 // records of a --local folder that cannot be decoded
	named       int   // number of undecodable items that were named

	onOutcome func(sink string, f *audit.Finding, done audit.Outcome) // nil, or called after each finding of a repair
}

// run makes the audit, or repairs the findings of an earlier one.
func (j *job) run(ctx context.Context, paths []string) (result, error) {
	j.budget = run.NewBudget(j.o.rcu)
	o := j.auditOptions()
	o.ItemsSelected = len(j.o.keys) > 0 || j.o.selection.Given()
	if j.o.sample > 0 {
		o.Sample = run.NewSample(j.o.sample, j.o.segments)
		o.Header.Sample = o.Sample
	}
	if err := j.openSource(ctx, &o, paths); err != nil {
		return nil, err
	}
	if j.o.repair != "" {
		return j.repairFindings(ctx, j.o.repair, o.Lookup, o.Header)
	}
	o.AlreadyUndecodable = j.lostRecords
	progress := cli.NewCountProgress(j.streams.Err, "comparing "+strings.Join(o.Header.Sinks, ", "))
	defer progress.End()
	o.Progress = progress
	runSummary, err := run.Audit(ctx, o)
	if err != nil {
		return nil, err
	}
	return &summary{runSummary}, nil
}

// auditOptions returns the options of an audit that do not depend on which items and places are compared.
func (j *job) auditOptions() run.Options {
	o := run.Options{
		Report: j.o.report, Sinks: j.sinks, Segments: j.o.segments, Parts: j.o.parts, MaxRounds: j.o.rounds,
		NoWriters: !j.running && !j.live, WaitForStream: j.giveWay(), Budget: j.budget,
		WaitForConsumers: j.waitForConsumers, OnUndecodable: j.logUndecodable, Checkpoint: j.o.saveEvery,
	}
	if !j.o.Live {
		o.Segments = 1 // an embedded store would read everything once for each segment
	}
	for _, sink := range j.sinks {
		o.Header.Sinks = append(o.Header.Sinks, sink.Name())
	}
	o.Header.Pipeline = j.cfg.Name
	if j.trustsLag() {
		reader := cli.Choose(j.cfg.Leases == nil, "the Lambda function is", "the consumers are")
		o.Header.Assumed = fmt.Sprintf("%s never more than %s behind the stream", reader, j.o.lag)
	}
	return o
}

// trustsLag reports whether the audit waits for --lag and ignores the leases.
func (j *job) trustsLag() bool { return j.o.LambdaReads(j.cfg) || j.o.Live && j.o.trustLag }

// giveWay returns a function that blocks while consumers are further behind the stream than --max-lag. The function
// does not block if the leases are not read, or if --max-lag is 0.
func (j *job) giveWay() func(ctx context.Context) {
	if !j.running || j.trustsLag() || j.o.maxLag == 0 {
		return func(context.Context) {}
	}
	return stream.GiveWay(j.readLeases, j.o.maxLag, stream.MaxSilence(&j.o.Flags, j.cfg), j.streams.Err)
}

// readLeases reads the leases and the heartbeats.
func (j *job) readLeases(ctx context.Context) (leases.Snapshot, error) {
	return stream.ReadLeases(ctx, &j.o.Flags, j.cfg, j.aws)
}

// waitForConsumers waits until every consumer has read the stream past the time at. If the leases are not read, it
// waits until --lag after that time.
func (j *job) waitForConsumers(ctx context.Context, at time.Time) error {
	switch {
	case !j.running:
		return nil // no other process uses the folder
	case j.trustsLag():
		return pipeline.Sleep(ctx, time.Until(at.Add(j.o.lag)))
	}
	return stream.WaitPassed(ctx, j.readLeases, at, j.o.clockSkew, j.streams.Err)
}
