package consume

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/coordinator"
)

const (
	watchIdleEvery = 200 * time.Millisecond // with --exit-when-idle, to notice the end soon
	watchEvery     = time.Second            // otherwise: the status of thousands of shards takes processor time
	drawEvery      = watchEvery * 9 / 10    // a little below watchEvery, so that each tick draws the terminal's block
	reportEvery    = time.Minute            // interval of progress lines without a terminal
)

// watch shows the progress until ctx is done. On a terminal it shows a block. Elsewhere it prints a line a minute if
// anything was read, is pending or fails. With --exit-when-idle it begins the stop when the stream is read to its end,
// or when --idle-timeout has passed without progress.
func (c *consumerRun) watch(ctx context.Context) {
	interval := watchEvery
	if c.o.exitWhenIdle > 0 {
		interval = watchIdleEvery
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	nextShow, idle := time.Now().Add(c.showEvery()), idleMeter{since: time.Now()}
	if c.statusLines != nil {
		defer c.statusLines.End()
	}
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		now := time.Now()
		st := c.refreshStopped()
		ledger := c.pipeline.Ledger()
		c.rates.measure(now, ledger)
		if now.After(nextShow) {
			nextShow = now.Add(c.showEvery())
			c.showProgress(progress{c.status(st, ledger, nil), c.cfg.Name, now})
		}
		mayStop := c.o.exitWhenIdle > 0 && c.stop.softStop.Err() == nil
		if mayStop {
			c.stopIfRead(st, ledger, idle.measure(now, ledger))
		}
	}
}

// showProgress shows the progress. Without a terminal it prints nothing if nothing was read since the last line, is
// pending or fails.
func (c *consumerRun) showProgress(p progress) {
	if c.statusLines != nil {
		c.statusLines.Update(p.block())
		return
	}
	read, pending := readAndPending(p.Ledger)
	if read != c.reportedRecords || pending > 0 || p.hasFailingSink() {
		fmt.Fprintln(c.log, p.line())
		c.reportedRecords = read
	}
}

// idleMeter measures for how long nothing was read or finished.
type idleMeter struct {
	read, finished int64
	since          time.Time
}

// measure returns the idle time at now.
func (m *idleMeter) measure(now time.Time, ledger pipeline.Ledger) time.Duration {
	read, finished := ledger.Source.Read, finishedDeliveries(ledger)
	if read != m.read || finished != m.finished {
		*m = idleMeter{read, finished, now}
	}
	return now.Sub(m.since)
}

// stopIfRead begins the stop if the stream is read to its end, or if --idle-timeout has passed without progress.
func (c *consumerRun) stopIfRead(st coordinator.Status, ledger pipeline.Ledger, idle time.Duration) {
	end, ended := c.consumer.AtEnd()
	timedOut := c.o.idleTimeout > 0 && idle >= c.o.idleTimeout
	if !ended && !timedOut {
		return
	}
	c.mu.Lock()
	if ended {
		c.stoppedAtEnd = end.Stopped
	} else {
		c.unreadText = describeUnread(st, ledger)
	}
	c.mu.Unlock()
	c.stop.stopSoftly()
}

func describeUnread(st coordinator.Status, ledger pipeline.Ledger) string {
	_, pending := readAndPending(ledger)
	if pending > 0 {
		return fmt.Sprintf("%s pending, most of them in the sink %s", cli.CountWithVerb(pending, "record", "is", "are"),
			slowestSink(ledger))
	}
	return cmp.Or(st.UnreadReason, "it is not known yet whether there is more")
}

// showEvery returns how often the progress is shown.
func (c *consumerRun) showEvery() time.Duration {
	if c.statusLines != nil {
		return drawEvery
	}
	return reportEvery
}

// refreshStopped stores the stopped shards of the consumer, and returns the consumer's status.
func (c *consumerRun) refreshStopped() coordinator.Status {
	st := c.consumer.Status()
	if st.HeartbeatFresh && !st.Member.Leaving { // otherwise another consumer may own the shards
		c.mu.Lock()
		c.stopReasons = st.Member.Stopped // also shards with a damaged lease, which no consumer owns
		c.mu.Unlock()
	}
	return st
}
