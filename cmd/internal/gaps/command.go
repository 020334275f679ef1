package gaps

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	auditor "github.com/tablewake/tablewake/cmd/internal/audit"
	"github.com/tablewake/tablewake/cmd/internal/backfill"
	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/stream"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/shardreader/leases"
	leasesfile "github.com/tablewake/tablewake/shardreader/leases/file"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/audit"
	"github.com/tablewake/tablewake/sinks/audit/run"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
)

// options are the flags of `gaps`.
type options struct {
	config string
	target.Flags
	function        backfill.FunctionFlags
	repair          bool
	exports         []string
	startExport     bool
	bucket, prefix  string
	audit           bool
	dryRun          bool
	sinks           []string
	shards          []string
	queue           string
	noQueue         bool
	functionTimeout time.Duration
	report          string
	rcu             float64
	segments        int
	parts           int
	rounds          int
	maxLag          time.Duration
	lag             time.Duration
	trustLag        bool // --lag was given: the audit does not read the leases
	clockSkew       time.Duration
	format          cli.Format
}

// New is the command gaps.
func New(s cli.Streams) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "gaps -c FILE (--live | --local DIR) [--repair (--export FOLDER | --start-export --bucket B | --audit)]",
		Short: "List gaps, and repair sinks after them",
		Long: `gaps lists the gaps of a pipeline: records that the stream dropped before they were read. A gap is open, repairing or
repaired. gaps also lists sinks that may miss changes because a process ran with a file that lacked them. --audit repairs
those sinks.

--repair compares the sinks with the table, repairs the differences, and compares again. A gap is repaired when the last
comparison found no difference. It compares
  --export        the items of incremental exports (NEW_AND_OLD_IMAGES, no filter) that cover the gaps and a minute around them
  --start-export  the same, after it has asked DynamoDB for the exports, into --bucket. The table needs point-in-time recovery
  --audit         all items, without exports

An export has two states of an item, but a row may be where the item was in between. So views whose rows move are read
completely, for the items of the exports.

A repair is refused while reading is stopped at the gap, while dead letters of the sinks wait, and while a process may
still write what it read before the gap. On Lambda, name the on-failure queue with --queue: it must be empty.

With --local, no consumer may use the folder. The items are read from the table.`,
		Example: `  tablewake gaps -c tablewake.yaml --live
  tablewake gaps -c tablewake.yaml --live --repair --start-export --bucket shop-exports
  tablewake gaps -c tablewake.yaml --live --repair --audit --dry-run
  tablewake gaps -c tablewake.yaml --live --repair --export s3://shop-exports/AWSDynamoDB/01760000000000-abcdef01`,
		Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			o.trustLag = c.Flags().Changed("lag")
			return o.run(c.Context(), s)
		},
	}
	cli.AddConfig(c, &o.config)
	o.Add(c, "the folder that a consumer worked on")
	o.addRepair(c)
	cli.AddFormat(c, &o.format)
	return c
}

// addRepair adds the flags of a repair.
func (o *options) addRepair(c *cobra.Command) {
	f := c.Flags()
	f.BoolVar(&o.repair, "repair", false, "repair the sinks after the gaps")
	f.StringArrayVar(&o.exports, "export", nil,
		"an incremental export: a folder or s3://BUCKET/PREFIX; several times for several exports")
	f.BoolVar(&o.startExport, "start-export", false, "ask DynamoDB for the exports into --bucket, and wait for them")
	f.StringVar(&o.bucket, "bucket", "", "bucket for --start-export")
	f.StringVar(&o.prefix, "prefix", "", "prefix in --bucket")
	f.BoolVar(&o.audit, "audit", false, "compare all items of the table")
	f.BoolVar(&o.dryRun, "dry-run", false, "show what would be repaired, and write nothing")
	f.StringSliceVar(&o.sinks, "sink", nil, "these sinks (default: all views, aggregates and search indexes)")
	f.StringSliceVar(&o.shards, "shard", nil, "the gaps of these shards (default: all)")
	f.StringVar(&o.queue, "queue", "", "URL of the function's on-failure queue, which must be empty")
	f.BoolVar(&o.noQueue, "no-queue", false, "the function has no on-failure queue")
	f.DurationVar(&o.functionTimeout, "function-timeout", 15*time.Minute,
		"timeout of the Lambda function, if one reads the stream")
	o.function.Add(c, "if Lambda reads the stream, and a sink was left out")
	f.StringVar(&o.report, "report", "gaps.jsonl", "file for the report of the differences that are left")
	f.Float64Var(&o.rcu, "rcu", 500, "read units a second; 0 is no limit")
	f.IntVar(&o.segments, "segments", run.DefaultSegments, "number of segments in which the table and the sinks are read")
	f.IntVar(&o.parts, "parts", run.DefaultParts, "segments that are read at the same time")
	f.IntVar(&o.rounds, "rounds", run.DefaultRounds, "how often to look again at items that change, before they are left")
	f.DurationVar(&o.maxLag, "max-lag", time.Minute,
		"pause while consumers are further behind the stream than this; 0 never pauses")
	f.DurationVar(&o.lag, "lag", time.Minute,
		"if Lambda reads the stream, or no consumer can run: maximum time that the sinks are behind the stream. --max-lag has no effect then")
	f.DurationVar(&o.clockSkew, "clock-skew", time.Minute,
		"maximum difference between the clocks of this machine, of the processes and of DynamoDB")
}

func (o *options) checkFlags() error {
	ways := cli.CountTrue(len(o.exports) > 0, o.startExport, o.audit)
	switch {
	case !o.repair && (ways > 0 || o.dryRun || len(o.sinks) > 0 || len(o.shards) > 0 || o.queue != "" || o.noQueue):
		return cli.Usagef(
			"--export, --start-export, --audit, --dry-run, --sink, --shard, --queue and --no-queue go with --repair")
	case o.repair && ways != 1:
		return cli.Usagef("--repair needs one of --export, --start-export and --audit: what the sinks are compared with")
	case o.startExport != (o.bucket != ""):
		return cli.Usagef("--start-export and --bucket go together")
	case o.startExport && o.dryRun:
		return cli.Usagef("--dry-run asks for no export: name exports with --export, or leave one of the two out")
	case o.queue != "" && o.noQueue:
		return cli.Usagef("--queue and --no-queue exclude each other")
	case o.rcu < 0 || o.segments < 1 || o.parts < 1 || o.rounds < 1:
		return cli.Usagef("--segments, --parts and --rounds must be 1 or more, and --rcu must not be negative")
	case o.maxLag < 0 || o.lag < 0 || o.clockSkew < 0 || o.functionTimeout < 0:
		return cli.Usagef("--max-lag, --lag, --clock-skew and --function-timeout must not be negative")
	}
	return o.function.Check()
}

// loadConfig loads the file, and checks the flags with it.
func (o *options) loadConfig() (*config.Config, error) {
	cfg, err := o.Load(o.config)
	if err == nil {
		err = o.checkFlags()
	}
	if err != nil {
		return nil, err
	}
	if o.Live && cfg.State == nil && (cfg.Leases == nil || cfg.Leases.File == "") {
		return nil, fmt.Errorf("%s has no state, which holds the gaps: add state: {table: NAME}", cfg.File)
	}
	if o.repair {
		if _, err := audit.SelectSinks(cfg, o.sinks); err != nil {
			return nil, cli.Usagef("%v", err)
		}
	}
	return cfg, nil
}

func (o *options) run(ctx context.Context, s cli.Streams) (err error) {
	cfg, err := o.loadConfig()
	if err != nil {
		return err
	}
	o.ReadOnly = !o.repair || o.dryRun
	c := &command{options: o, cfg: cfg, streams: s}
	defer func() { err = errors.Join(err, c.Close()) }()
	if err := c.openStores(ctx); err != nil {
		return err
	}
	gaps, leftOut, err := c.readNotes(ctx)
	if err != nil {
		return err
	}
	report := newReport(cfg.Name, o.CommandLine(cfg), gaps, leftOut, NotRepairable(cfg))
	if o.repair {
		result, err := c.repairNoted(ctx, gaps, leftOut)
		if err != nil {
			return err
		}
		if result != nil {
			if gaps, leftOut, err = c.readNotes(ctx); err != nil {
				return err
			}
			report = newReport(cfg.Name, o.CommandLine(cfg), gaps, leftOut, result.NotRepairable)
			report.Repair = result
		}
	}
	if err := cli.Print(s.Out, o.format, report, report.Write); err != nil {
		return err
	}
	if report.Open > 0 {
		return cli.WithExitCode(cli.ExitPlanned, nil)
	}
	return nil
}

// repairNoted repairs the open gaps and the left-out sinks that the flags select. It returns nil if there is nothing to
// repair.
func (c *command) repairNoted(ctx context.Context, gaps []state.NotedGap, leftOut []state.Birth) (*Result, error) {
	openGaps := selectOpenGaps(gaps, c.shards)
	leftOut, err := c.repairableBirths(leftOut, len(openGaps) > 0)
	if err != nil {
		return nil, err
	}
	if len(openGaps) == 0 && len(c.shards) > 0 {
		return nil, cli.Usagef("--shard %s: these shards have no gap that is to be repaired", strings.Join(c.shards, ","))
	}
	if len(openGaps)+len(leftOut) == 0 {
		return nil, nil
	}
	result, err := c.repairAll(ctx, openGaps, leftOut)
	if err != nil && ctx.Err() != nil {
		err = cli.WithExitCode(cli.ExitInterrupted, fmt.Errorf("interrupted: the same command goes on: %w", err))
	}
	return &result, err
}

// command is one run of gaps.
type command struct {
	*options
	target.Closers
	cfg     *config.Config
	streams cli.Streams
	stores  *target.Stores
	store   state.Gaps // nil: the file of leases is read without a lock
	file    string     // path of the file of leases; "" if the state has the gaps
}

// openStores opens the stores. Only a repair that writes locks the file of leases.
func (c *command) openStores(ctx context.Context) (err error) {
	if !c.Live || c.cfg.Leases != nil {
		if c.file, err = stream.LeaseFile(&c.Flags, c.cfg); err != nil {
			return err
		}
	}
	if !c.Live {
		if err := target.CheckLocalFolder(c.Local); err != nil {
			return err
		}
	}
	needsNoState := !c.Live || c.cfg.State == nil // the file of leases has the gaps, and no lock is needed to list them
	if c.file != "" && !c.repair && needsNoState {
		return nil
	}
	if c.stores, err = c.OpenWritten(ctx, c.cfg, c.streams.Err); err != nil {
		return err
	}
	c.OnClose(c.stores.Close)
	if c.file == "" {
		c.store, err = c.stores.State(ctx, c.cfg)
		return err
	}
	if !c.repair || c.dryRun {
		return nil
	}
	table, err := leasesfile.Open(c.file, c.cfg.Name)
	if err != nil {
		return err
	}
	c.OnClose(table.Close)
	c.store = table
	return nil
}

// readNotes reads all gaps, and the births of the outputs that may miss changes.
func (c *command) readNotes(ctx context.Context) (gaps []state.NotedGap, leftOut []state.Birth, err error) {
	if gaps, err = c.readGaps(ctx); err != nil {
		return nil, nil, err
	}
	leftOut, err = c.readLeftOut(ctx)
	return gaps, leftOut, err
}

func (c *command) readGaps(ctx context.Context) ([]state.NotedGap, error) {
	if c.store != nil {
		return stream.Collect(c.store.Gaps(ctx))
	}
	_, gaps, err := leasesfile.ReadUnlocked(c.file)
	return gaps, err
}

// repairableBirths returns the births of outputs that this command can repair. Only an audit of everything finds the
// missed changes of a left-out sink, and only while no process runs without the sink. repairsGaps is true if the
// command has gaps to repair, too.
func (c *command) repairableBirths(leftOut []state.Birth, repairsGaps bool) ([]state.Birth, error) {
	if !c.audit || len(c.shards) > 0 {
		return nil, nil
	}
	leftOut = slices.DeleteFunc(leftOut, func(b state.Birth) bool {
		return len(c.sinks) > 0 && !slices.Contains(c.sinks, b.Sink)
	})
	if len(leftOut) == 0 || !c.isOfFunction() || c.function.Given() {
		return leftOut, nil
	}
	const how = "name the Lambda functions with --function, to see since when they have this file; or say so with --deployed-since TIME"
	if !repairsGaps {
		return nil, cli.Usagef("the sink %s was left out: %s", leftOut[0].Sink, how)
	}
	fmt.Fprintf(c.streams.Err, cli.Warning+"the sink %s was left out, and stays noted: %s\n", leftOut[0].Sink, how)
	return nil, nil
}

// isOfFunction reports whether Lambda functions read the stream.
func (c *command) isOfFunction() bool { return c.Live && c.cfg.Leases == nil }

// readLeftOut reads the births of the outputs that may miss changes, because a process was started without their sinks.
func (c *command) readLeftOut(ctx context.Context) (leftOut []state.Birth, err error) {
	collect := func(births state.Births) error {
		all, err := stream.Collect(births.Births(ctx))
		leftOut = sinks.LeftOut(c.cfg, all)
		return err
	}
	switch {
	case c.stores != nil:
		stateStore, err := c.stores.State(ctx, c.cfg)
		if err != nil || stateStore == nil {
			return nil, err
		}
		err = collect(stateStore)
		return leftOut, err
	case c.Live:
		return nil, nil // the file has no state
	}
	err = target.ReadState(ctx, local.Dir(c.Local), c.cfg.Name, func(s *sqlite.State) error { return collect(s) })
	return leftOut, err
}

// repairAll repairs gaps, and outputs whose sinks were left out, unless it is too early.
func (c *command) repairAll(
	ctx context.Context, openGaps []state.NotedGap, leftOut []state.Birth,
) (_ Result, err error) {
	if len(c.cfg.Source.Tables) > 1 {
		return Result{}, cli.Usagef("%s has several source tables, and a repair is of one: give each its file", c.cfg.File)
	}
	if err := c.check(ctx, openGaps, leftOut); err != nil {
		return Result{}, err
	}
	var births state.Births
	if len(leftOut) > 0 {
		if births, err = c.stores.State(ctx, c.cfg); err != nil {
			return Result{}, err
		}
	}
	job, err := auditor.NewJob(ctx, auditor.JobOptions{
		Flags: c.Flags, Config: c.cfg, Stores: c.stores, Streams: c.streams, Sinks: c.sinks, WritersRunning: c.Live &&
			(c.file == "" || c.dryRun), DryRun: c.dryRun,
		Segments: c.segments, Parts: c.parts, Rounds: c.rounds, RCU: c.rcu, MaxLag: c.maxLag, Lag: c.lag,
		TrustLag: c.trustLag, ClockSkew: c.clockSkew,
	})
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, job.Close()) }()
	exports := c.exports
	if c.startExport {
		if exports, err = RequestExports(ctx, job.Table().ARN, c.bucket, c.prefix, openGaps, c.streams.Err); err != nil {
			return Result{}, err
		}
		gaps, err := c.readGaps(ctx) // more gaps may have become known meanwhile
		if err != nil {
			return Result{}, err
		}
		if openGaps = selectOpenGaps(gaps, c.shards); len(openGaps) == 0 {
			return Result{}, nil
		}
	}
	return Repair(ctx, Job{
		Check:  func(ctx context.Context) error { return c.check(ctx, openGaps, leftOut) },
		Config: c.cfg, Store: c.store, Gaps: openGaps, Births: births, LeftOut: leftOut, Audit: job, Exports: exports,
		Report: c.report, DryRun: c.dryRun, Streams: c.streams,
	})
}

// check refuses a repair that is too early.
func (c *command) check(ctx context.Context, openGaps []state.NotedGap, leftOut []state.Birth) error {
	maxDelay := stream.LeaseDuration(c.cfg)
	if c.isOfFunction() {
		maxDelay = c.functionTimeout
	}
	if err := CheckAge(openGaps, leftOut, maxDelay); err != nil {
		return err
	}
	if !c.isOfFunction() {
		seen, err := c.readLeases(ctx)
		if err != nil {
			return err
		}
		if err := CheckStopped(openGaps, seen, c.CommandLine(c.cfg)); err != nil {
			return err
		}
	}
	if len(leftOut) > 0 && c.Live {
		if err := c.checkRoutes(ctx); err != nil {
			return err
		}
	}
	if err := CheckLetters(ctx, &c.Flags, c.cfg, c.stores, c.sinks, c.streams.Err); err != nil {
		return err
	}
	return c.checkQueue(ctx)
}

// checkQueue returns an error if the function's on-failure queue is not empty. It warns if the queue is unknown.
func (c *command) checkQueue(ctx context.Context) error {
	if c.queue == "" {
		if c.isOfFunction() && !c.noQueue {
			fmt.Fprintln(c.streams.Err, cli.Warning+"a batch that comes back from the function's on-failure queue may undo a repair: "+
				"name the queue with --queue URL, or say that there is none with --no-queue")
		}
		return nil
	}
	sdk, err := target.LoadAWS(ctx)
	if err != nil {
		return err
	}
	return CheckQueue(ctx, sdk, c.queue)
}

// checkRoutes returns an error unless every live process that reads the stream has the sinks of this file.
func (c *command) checkRoutes(ctx context.Context) error {
	if !c.isOfFunction() {
		return stream.CheckRoutes(ctx, c.readLeases, stream.MaxSilence(&c.Flags, c.cfg), c.cfg, c.streams.Err)
	}
	sdk, err := target.LoadAWS(ctx)
	if err != nil {
		return err
	}
	return c.function.CheckUnchanged(ctx, sdk, c.cfg, c.streams.Err)
}

// readLeases reads the leases of the consumers.
func (c *command) readLeases(ctx context.Context) (leases.Snapshot, error) {
	if c.file != "" {
		seen, _, err := leasesfile.ReadUnlocked(c.file)
		return seen, err
	}
	sdk, err := target.LoadAWS(ctx)
	if err != nil {
		return leases.Snapshot{}, err
	}
	return stream.ReadLeases(ctx, &c.Flags, c.cfg, sdk)
}
