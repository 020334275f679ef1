package consume

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/shardreader/coordinator"
)

const (
	watchIdleEvery = 200 * time.Millisecond // with --exit-when-idle, so that the end is noticed soon
	watchEvery     = time.Second            // otherwise: the status of thousands of shards costs CPU
	reportEvery    = time.Minute            // interval of progress lines, if records were read
)

// watch prints progress until ctx is done. With --exit-when-idle it begins the stop when the stream is read, or when
// --idle-timeout has passed without progress.
func (c *consumerRun) watch(ctx context.Context) {
	interval := watchEvery
	if c.o.idle > 0 {
		interval = watchIdleEvery
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	var reported int64        // records read, at the last report
	var lastProgress [2]int64 // records read, deliveries finished
	nextReport, progressAt := time.Now().Add(reportEvery), time.Now()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		now := time.Now()
		st := c.refreshStopped()
		ledger := c.pipeline.Ledger()
		read, pending := readAndPending(ledger)
		if now.After(nextReport) {
			if nextReport = now.Add(reportEvery); read != reported {
				reported = read
				fmt.Fprintln(c.log, progressText(st, read, pending))
			}
		}
		if c.o.idle == 0 || c.stop.soft.Err() != nil {
			continue
		}
		if progress := [2]int64{read, finishedDeliveries(ledger)}; progress != lastProgress {
			lastProgress, progressAt = progress, now
		}
		end, ended := c.source.AtEnd()
		switch {
		case ended:
			c.mu.Lock()
			c.stoppedAtEnd = end.Stopped
			c.mu.Unlock()
			c.stop.begin()
		case c.o.idleTimeout > 0 && now.Sub(progressAt) >= c.o.idleTimeout:
			c.mu.Lock()
			c.unread = cmp.Or(st.Unread, "it is not known yet whether there is more")
			if pending > 0 {
				c.unread = fmt.Sprintf("%s records are pending, most of them in the sink %s", cli.Thousands(pending), slowestSink(ledger))
			}
			c.mu.Unlock()
			c.stop.begin()
		}
	}
}

// refreshStopped stores the stopped shards of the consumer, and returns its status.
func (c *consumerRun) refreshStopped() coordinator.Status {
	st := c.source.Status()
	if st.Contact && !st.Member.Leaving { // otherwise another consumer may own the shards
		c.mu.Lock()
		c.stopped = st.Member.Stopped // with the shards whose lease is damaged, which no consumer owns
		c.mu.Unlock()
	}
	return st
}
