package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/stream"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/state"
)

// statusOptions are the flags of `status`.
type statusOptions struct {
	config string
	target.Flags
	noStream bool
	noWatch  bool
	all      bool
	urgent   time.Duration

	functions []string // names of Lambda functions that run the pipeline

	watch  watchInterval // 0: print one report
	serve  string        // address of the page; "": none is served
	page   bool
	format cli.Format
}

// NewStatus returns the constructor of the command status. serve serves the page of --serve. If serve is nil, the flag
// does not exist.
func NewStatus(serve ServePage) func(cli.Streams) *cobra.Command {
	return func(s cli.Streams) *cobra.Command { return newStatus(s, serve) }
}

func newStatus(s cli.Streams, serve ServePage) *cobra.Command {
	var o statusOptions
	c := &cobra.Command{
		Use:   "status -c FILE (--live | --local DIR)",
		Short: "Show which consumer reads which shard, how far it is behind, and problems",
		Long: `status shows the consumers of a pipeline and the tree of the stream's shards: which consumer reads
each shard, up to where, the age of the last record that all sinks have stored, whether there is
more to read, and when the stream will drop it. It only counts shards that are read to their ends;
--all shows them too. "Held back" means that a shard is not read, or its records are not stored,
for half a minute or more; status names the sink that causes it. Gaps are records that the
stream dropped before they were read.

status watches the consumers for up to the duration of a lease (leases.duration), until each has
sent a heartbeat. It makes no calls to consumers. It reads the lease table and the state table, and
lists the stream with a fifth of the DescribeStream quota, which consumers leave free. --no-stream
does not list it.

If Lambda reads the stream (the file has no leases), name each function with --function. status then
shows its event source mappings, whether their last batch failed, the IteratorAge, and what Lambda
gave up and wrote to the failure bucket. This needs lambda:ListEventSourceMappings,
cloudwatch:GetMetricStatistics and s3:ListBucket.

status shows the sinks that the consumers report as failing, and how much waits for them. It counts
dead letters and quarantined keys, up to 10,000 or for five seconds. What cannot be found out is
"unknown".

Each query ends after 20 seconds. A query without an answer is a problem, too.

The exit code is 6 if there is a problem: a sink fails; there are dead letters; a shard is stopped
at a gap, has no reader, or cannot be read; a consumer sends no heartbeats; unread records will be
lost within --loss-within.

With --watch, status repeats until you interrupt it. The exit code is that of the last round.

With --serve, status serves the report as a page for browsers until you interrupt it. It updates the
report while somebody watches the page. /status has the report as JSON. If the address is not a
loopback address, it needs --page: everybody who reaches the address can read the page.`,
		Example: `  tablewake status -c tablewake.yaml --live
  tablewake status -c tablewake.yaml --live --watch 10s
  tablewake status -c tablewake.yaml --live --serve
  tablewake status -c tablewake.yaml --live --function shop-pipeline
  tablewake status -c tablewake.yaml --live -o json | jq '.problems'
  tablewake status -c tablewake.yaml --live --no-stream --loss-within 12h || page-somebody`,
		Args: o.parseArgument,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), s, serve) },
	}
	cli.AddConfig(c, &o.config)
	o.Add(c, "the folder that a consumer works on")
	f := c.Flags()
	f.BoolVar(&o.noStream, "no-stream", false, "do not list the stream; use only the leases")
	f.BoolVar(&o.noWatch, "no-watch", false, "do not wait for heartbeats: every consumer counts as alive")
	f.BoolVar(&o.all, "all", false, "also show shards that are read to their ends")
	f.Var(&o.watch, "watch", "repeat with this pause (5s) until you interrupt it")
	f.Lookup("watch").NoOptDefVal = defaultWatchInterval.String()
	if serve != nil {
		f.StringVar(&o.serve, "serve", "", "serve the report as a page for browsers at this address ("+serveDefault+
			"), until it is interrupted")
		f.Lookup("serve").NoOptDefVal = serveDefault
		f.BoolVar(&o.page, "page", false, "with --serve: serve the page even if the address is not a loopback address")
	}
	f.StringSliceVar(&o.functions, "function", nil,
		"name or ARN of a Lambda function that reads the stream, to show its event source mappings")
	f.DurationVar(&o.urgent, "loss-within", 4*time.Hour, "unread records that are lost within this time are a problem")
	cli.AddFormat(c, &o.format)
	return c
}

func (o *statusOptions) run(ctx context.Context, s cli.Streams, serve ServePage) error {
	if o.urgent <= 0 {
		return cli.Usagef("--loss-within is a time, as 4h")
	}
	if o.page && o.serve == "" {
		return cli.Usagef("--page needs --serve: give both")
	}
	if o.serve != "" {
		return o.servePage(ctx, s, serve)
	}
	if o.watch > 0 {
		return o.watchReports(ctx, s)
	}
	err := o.report(ctx, s)
	if ctx.Err() != nil {
		return interruptedError()
	}
	return err
}

// lookTimeout limits one read of a store.
const lookTimeout = 20 * time.Second

// withTimeout calls read, which reads a store, with lookTimeout.
func withTimeout[T any](ctx context.Context, read func(context.Context) (T, error)) (T, error) {
	ctx, cancel := cli.WithAnswerTimeout(ctx, lookTimeout)
	defer cancel()
	got, err := read(ctx)
	return got, cli.ExplainTimeout(ctx, err)
}

// report reads all stores once, and prints their report.
func (o *statusOptions) report(ctx context.Context, s cli.Streams) error {
	r, err := o.readReport(ctx, s.Err)
	if err != nil {
		return err
	}
	err = cli.Print(s.Out, o.format, r, func(w io.Writer) { r.Write(w, o.all) })
	if err == nil && !r.Healthy {
		err = cli.WithExitCode(cli.ExitUnhealthy, nil)
	}
	return err
}

// load loads the configuration, and checks the flags that depend on it.
func (o *statusOptions) load() (*config.Config, error) {
	cfg, err := o.LoadConfig(o.config)
	if err != nil {
		return nil, err
	}
	if len(o.functions) > 0 && !o.LambdaReads(cfg) {
		return nil, cli.Usagef("--function is for a pipeline that Lambda invokes: it needs --live, and a file without leases")
	}
	return cfg, nil
}

// readReport reads all stores, and returns their report. It first prints the names of the stores to w.
func (o *statusOptions) readReport(ctx context.Context, w io.Writer) (_ Report, err error) {
	cfg, err := o.load()
	if err != nil {
		return Report{}, err
	}
	o.ReadOnly = true
	obs := Observation{Pipeline: cfg.Name, Flags: o.CommandLine(cfg), Source: o.BackfillSource(cfg), Urgent: o.urgent,
		RepairsGaps: cfg.Source.OnGap == config.OnGapRepair}

	// Open stores may keep this context, so it ends after they are closed. Its timeout is only for opening them.
	storeCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timeout := time.AfterFunc(lookTimeout, func() { cancel(cli.NoAnswerError(lookTimeout)) })
	shared, err := o.openObserved(storeCtx, cfg, w, &obs)
	timeout.Stop()
	if err != nil {
		return Report{}, cli.ExplainTimeout(storeCtx, err)
	}
	defer func() { err = errors.Join(err, shared.Close()) }()

	if err := o.observe(ctx, shared, &obs); err != nil {
		return Report{}, err
	}
	if err := o.observeFunctions(ctx, cfg, &obs); err != nil {
		return Report{}, err
	}
	observeOutputs(ctx, shared, &obs)
	obs.Letters = o.countLetters(ctx, shared)
	if ctx.Err() != nil {
		return Report{}, context.Cause(ctx)
	}
	return obs.Report(), nil
}

// observeOutputs reads the identities and the backfills of the sinks' outputs into obs. It adds failed reads to obs.
func observeOutputs(ctx context.Context, shared *sharedStores, obs *Observation) {
	var err error
	obs.Lost, err = withTimeout(ctx, func(ctx context.Context) ([]LostOutput, error) {
		return findLostOutputs(ctx, shared, obs.Leases)
	})
	obs.AddReadFailure("what sinks wrote", err)
	shared.readState(ctx, obs, "the stages of sinks", func(ctx context.Context, store state.Store) (err error) {
		obs.Births, err = stream.Collect(store.Births(ctx))
		return err
	})
	obs.LeftOut = sinks.BirthsMissingChanges(shared.cfg, obs.Births)
	shared.readState(ctx, obs, "how far backfills are", func(ctx context.Context, store state.Store) (err error) {
		obs.Fills, err = ReadFills(ctx, store, obs.Births)
		return err
	})
}

// openObserved opens the stores that status reads. If the file has no leases, or the lease table does not exist, it
// leaves out the leases and notes the reason in obs.
func (o *statusOptions) openObserved(
	ctx context.Context, cfg *config.Config, w io.Writer, obs *Observation,
) (*sharedStores, error) {
	if o.LambdaReads(cfg) {
		obs.Unconfigured = cfg.File
		return openStateOnly(ctx, &o.Flags, cfg, w)
	}
	shared, err := openStores(ctx, &o.Flags, cfg, w, inspectLeases)
	if stream.IsNoLeaseTable(err, cfg) {
		obs.NoTable = cfg.Leases.Table.Name
		return o.openWithoutLeaseTable(ctx, cfg)
	}
	return shared, err
}

// openWithoutLeaseTable opens the state table, which has gaps and heartbeats. The lease table does not exist.
func (o *statusOptions) openWithoutLeaseTable(ctx context.Context, cfg *config.Config) (*sharedStores, error) {
	sdk, err := target.LoadAWS(ctx)
	if err != nil {
		return nil, err
	}
	table, err := stream.NewLeaseTable(sdk, cfg)
	if err != nil {
		return nil, err
	}
	shared, err := openStateOnly(ctx, &o.Flags, cfg, io.Discard)
	if err != nil {
		return nil, err
	}
	shared.maxSilence = stream.LeaseDuration(cfg)
	shared.readLeases = func(ctx context.Context) (leases.Snapshot, error) {
		members, err := table.Members(ctx)
		return leases.Snapshot{Members: members}, err
	}
	return shared, nil
}

// findLostOutputs returns the sinks whose output does not belong to the state.
func findLostOutputs(ctx context.Context, shared *sharedStores, snapshot leases.Snapshot) ([]LostOutput, error) {
	if shared.stores == nil {
		return nil, nil
	}
	all, err := sinks.Adopt(ctx, shared.cfg, shared.stores, stream.PriorReadText(snapshot, "the lease table"))
	lost := make([]LostOutput, len(all))
	for i := range all {
		lost[i] = LostOutput{Sink: all[i].Sink, What: all[i].Problem}
	}
	return lost, err
}

// observe reads leases, streams, gaps and the notes of consumers into obs, and then watches the heartbeats.
func (o *statusOptions) observe(ctx context.Context, shared *sharedStores, obs *Observation) error {
	readLeases := func(ctx context.Context) (leases.Snapshot, error) { return withTimeout(ctx, shared.readLeases) }
	early, err := readLeases(ctx)
	if err != nil {
		return err
	}
	if !o.noStream && shared.openStreams != nil {
		api, err := shared.openStreams()
		if err != nil {
			return fmt.Errorf("%w (--no-stream does without the stream)", err)
		}
		obs.Streams = listStreams(ctx, api, shared.cfg, early)
	}
	obs.Gaps, err = withTimeout(ctx, shared.readGaps)
	obs.AddReadFailure("gaps", err)
	shared.readState(ctx, obs, "what consumers note of sinks", func(ctx context.Context, store state.Store) (err error) {
		obs.HeldBack, err = store.HeldBack(ctx)
		return err
	})
	if obs.Leases, err = readLeases(ctx); err != nil { // again, because listing the streams takes seconds
		return err
	}
	switch {
	case shared.unusedFor > 0: // no process uses the lease file
		obs.Silent = silentMembers(obs.Leases, obs.Leases.Heartbeats(), shared.unusedFor)
	case !o.noWatch:
		obs.Leases, obs.Silent, err = watchHeartbeats(ctx, readLeases, obs.Leases, shared.maxSilence)
	}
	obs.At = time.Now()
	return err
}

// watchPause is the pause between two reads of the heartbeats.
const watchPause = 500 * time.Millisecond

// watchHeartbeats reads the heartbeats until each consumer has sent a new one since snapshot, or for the time
// maxSilence. It returns the last snapshot, and the silent consumers: those without a new heartbeat. silent maps the id
// of each silent consumer to the time for which it was watched.
func watchHeartbeats(
	ctx context.Context, read stream.LeaseReader, snapshot leases.Snapshot, maxSilence time.Duration,
) (_ leases.Snapshot, silent map[string]time.Duration, err error) {
	start, firstHeartbeats := time.Now(), snapshot.Heartbeats()
	for {
		watched := time.Since(start)
		silent = silentMembers(snapshot, firstHeartbeats, watched)
		if len(silent) == 0 || watched >= maxSilence {
			return snapshot, silent, nil
		}
		if err := pipeline.Sleep(ctx, watchPause); err != nil {
			return snapshot, nil, err
		}
		if snapshot, err = read(ctx); err != nil {
			return snapshot, nil, err
		}
	}
}

// silentMembers returns, by id, the members whose heartbeat is still the one in heartbeats. Each value of the result is
// watched, the time for which the members were watched.
func silentMembers(
	snapshot leases.Snapshot, heartbeats map[string]int64, watched time.Duration,
) map[string]time.Duration {
	silent := make(map[string]time.Duration)
	for _, m := range snapshot.Members {
		if heartbeat, known := heartbeats[m.ID]; known && heartbeat == m.Heartbeat {
			silent[m.ID] = watched
		}
	}
	return silent
}

// listStreams lists the shards of the streams of [streamsToList]. If a stream cannot be listed, its Err is set.
func listStreams(ctx context.Context, api shardreader.API, cfg *config.Config, snapshot leases.Snapshot) []Stream {
	arns, failed := streamsToList(ctx, api, cfg, snapshot)
	listed := make([]Stream, 0, len(arns))
	for _, arn := range arns {
		d, err := shardreader.ListShards(ctx, api, arn)
		listed = append(listed, Stream{ARN: arn, Status: d.Status, Shards: d.Shards, Err: err})
	}
	return append(listed, failed...)
}

// streamsToList returns the ARNs of the streams of each source table that come after its last stream with leases, and
// always of its newest stream. It also returns the streams of leases that have not ended. failed has an entry for each
// table whose streams are unknown.
func streamsToList(
	ctx context.Context, api shardreader.API, cfg *config.Config, snapshot leases.Snapshot,
) (arns []string, failed []Stream) {
	for _, t := range cfg.Source.Tables {
		refs, err := shardreader.FindStreams(ctx, api, cmp.Or(t.StreamARN, t.Name))
		if err != nil {
			failed = append(failed, Stream{ARN: "of table " + t.Name, Err: err})
		}
		for _, ref := range refs[firstToList(refs, snapshot):] {
			if !slices.Contains(arns, ref.ARN) {
				arns = append(arns, ref.ARN)
			}
		}
	}
	for _, l := range snapshot.Leases {
		isUnread := l.Stream != "" && !l.Ended()
		if isUnread && !slices.Contains(arns, l.Stream) {
			arns = append(arns, l.Stream)
		}
	}
	slices.Sort(arns) // by table and age
	return arns, failed
}

// firstToList returns the index of the first stream of a table to list: the stream after the last stream that has
// leases. If no stream has leases, or if the newest stream has them, that is the newest stream.
func firstToList(refs []shardreader.StreamRef, snapshot leases.Snapshot) int {
	newest := len(refs) - 1
	for i := newest; i >= 0; i-- {
		hasLease := slices.ContainsFunc(snapshot.Leases, func(l leases.Lease) bool { return l.Stream == refs[i].ARN })
		if hasLease {
			return min(i+1, newest)
		}
	}
	return max(newest, 0)
}
