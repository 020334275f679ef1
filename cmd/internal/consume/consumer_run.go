package consume

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/health"
	"github.com/tablewake/tablewake/cmd/internal/page"
	"github.com/tablewake/tablewake/cmd/internal/redrive"
	"github.com/tablewake/tablewake/cmd/internal/replay"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/shardreader/consumer"
	"github.com/tablewake/tablewake/sinks/state"
)

// consumerRun is a consumer that has started.
type consumerRun struct {
	o               *options
	cfg             *config.Config
	pipeline        *pipeline.Pipeline
	consumer        *consumer.Consumer
	stores          *target.Stores
	notes           state.HeldBackNotes // for `status`; nil: the file names no state
	repair          *gapRepair          // nil: gaps are not repaired
	stop            *stopper
	log             io.Writer
	statusLines     *cli.StatusLines  // the lines at the end of the terminal; nil: no progress is shown there
	noEntityCount   *atomic.Int64     // changes whose item belongs to no entity
	reports         *page.ReportCache // reports on the stores that all consumers share; nil: the page is not served
	rates           rates
	reportedRecords int64         // records read, at the last progress line
	statusRequests  chan struct{} // has an element for each waiting call of statusWithin

	mu            sync.Mutex
	stopReasons   map[string]string // reason by stopped shard, from the last status that was read
	stoppedAtEnd  map[string]string // reason by stopped shard, of all consumers; set once the rest is read
	unreadText    string            // describes what was unread when --idle-timeout passed; "": it has not passed
	revokedBefore int64             // deliveries revoked before the stop began
	hasReadError  bool              // a read error began the stop
}

// run consumes until a stop, prints the summary and returns the error of the command.
func (c *consumerRun) run(ctx context.Context, s cli.Streams) error {
	fmt.Fprintf(c.log, "consumer %s\n", c.consumer.ID())
	auto, err := startStep(ctx, &c.o.start, "opening the dead letters", func() (*redrive.Auto, error) {
		return redrive.StartAuto(ctx, &c.o.Input, c.cfg, c.stores, c.pipeline, c.log, c.o.verbose)
	})
	if err != nil {
		return err
	}
	start := time.Now()
	runErr := c.runPipeline(ctx)
	redriveErr := auto.Finish(ctx)
	sum := replay.Summarize(c.cfg.Name, c.pipeline.Ledger(), time.Since(start))
	sum.NoEntity = c.noEntityCount.Load()
	err = cmp.Or(runErr, redriveErr)
	if printErr := sum.Print(s, c.o.format, c.cfg, &c.o.Flags); printErr != nil {
		err = errors.Join(err, printErr)
	}
	return c.exitError(sum, err)
}

// runPipeline runs the pipeline until a stop begins or the source ends, and closes the source.
func (c *consumerRun) runPipeline(ctx context.Context) error {
	watching, endWatching := context.WithCancel(context.WithoutCancel(ctx))
	var watchers sync.WaitGroup
	watchers.Go(func() { c.watch(watching) })
	watchers.Go(func() { c.noteHeldBack(watching) })
	if c.reports != nil {
		watchers.Go(func() { c.reports.Run(watching) })
	}
	if c.repair != nil {
		watchers.Go(func() { c.repair.run(c.stop.softStop) })
	}
	watchers.Go(c.stopPipeline)

	err := c.pipeline.Run(context.WithoutCancel(ctx), stoppingSource{c.consumer, c.stopOnReadError}, c.consumer)
	c.stop.stopSoftly() // if the run ended without a stop, the stop timeout begins here
	err = errors.Join(err, c.consumer.Close(c.stop.hardStop))
	endWatching()
	watchers.Wait()
	if c.repair != nil {
		c.repair.printRepairCommand(c.log, c.o.CommandLine(c.cfg))
	}
	return err
}

// stopPipeline waits for the soft stop, and stops the pipeline.
func (c *consumerRun) stopPipeline() {
	<-c.stop.softStop.Done()
	fmt.Fprintf(c.log, "stopping: what was read is written, and shards are released; %s at most\n", c.o.stopTimeout)
	c.refreshStopped()
	c.mu.Lock()
	c.revokedBefore = revokedDeliveries(c.pipeline.Ledger())
	c.mu.Unlock()
	c.pipeline.Stop(c.stop.hardStop)
}

// stoppingSource is a source that calls onReadError after a read error. That call begins a stop. The timeout of the
// stop also limits how long the run waits for sinks and leases that do not answer.
type stoppingSource struct {
	*consumer.Consumer
	onReadError func()
}

// Read returns the consumer's next page.
func (s stoppingSource) Read(ctx context.Context) (*pipeline.Page, error) {
	page, err := s.Consumer.Read(ctx)
	if err != nil && !pipeline.IsEnd(err) {
		s.onReadError()
	}
	return page, err
}

// stopOnReadError begins a stop after a read error.
func (c *consumerRun) stopOnReadError() {
	c.mu.Lock()
	c.hasReadError = c.hasReadError || c.stop.softStop.Err() == nil
	c.mu.Unlock()
	c.stop.stopSoftly()
}

// healthPatience returns the time without a finished record after which a consumer counts as stuck. That time is longer
// than any sink waits to fill a batch.
func healthPatience(cfg *config.Config) time.Duration {
	var wait time.Duration
	for _, s := range cfg.Sinks {
		wait = max(wait, s.Batch.Linger)
		if s.Archive != nil {
			wait = max(wait, s.Archive.Roll.Age)
		}
	}
	return wait + 2*time.Minute
}

// healthFacts is the [health.Source] of a consumer that runs.
func (c *consumerRun) healthFacts(context.Context) (health.Facts, error) {
	h := c.consumer.Health()
	f := health.Facts{Live: h.Live, Ready: h.Ready, Reasons: h.Reasons}
	if !h.Live {
		return f, nil // the calls below need locks that a hanging consumer may hold
	}
	st := c.consumer.Status()
	f.HeartbeatsSucceed, f.HasReadLeases = st.HeartbeatFresh, st.TableRead
	f.Leaving, f.Shards = st.Member.Leaving, len(st.Partitions)
	for _, p := range st.Partitions {
		if p.StopReason != "" {
			f.Stopped++
		}
		if p.Behind {
			f.Behind++
		}
	}
	for _, n := range st.UnbegunShards {
		f.Unbegun += n
	}
	ledger := c.pipeline.Ledger()
	read, pending := readAndPending(ledger)
	f.Read, f.Finished, f.Pending = read, read-pending, max(pending, st.Member.Pending)
	f.Slowest = slowestSink(ledger)
	return f, nil
}

// readAndPending returns the number of records read, and the largest number of pending records of a sink.
func readAndPending(l pipeline.Ledger) (read, pending int64) {
	for _, s := range l.Sinks {
		pending = max(pending, s.Pending)
	}
	return l.Source.Read, pending
}

// finishedDeliveries returns the number of finished deliveries of all sinks.
func finishedDeliveries(l pipeline.Ledger) (n int64) {
	for _, s := range l.Sinks {
		n += s.Routed - s.Pending
	}
	return n
}

// slowestSink returns the sink with the most pending records, or "" if no record is pending.
func slowestSink(l pipeline.Ledger) (sink string) {
	var most int64
	for _, name := range slices.Sorted(maps.Keys(l.Sinks)) {
		if n := l.Sinks[name].Pending; n > most {
			sink, most = name, n
		}
	}
	return sink
}

// revokedDeliveries returns the number of deliveries that were revoked because another consumer took their shard.
func revokedDeliveries(l pipeline.Ledger) (n int64) {
	for _, s := range l.Sinks {
		n += s.Revoked
	}
	return n
}

// exitError returns the error of the command, with its exit code.
func (c *consumerRun) exitError(sum replay.Summary, err error) error {
	c.mu.Lock()
	revoked := revokedDeliveries(sum.Ledger) - c.revokedBefore
	readFailed, unreadText := c.hasReadError, c.unreadText
	stopped := make(map[string]string) // reason by shard
	maps.Copy(stopped, c.stopReasons)
	maps.Copy(stopped, c.stoppedAtEnd)
	c.mu.Unlock()

	stopCause := context.Cause(c.stop.hardStop)
	stoppedHard := errors.Is(stopCause, errSecondSignal) || errors.Is(stopCause, errStopTimeout)
	switch {
	case readFailed && err != nil: // before the cases of a slow stop, because the same command would fail again
		return err
	case unreadText != "":
		return cli.WithExitCode(cli.ExitUnread, errors.Join(fmt.Errorf(
			"not all is read, and nothing was done for %s (--idle-timeout): %s: `tablewake status %s` shows who reads what; the same command continues", c.o.idleTimeout, unreadText, c.o.CommandLine(c.cfg)), err))
	case stoppedHard:
		return cli.WithExitCode(cli.ExitInterrupted, errors.Join(
			fmt.Errorf("stopped hard, as %w: what was pending comes again where it is read next", stopCause), err))
	case err != nil:
		return err
	case revoked > 0:
		return cli.WithExitCode(cli.ExitInterrupted, fmt.Errorf(
			"shards were taken away while it stopped, with %s pending: what is pending comes again where it is read next",
			cli.Choose(revoked == 1, "1 delivery", cli.Thousands(revoked)+" deliveries")))
	case !sum.Balanced:
		return fmt.Errorf("the ledgers do not balance, which is a bug of tablewake: %w", sum.Ledger.Check())
	case len(stopped) > 0:
		first := slices.Min(slices.Collect(maps.Keys(stopped)))
		return cli.WithExitCode(cli.ExitUnhealthy, fmt.Errorf(
			"shard %s is read no further (%s)%s: `tablewake status %s` shows what to do", first, stopped[first],
			othersText(len(stopped)-1), c.o.CommandLine(c.cfg)))
	}
	return nil
}

// othersText describes n more stopped shards.
func othersText(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return ", and so is another one"
	}
	return fmt.Sprintf(", and so are %s others", cli.Thousands(int64(n)))
}
