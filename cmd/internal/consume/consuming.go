package consume

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/health"
	"github.com/tablewake/tablewake/cmd/internal/redrive"
	"github.com/tablewake/tablewake/cmd/internal/replay"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/shardreader/consumer"
)

// consuming is a consumer at work.
type consuming struct {
	o        *options
	cfg      *config.Config
	pipeline *pipeline.Pipeline
	source   *consumer.Consumer
	stores   *target.Stores
	heldBack heldBackStore // nil where nobody can look
	stop     *stopper
	log      io.Writer

	mu      sync.Mutex
	stopped map[string]string // shards that are read no further, as they were last seen, and why
	atEnd   map[string]string // those of all consumers, once all else was read
	unread  string            // what was not read when --idle-timeout had passed; "" where it had not
	given   int64             // deliveries given up to other readers before the stop began
	failed  bool              // reading ended with an error before anybody asked for a stop
}

// run reads until it is to stop, and stops.
func (c *consuming) run(ctx context.Context, s cli.Streams) error {
	fmt.Fprintf(c.log, "consumer %s\n", c.source.ID())
	auto, err := waiting(ctx, &c.o.start, "opening the dead letters", func() (*redrive.Auto, error) {
		return redrive.StartAuto(ctx, &c.o.Input, c.cfg, c.stores, c.pipeline, c.log, c.o.verbose)
	})
	if err != nil {
		return err
	}
	start := time.Now()
	err = c.read(ctx)
	var redriveErr error
	if redriveErr = auto.Finish(ctx); err == nil {
		err = redriveErr
	}
	sum := replay.Summarize(c.cfg.Name, c.pipeline.Ledger(), time.Since(start))
	if printErr := sum.Print(s, c.o.format, c.cfg, &c.o.Flags); printErr != nil {
		err = errors.Join(err, printErr)
	}
	return c.verdict(sum, err)
}

// read runs the pipeline until a stop begins or reading ends, and then stops it.
func (c *consuming) read(ctx context.Context) error {
	watching, end := context.WithCancel(context.WithoutCancel(ctx))
	var beside sync.WaitGroup
	beside.Go(func() { c.watch(watching) })
	beside.Go(func() { c.noteHeldBack(watching) })
	beside.Go(func() {
		select {
		case <-c.stop.soft.Done():
			fmt.Fprintf(c.log, "stopping: what was read is written, and shards are let go; %s at most\n", c.o.stopTimeout)
			c.see()
			c.mu.Lock()
			c.given = revoked(c.pipeline.Ledger())
			c.mu.Unlock()
			c.pipeline.Stop(c.stop.hard)
		case <-watching.Done():
		}
	})
	err := c.pipeline.Run(context.WithoutCancel(ctx), stopsWithSource{c.source, c.readFailed}, c.source)
	c.stop.begin() // also if the run ended by itself: the stop timeout begins here
	err = errors.Join(err, c.source.Close(c.stop.hard))
	end()
	beside.Wait()
	return err
}

// stopsWithSource calls failed when reading ends with an error. Without it no stop would begin, and the
// rest of the run, with sinks and leases that may not answer, would have no timeout.
type stopsWithSource struct {
	*consumer.Consumer
	failed func()
}

// Read returns the consumer's next page.
func (s stopsWithSource) Read(ctx context.Context) (*pipeline.Page, error) {
	page, err := s.Consumer.Read(ctx)
	if err != nil && !errors.Is(err, io.EOF) {
		s.failed()
	}
	return page, err
}

// readFailed begins the stop of a consumer that cannot go on.
func (c *consuming) readFailed() {
	c.mu.Lock()
	c.failed = c.failed || c.stop.soft.Err() == nil
	c.mu.Unlock()
	c.stop.begin()
}

// patienceOf is how long records may be pending without any of them being finished:
// longer than sinks wait for more to come.
func patienceOf(cfg *config.Config) time.Duration {
	var wait time.Duration
	for _, s := range cfg.Sinks {
		wait = max(wait, s.Batch.Linger)
		if s.Archive != nil {
			wait = max(wait, s.Archive.Roll.Age)
		}
	}
	return wait + 2*time.Minute
}

// facts are what the endpoint judges by.
func (c *consuming) facts(context.Context) (health.Facts, error) {
	h := c.source.Health()
	f := health.Facts{Live: h.Live, Ready: h.Ready, Reasons: h.Reasons, Stuck: len(h.Stuck)}
	if !h.Live {
		return f, nil // what hangs may hold what the rest asks for
	}
	st := c.source.Status()
	f.Contact, f.Seen, f.Leaving, f.Shards = st.Contact, st.Seen, st.Member.Leaving, len(st.Partitions)
	for _, p := range st.Partitions {
		if p.Stopped != "" {
			f.Stopped++
		}
		if p.Behind {
			f.Behind++
		}
	}
	for _, n := range st.Unbegun {
		f.Unbegun += n
	}
	ledger := c.pipeline.Ledger()
	f.Read, f.Pending = progressOf(ledger)
	f.Slowest = slowest(ledger)
	f.Finished = f.Read - f.Pending
	f.Pending = max(f.Pending, st.Member.Pending)
	return f, nil
}

// progressOf is how many records were read, and how many of them, at the most in one
// sink, are not finished.
func progressOf(l pipeline.Ledger) (read, pending int64) {
	for _, s := range l.Sinks {
		pending = max(pending, s.Pending)
	}
	return l.Source.Read, pending
}

// finished is how many deliveries the sinks are through with.
func finished(l pipeline.Ledger) (n int64) {
	for _, s := range l.Sinks {
		n += s.Routed - s.Pending
	}
	return n
}

// slowest is the sink that most records are pending in; "" where none are.
func slowest(l pipeline.Ledger) (sink string) {
	var most int64
	for _, name := range slices.Sorted(maps.Keys(l.Sinks)) {
		if n := l.Sinks[name].Pending; n > most {
			sink, most = name, n
		}
	}
	return sink
}

// revoked is how many deliveries were given up because another consumer has their shard.
func revoked(l pipeline.Ledger) (n int64) {
	for _, s := range l.Sinks {
		n += s.Revoked
	}
	return n
}

// verdict is the command's error, with the exit code that tells what happened.
func (c *consuming) verdict(sum replay.Summary, err error) error {
	c.mu.Lock()
	stopped, given, failed, unread := maps.Clone(c.stopped), revoked(sum.Ledger)-c.given, c.failed, c.unread
	if stopped == nil {
		stopped = make(map[string]string)
	}
	maps.Copy(stopped, c.atEnd)
	c.mu.Unlock()
	hard := context.Cause(c.stop.hard)
	switch {
	case failed && err != nil: // however long the stop took: the same command would not go on
		return err
	case unread != "":
		return cli.Exit(cli.ExitUnread, errors.Join(fmt.Errorf("not all is read, and nothing was done for %s (--idle-timeout): %s: `tablewake status %s` shows who reads what; the same command continues", c.o.idleTimeout, unread, c.o.CommandLine(c.cfg)), err))
	case hard != nil && (errors.Is(hard, errSecondSignal) || errors.Is(hard, errStopTimeout)):
		return cli.Exit(cli.ExitInterrupted, errors.Join(fmt.Errorf("stopped hard, as %w: what was pending comes again where it is read next", hard), err))
	case err != nil:
		return err
	case given > 0 && c.stop.soft.Err() != nil:
		return cli.Exit(cli.ExitInterrupted, fmt.Errorf("shards were taken away while it stopped, with %s deliveries pending: they come again where they are read next", cli.Thousands(given)))
	case !sum.Balanced:
		return fmt.Errorf("the ledgers do not balance, which is a bug of tablewake: %w", sum.Ledger.Check())
	case len(stopped) > 0:
		first := slices.Min(slices.Collect(maps.Keys(stopped)))
		others := ""
		if n := len(stopped) - 1; n > 0 {
			others = ", and so " + areOthers(n)
		}
		return cli.Exit(cli.ExitUnhealthy, fmt.Errorf("shard %s is read no further (%s)%s: `tablewake status %s` shows what to do", first, stopped[first], others, c.o.CommandLine(c.cfg)))
	}
	return nil
}

// areOthers counts what a sentence began with one of.
func areOthers(n int) string {
	if n == 1 {
		return "is another one"
	}
	return fmt.Sprintf("are %s others", cli.Thousands(int64(n)))
}
