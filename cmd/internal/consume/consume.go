package consume

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/records"
	"github.com/tablewake/tablewake/cmd/internal/stream"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/telemetry/prometheus"
	"github.com/tablewake/tablewake/shardreader/consumer"
	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/sinks"
)

// options are the flags of `consume`.
type options struct {
	records.Input
	target.Flags
	worker          string
	start           startup
	healthAddress   string
	publicPage      bool                 // serve the page also on an address other than loopback
	metricsExporter *prometheus.Exporter // exporter of /metrics; nil: /metrics is off
	stopTimeout     time.Duration
	exitWhenIdle    time.Duration
	idleTimeout     time.Duration
	repairRCU       float64
	verbose         bool
	format          cli.Format
	extensions      []sinks.Extension
}

// New is the command consume.
func New(s cli.Streams) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "consume -c FILE (--live | --local DIR)",
		Short: "Deliver the changes of a table as they are written; several consumers share the work",
		Long: `consume reads the stream of the configured table, and delivers every change to the sinks until you
stop it. You can run several consumers. They share the shards by leases, and take over the shards
of a consumer that died. A record is acknowledged only after every sink has stored it, so a crash
loses nothing. After a normal stop, nothing is delivered twice either.

With --live, the sinks write to the real stores, and the leases are where "leases" says: in a
table, or in a file if there is only one consumer. With --local, everything is in that folder,
leases included. From the account, consume then uses only the stream, and with on_gap: repair also
the table. Credentials, Region and endpoints are those of the AWS SDK (AWS_PROFILE, AWS_REGION,
AWS_ENDPOINT_URL_DYNAMODB_STREAMS).

On a terminal, consume shows how fast it reads, how far it is behind, and for each sink what is
written, pending and failing. Otherwise it logs the same once a minute while there is work.

SIGTERM, SIGINT or SIGHUP stops it softly: it stops reading, writes and checkpoints what it has,
releases its leases, and exits with 0 within --stop-timeout. If that takes longer, or after a
second signal, it stops hard and exits with 5. What was pending is then delivered again later.

With --exit-when-idle, it exits when the tables are read to their ends. It checks the lists of the
streams and the leases of all shards, of all consumers. It also waits for other consumers, and for
the leases of a consumer that died. --idle-timeout limits this time.

With on_gap: repair, consume continues after lost records. One of the consumers then compares
views, aggregates and indexes with the table, and repairs them, while all consumers read on.
status shows the progress. After a stop or --exit-when-idle, the next consumer continues the repair.

GET /livez, /readyz and /status at --health answer 200, or 503 with reasons. An idle consumer is
ready. A consumer that cannot finish its work is not ready. /livez fails only if a restart would
help. /metrics has the metrics for Prometheus, unless the file says metrics: none.

The same address has a status page for browsers on this machine, which shows this consumer and all
others. It changes nothing. If the address is not a loopback address, the page needs --page.`,
		Example: `  # Try it against the real stream, writing into a folder
  tablewake consume -c tablewake.yaml --local out

  # Once, to create missing tables; then as a service
  tablewake consume -c tablewake.yaml --live --create
  tablewake consume -c tablewake.yaml --live --health 0.0.0.0:8080

  # In a script: deliver everything in the stream, and exit
  tablewake consume -c tablewake.yaml --local out --exit-when-idle 5s --idle-timeout 5m`,
		Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), s) },
	}
	cli.AddConfig(c, &o.Config)
	o.Flags.Add(c, "give every sink its embedded store in this folder, and keep leases there")
	o.AddCreate(c)
	f := c.Flags()
	f.StringVar(&o.worker, "worker", "",
		"name of this consumer, which stays the same over restarts; leases are pinned to it (default: the host's name)")
	f.StringVar(&o.healthAddress, "health", "127.0.0.1:8080",
		"address of the page and of /livez, /readyz, /status and /metrics, or off")
	f.BoolVar(&o.publicPage, "page", false,
		"serve the page even if --health is not a loopback address: everybody who reaches the address can read it")
	f.DurationVar(&o.stopTimeout, "stop-timeout", 25*time.Second,
		"maximum time of a soft stop; it must be less than the time after which the process is killed (30s on ECS by default)")
	f.DurationVar(&o.exitWhenIdle, "exit-when-idle", 0,
		"exit when nothing has come for this long, and all records of the streams are written and checkpointed, by any consumer")
	f.DurationVar(&o.idleTimeout, "idle-timeout", 0,
		"with --exit-when-idle: exit with 10 if nothing was done for this long, although not everything is read (default: wait)")
	f.Float64Var(&o.repairRCU, "repair-rcu", 500,
		"with on_gap: repair: read units a second for the comparison of sinks with the table; 0 is no limit")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "log everything to standard error")
	cli.AddFormat(c, &o.format)
	return c
}

func (o *options) checkFlags(cfg *config.Config) error {
	switch {
	case cfg.Source.Kinesis != "":
		return fmt.Errorf(
			"%s:%d: source.kinesis: consume reads the table's own stream: remove source.kinesis, or let a Lambda read it",
			cfg.File, cfg.Source.Line)
	case o.healthAddress != "" && strings.Trim(o.healthAddress, "0123456789") == "": // a port alone
		return cli.Usagef("--health %s is not an address: write 127.0.0.1:%s", o.healthAddress, o.healthAddress)
	case o.stopTimeout <= 0:
		return cli.Usagef("--stop-timeout is a duration, such as 25s")
	case o.exitWhenIdle < 0:
		return cli.Usagef("--exit-when-idle is a duration, such as 5s, or 0 to run for ever")
	case o.idleTimeout < 0, o.idleTimeout > 0 && o.exitWhenIdle == 0:
		return cli.Usagef("--idle-timeout is a duration, such as 5m, and goes with --exit-when-idle")
	case o.repairRCU < 0:
		return cli.Usagef("--repair-rcu is a number of read units a second, or 0 for no limit")
	}
	return nil
}

func (o *options) run(ctx context.Context, s cli.Streams) error {
	cfg, err := o.LoadConfig(o.Config)
	if err != nil {
		return err
	}
	if err := o.checkFlags(cfg); err != nil {
		return err
	}
	err = o.openAndRun(ctx, cfg, s)
	wasInterrupted := err != nil && ctx.Err() != nil
	_, hasCode := errors.AsType[*cli.ExitError](err)
	if wasInterrupted && !hasCode {
		return cli.WithExitCode(cli.ExitInterrupted, fmt.Errorf("interrupted: %w", err))
	}
	return err
}

// openAndRun starts the telemetry and the answers at --health, opens the stores, and runs the consumer.
func (o *options) openAndRun(ctx context.Context, cfg *config.Config, s cli.Streams) (err error) {
	statusLines := cli.NewStatusLines(s.Err)
	if statusLines != nil {
		s.Err = statusLines
	}
	log := s.Err
	stop := newStopper(ctx, o.stopTimeout)
	defer stop.close()

	var emf io.Writer
	if o.Live && cfg.Metrics == config.MetricsEMF {
		emf, s.Out = s.Out, log // stdout has only EMF documents, so the summary goes to stderr
		statusLines = nil       // on a terminal, the documents would appear in the block
	}
	c := &consumerRun{o: o, cfg: cfg, stop: stop, log: log, statusLines: statusLines, noEntityCount: new(atomic.Int64),
		statusRequests: make(chan struct{}, maxStatusRequests)}
	if o.healthAddress != "off" && cfg.Metrics != config.MetricsNone {
		o.metricsExporter = prometheus.New()
		o.Scrape = o.metricsExporter
	}
	endTelemetry, err := o.StartTelemetry(ctx, cfg, emf, log, o.verbose)
	if err != nil {
		return err
	}
	defer endTelemetry()

	o.start.log = o.logger(log)
	endpoint, err := o.serve(cfg, log)
	if err != nil {
		return err
	}
	if endpoint != nil {
		defer func() { err = errors.Join(err, endpoint.Close()) }()
	}
	o.extensions = s.Extensions
	res, err := o.openResources(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, res.Close()) }()
	if err := c.assemble(ctx, res); err != nil {
		return err
	}
	if endpoint != nil {
		c.reports = o.newReportCache(cfg, res)
	}
	o.start.setRunning(c)
	return c.run(ctx, s)
}

// assemble makes the pipeline and the consumer of c. They use the resources.
func (c *consumerRun) assemble(ctx context.Context, res *resources) (err error) {
	o := c.o
	c.stores, c.notes = res.stores, res.state
	c.pipeline, err = startStep(ctx, &o.start, "opening what the sinks write to", func() (*pipeline.Pipeline, error) {
		return o.Assemble(ctx, c.cfg, res.stores, o.logger(c.log), sinks.WithExtensions(o.extensions...), sinks.Live(),
			sinks.WithStopTimeout(o.stopTimeout), sinks.SourceWasRead(res.priorReadText), sinks.CountNoEntity(c.noEntityCount))
	})
	if err != nil {
		return o.Hint(err)
	}
	c.consumer, c.repair, err = o.newConsumer(c.cfg, res, c.log)
	return err
}

// newConsumer returns the consumer, and the repair of its gaps; nil without on_gap: repair.
func (o *options) newConsumer(
	cfg *config.Config, res *resources, log io.Writer,
) (source *consumer.Consumer, repair *gapRepair, err error) {
	sourceOptions := consumer.Options{
		API: res.api, Table: res.table, Gaps: res.gaps, Coordinator: o.coordinatorOptions(cfg),
		CallTimeout: stream.CallTimeout, Logger: o.logger(log), Meter: o.Telemetry.Meter, Pipeline: cfg.Name,
	}
	if cfg.Source.OnGap == config.OnGapRepair {
		repair = o.newGapRepair(cfg, res, log)
		sourceOptions.UnrepairedGaps = repair.unrepaired.Load
	}
	source, err = consumer.New(sourceOptions)
	if err != nil {
		return nil, nil, err
	}
	if repair != nil {
		repair.owner = source.ID()
	}
	return source, repair, nil
}

// logger returns a logger of level info, or of level debug with --verbose. The events of shards have the level info.
func (o *options) logger(w io.Writer) *slog.Logger {
	return cli.NewLogger(w, slog.LevelInfo, o.verbose)
}

// maxReadCalls is the maximum number of concurrent GetRecords calls.
const maxReadCalls = 64

func (o *options) coordinatorOptions(cfg *config.Config) coordinator.Options {
	c := coordinator.Options{
		Name: o.worker, Routes: sinks.RoutesDigest(cfg), Sources: stream.Sources(cfg), Lease: stream.LeaseDuration(cfg),
		Start: coordinator.Start{Latest: cfg.Source.Start.Latest, Time: cfg.Source.Start.Time},
		Idle:  o.exitWhenIdle, MaxIdle: cfg.Source.Polling.MaxIdle, CallsPerMonth: cfg.Source.Polling.CallsPerMonth,
		MaxCalls: maxReadCalls,
	}
	if cfg.Source.OnGap.Continues() {
		c.OnGap = coordinator.Continue
	}
	return c
}
