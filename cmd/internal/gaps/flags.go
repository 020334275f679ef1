package gaps

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/backfill"
	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/records"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/audit"
	"github.com/tablewake/tablewake/sinks/audit/run"
)

// options are the flags of `gaps`.
type options struct {
	input records.Input
	target.Flags
	function        backfill.FunctionFlags
	repair          bool
	exports         []string
	startExport     bool
	bucket, prefix  string
	audit           bool
	records         []string // with --audit: the records that the --local folder was made from
	keys            []string // with --audit and --export: names of the table's key attributes
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
		Use:   "gaps -c FILE (--live | --local DIR) [--repair (--export FOLDER | --start-export --bucket B | --audit [RECORDS...])]",
		Short: "List gaps, and repair sinks after them",
		Long: `gaps lists the gaps of a pipeline: records that the stream dropped before they were read. A gap is open, repairing or
repaired. gaps also lists sinks that may miss changes although no record was lost: a process ran with a file that lacked
them, or adopt accepted what they had written. --audit repairs those sinks.

--repair compares the sinks with the table, repairs the differences, and compares again. A gap is repaired when the last
comparison found no difference. It compares
  --export        the items of incremental exports (NEW_AND_OLD_IMAGES, no filter) that cover the gaps and a minute around them
  --start-export  the same, after it has asked DynamoDB for the exports, into --bucket. The table needs point-in-time recovery
  --audit         all items, without exports

An export has two states of an item, but a row may be where the item was in between. So views whose rows move are read
completely, for the items of the exports.

A repair is refused while reading is stopped at the gap, while dead letters of the sinks wait, and while a process may
still write what it read before the gap. On Lambda, name the on-failure queue with --queue: it must be empty.

With --local, no consumer may use the folder. The items are read from the table. For sinks that may miss changes, --audit
takes the last state of each item from RECORDS instead, if they are named: saved records and archives, and the full export of
--export. Name everything that was written into the folder.`,
		Example: `  tablewake gaps -c tablewake.yaml --live
  tablewake gaps -c tablewake.yaml --live --repair --start-export --bucket shop-exports
  tablewake gaps -c tablewake.yaml --live --repair --audit --dry-run
  tablewake gaps -c tablewake.yaml --live --repair --export s3://shop-exports/AWSDynamoDB/01760000000000-abcdef01
  tablewake gaps -c tablewake.yaml --local out --repair --audit stream.jsonl`,
		RunE: func(c *cobra.Command, args []string) error {
			o.records = args
			o.trustLag = c.Flags().Changed("lag")
			return o.run(c.Context(), s)
		},
	}
	o.input.Add(c)
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
		"an incremental export: a folder or s3://BUCKET/PREFIX; several times for several exports. With --local and --audit: one full export, beside RECORDS")
	f.StringSliceVar(&o.keys, "keys", nil,
		"with --local, --audit and --export: names of the table's key attributes, partition key first")
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
	readsFullExport := o.Local != "" && o.audit && len(o.exports) == 1
	comparisons := cli.CountTrue(len(o.exports) > 0 && !readsFullExport, o.startExport, o.audit)
	selects := len(o.sinks) > 0 || len(o.shards) > 0
	namesQueue := o.queue != "" || o.noQueue
	hasRepairFlags := comparisons > 0 || o.dryRun || selects || namesQueue
	switch {
	case hasRepairFlags && !o.repair:
		return cli.Usagef(
			"--export, --start-export, --audit, --dry-run, --sink, --shard, --queue and --no-queue go with --repair")
	case o.repair && comparisons != 1:
		return cli.Usagef("--repair needs one of --export, --start-export and --audit: what the sinks are compared with")
	case o.input.NamesStream() && len(o.records) == 0:
		return cli.Usagef("--stream-arn goes with saved records: with a table, the stream is the table's")
	case o.comparesSaved() && len(o.sinks) > 0:
		return cli.Usagef("--sink does not go with saved records: the other sinks show whether these are enough")
	case readsFullExport && len(o.keys) == 0:
		return cli.Usagef("name the key attributes of the table with --keys PK,SK: an export does not name them")
	case len(o.keys) > 0 && !readsFullExport:
		return cli.Usagef("--keys goes with --local, --audit and one --export")
	case len(o.records) > 0 && (!o.audit || o.Live):
		return cli.Usagef("%s: records go with --local, --repair and --audit: they are what the sinks are compared with", o.records[0])
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

// comparesSaved reports whether the sinks are compared with saved records or a full export, and not with the table.
func (o *options) comparesSaved() bool {
	return o.Local != "" && o.audit && len(o.records)+len(o.exports) > 0
}

// loadConfig loads the file, and checks the flags with it.
func (o *options) loadConfig() (*config.Config, error) {
	cfg, err := o.input.Load()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(o.Check(), o.checkFlags()); err != nil {
		return nil, err
	}
	hasLeaseFile := cfg.Leases != nil && cfg.Leases.File != ""
	if o.Live && cfg.State == nil && !hasLeaseFile {
		return nil, fmt.Errorf("%s has no state, which holds the gaps: add state: {table: NAME}", cfg.File)
	}
	if err := cli.CheckSinks(cfg, o.sinks...); err != nil {
		return nil, err
	}
	if o.repair {
		if _, err := audit.SelectSinks(cfg, o.sinks); err != nil {
			return nil, cli.Usagef("%v", err)
		}
	}
	return cfg, nil
}
