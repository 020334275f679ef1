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
	lookEvery  = 200 * time.Millisecond // at how it goes, while its end waits for that
	lookSeldom = time.Second            // at how it goes else: of thousands of shards a look costs something
	tellEvery  = time.Minute            // where something was read
)

// watch looks at how it goes: tells it now and then, and stops a consumer that is to
// end when all is read, or when it waited for that in vain.
func (c *consuming) watch(ctx context.Context) {
	every := lookSeldom
	if c.o.idle > 0 {
		every = lookEvery
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	var told int64
	var did [2]int64 // records read, deliveries finished
	next, since := time.Now().Add(tellEvery), time.Now()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		now := time.Now()
		st := c.see()
		ledger := c.pipeline.Ledger()
		read, pending := progressOf(ledger)
		if now.After(next) {
			if next = now.Add(tellEvery); read != told {
				told = read
				fmt.Fprintln(c.log, progressText(st, read, pending))
			}
		}
		if c.o.idle == 0 || c.stop.soft.Err() != nil {
			continue
		}
		if is := [2]int64{read, finished(ledger)}; is != did {
			did, since = is, now
		}
		end, ended := c.source.AtEnd()
		switch {
		case ended:
			c.mu.Lock()
			c.atEnd = end.Stopped
			c.mu.Unlock()
			c.stop.begin()
		case c.o.idleTimeout > 0 && now.Sub(since) >= c.o.idleTimeout:
			c.mu.Lock()
			c.unread = cmp.Or(st.Unread, "it is not known yet whether there is more")
			if pending > 0 {
				c.unread = fmt.Sprintf("%s records are pending, most of them in the sink %s", cli.Thousands(pending), slowest(ledger))
			}
			c.mu.Unlock()
			c.stop.begin()
		}
	}
}

// see looks at the consumer, and keeps which of its shards stand still.
func (c *consuming) see() coordinator.Status {
	st := c.source.Status()
	if st.Contact && !st.Member.Leaving { // else they are somebody else's to tell
		c.mu.Lock()
		c.stopped = st.Member.Stopped // also shards that nobody has, as their lease is damaged
		c.mu.Unlock()
	}
	return st
}

// progressText is a line of how it goes.
func progressText(st coordinator.Status, read, pending int64) string {
	behind := 0
	var oldest time.Time
	for _, p := range st.Partitions {
		if p.Behind {
			behind++
			if !p.Last.IsZero() && (oldest.IsZero() || p.Last.Before(oldest)) {
				oldest = p.Last
			}
		}
	}
	text := fmt.Sprintf("read %s records, %s pending; %s", cli.Thousands(read), cli.Thousands(pending), cli.Plural(len(st.Partitions), "shard"))
	if behind > 0 {
		text += fmt.Sprintf(", %d behind", behind)
		if !oldest.IsZero() {
			text += fmt.Sprintf(", by %s at the most", time.Since(oldest).Round(time.Second))
		}
	}
	return text + "; at this rate " + callsText(st.Member.Calls)
}
