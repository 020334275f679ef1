package main

import (
	"context"
	"fmt"
	"time"

	"github.com/tablewake/tablewake/shardreader/worker"
)

const (
	lookEvery  = 200 * time.Millisecond // at how it goes, while its end waits for that
	lookSeldom = time.Second            // at how it goes else: of thousands of shards a look costs something
	tellEvery  = time.Minute            // where something was read

	// findsNothing is how long a consumer is without any shard before it counts as idle:
	// it may be about to find or to take one.
	findsNothing = 5 * time.Second
)

// watch looks at how it goes: tells it now and then, and stops a consumer that is to
// end when it is idle.
func (c *consuming) watch(ctx context.Context) {
	every := lookSeldom
	if c.o.idle > 0 {
		every = lookEvery
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	var told int64
	var idleSince time.Time
	last, next := int64(-1), time.Now().Add(tellEvery)
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		now := time.Now()
		st := c.see()
		read, pending := progressOf(c.pipeline.Ledger())
		if now.After(next) {
			if next = now.Add(tellEvery); read != told {
				told = read
				fmt.Fprintln(c.log, progressText(st, read, pending))
			}
		}
		if c.o.idle == 0 {
			continue
		}
		enough := c.o.idle
		if len(st.Partitions) == 0 {
			enough = max(enough, findsNothing)
		}
		if read != last || pending > 0 || !idle(st) {
			last, idleSince = read, now
		} else if now.Sub(idleSince) >= enough {
			c.stop.begin()
		}
	}
}

// see looks at the consumer, and keeps which of its shards stand still.
func (c *consuming) see() worker.Status {
	st := c.source.Status()
	if st.Contact && !st.Member.Leaving { // else they are somebody else's to tell
		c.mu.Lock()
		c.stopped = st.Member.Stopped // also shards that nobody has, as their lease is damaged
		c.mu.Unlock()
	}
	return st
}

// idle tells whether a consumer has read all there is of its shards, all of it is durable, and
// no other shard waits for a reader: the leases of one that died are free only a whole lease after its
// last beat, and what the stream has is known only when it was listed.
func idle(st worker.Status) bool {
	if !st.Seen || !st.Contact || !st.Synced || st.Orphans > 0 {
		return false
	}
	for _, p := range st.Partitions {
		if p.Pending > 0 || p.Behind && p.Stopped == "" {
			return false
		}
	}
	return true
}

// progressText is a line of how it goes.
func progressText(st worker.Status, read, pending int64) string {
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
	text := fmt.Sprintf("read %s records, %s pending; %s", thousands(read), thousands(pending), counted(len(st.Partitions), "shard"))
	if behind > 0 {
		text += fmt.Sprintf(", %d behind", behind)
		if !oldest.IsZero() {
			text += fmt.Sprintf(", by %s at the most", time.Since(oldest).Round(time.Second))
		}
	}
	return text + "; at this rate " + callsText(st.Member.Calls)
}
