package coordinator

import (
	"cmp"
	"log/slog"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// knownConsumer is the row of a consumer, as the last refresh found it.
type knownConsumer struct {
	leases.Member
	heartbeatSince time.Duration // when its present heartbeat was first seen
}

// alive reports whether a consumer counts as alive. Another consumer counts as gone once refreshes found its heartbeat
// unchanged for longer than Options.Lease.
func (c *Coordinator) alive(id string) bool {
	if id == c.o.ID {
		return c.heartbeatFresh()
	}
	consumer := c.consumers[id]
	return consumer != nil && c.refreshSent-consumer.heartbeatSince <= c.o.Lease
}

// heartbeatFresh reports whether this consumer still counts as alive for all others.
func (c *Coordinator) heartbeatFresh() bool {
	return c.hadHeartbeat && c.now-c.lastHeartbeat <= c.o.Lease*2/3
}

// liveConsumers returns the sorted ids of the consumers that take leases.
func (c *Coordinator) liveConsumers() []string {
	var live []string
	if c.heartbeatFresh() && !c.leaving {
		live = append(live, c.o.ID)
	}
	for id, consumer := range c.consumers {
		if id != c.o.ID && !consumer.Leaving && c.alive(id) {
			live = append(live, id)
		}
	}
	slices.Sort(live)
	return live
}

// leads reports whether this consumer leads the fleet. Only the leader lists the streams.
func (c *Coordinator) leads() bool {
	live := c.liveConsumers()
	return c.refreshed && len(live) > 0 && live[0] == c.o.ID
}

// refreshLeases reads the table now. If a refresh is in flight, the next one follows it soon.
func (c *Coordinator) refreshLeases() {
	c.refreshTimer.number++
	if c.refreshing || c.stopped {
		return
	}
	c.refreshing = true
	sent, number := c.now, c.refreshTimer.number
	c.emit(ReadTable{newCall(c, func(e ReadTableResult) { c.tableRead(sent, number, e) })})
}

// tableRead handles the result of a read that was sent at a time. number is that of refreshTimer then.
func (c *Coordinator) tableRead(sent time.Duration, number int, e ReadTableResult) {
	c.refreshing, c.refreshFailed = false, e.Err != nil
	next := c.refreshEvery()
	if e.Err != nil {
		c.tableOutage.err = e.Err
		c.logOnce("look", slog.LevelWarn, "the lease table cannot be read", errAttr(e.Err))
		after, _ := pipeline.Retryable(e.Err)
		next = max(next, after)
	} else {
		delete(c.logged, "look")
		c.handleSnapshot(sent, e.Snapshot)
	}
	if len(c.refreshWaiters) > 0 && e.Err == nil {
		c.refreshLeases() // for the waiters that came while this refresh was in flight
		return
	}
	if c.refreshTimer.number > number {
		next = min(next, c.o.ReadEvery/4)
	}
	c.refreshTimer.reset(c, c.jitter(next), c.refreshLeases)
}

// refreshWaiter waits for a refresh that is sent at since or later.
type refreshWaiter struct {
	since time.Duration
	do    func()
}

// afterRefresh calls do once a refresh that begins now or later succeeded.
func (c *Coordinator) afterRefresh(do func()) {
	c.refreshWaiters = append(c.refreshWaiters, refreshWaiter{c.now, do})
	c.refreshLeases()
}

// refreshEvery returns the time between two refreshes. It is longer if there are many leases.
func (c *Coordinator) refreshEvery() time.Duration {
	return max(c.o.ReadEvery, min(10*time.Second, time.Duration(c.rows.len())*time.Millisecond))
}

// handleSnapshot handles the result of a read of the table; sent is when the read was sent.
func (c *Coordinator) handleSnapshot(sent time.Duration, s leases.Snapshot) {
	if !c.refreshed {
		c.firstRefresh = c.now
	}
	c.refreshSent, c.refreshed = sent, true
	c.updateConsumers(s.Members)
	c.updateBroken(s.Broken)
	for _, arn := range s.Begun {
		c.begunStreams[arn] = true
	}
	c.updateLeases(sent, s.Leases)
	if c.leaving {
		c.releaseUnassigned()
		return
	}
	waiters := c.refreshWaiters
	c.refreshWaiters = nil
	for _, waiter := range waiters {
		if sent < waiter.since {
			c.refreshWaiters = append(c.refreshWaiters, waiter)
			continue
		}
		waiter.do()
	}
	c.detectForeign()
	c.openOwned()
	c.handOver()
	c.saveIdleLoads()
	c.balance()
	if c.leads() {
		c.leadFleet()
	}
	c.checkEnd()
}

// leadFleet does the work that only the leading consumer does.
func (c *Coordinator) leadFleet() {
	c.removeDeadConsumers()
	childless := 0
	for _, r := range c.rows.all() {
		if r.Ended() && len(r.Children) == 0 {
			childless++
		}
	}
	switch {
	case !c.syncBegun:
		c.beginSync()
	case childless > c.childlessLeases:
		c.syncSoon() // a stream may be read to its end
	}
	c.childlessLeases = childless
}

func (c *Coordinator) updateConsumers(members []leases.Member) {
	seen := make(map[string]bool, len(members))
	for _, m := range members {
		seen[m.Worker] = true
		consumer := c.consumers[m.Worker]
		if consumer == nil || consumer.Heartbeat != m.Heartbeat {
			consumer = &knownConsumer{heartbeatSince: c.now}
			c.consumers[m.Worker] = consumer
		}
		consumer.Member = m
		delete(c.departed, m.Worker)
	}
	for id := range c.consumers {
		if !seen[id] {
			delete(c.consumers, id)
			c.departed[id] = true
		}
	}
}

// updateLeases updates the rows from a read of the table that was sent at the time sent. It skips rows that this
// consumer wrote later, because they are newer than the read.
func (c *Coordinator) updateLeases(sent time.Duration, ls []leases.Lease) {
	byShard := func(l leases.Lease, shard string) int { return cmp.Compare(l.Shard, shard) }
	for _, r := range c.rows.all() {
		if _, found := slices.BinarySearchFunc(ls, r.Shard, byShard); !found && !r.busy && sent >= r.writtenAt {
			c.removeRow(r)
		}
	}
	for _, l := range ls {
		switch r := c.rows.byID(l.Shard); {
		case r == nil && !c.creating[l.Shard]:
			c.addRow(l).knownAt = sent
		case r != nil && !r.busy && sent >= r.writtenAt:
			c.updateRow(r, l, sent)
		}
	}
}

// updateBroken notes the damaged rows. Until they are repaired, no consumer reads their shards and the descendants of
// these shards.
func (c *Coordinator) updateBroken(rows []leases.Broken) {
	broken := make(map[string]bool, len(rows))
	for _, b := range rows {
		broken[b.Shard] = true
		c.logOnce("broken "+b.Shard, slog.LevelError,
			"a row of the lease table cannot be read: its shard and those after it wait until it is repaired",
			shardAttr(b.Shard), slog.String("why", b.Why))
	}
	for shard := range c.broken {
		if !broken[shard] {
			delete(c.logged, "broken "+shard)
		}
	}
	c.broken = broken
}

// addRow adds a lease.
func (c *Coordinator) addRow(l leases.Lease) *row {
	r := &row{Lease: l, unchangedSince: c.now}
	if _, waits := c.unbegunShards[l.Shard]; waits {
		delete(c.unbegunShards, l.Shard)
		c.syncSoon() // an operator may have created the lease: leaseSync creates the other leases of its stream
	}
	c.rows.add(r)
	return r
}

// updateRow updates a lease; at is the time at which the table had the content l. If the owner or the counter has
// changed, this consumer has lost the lease.
func (c *Coordinator) updateRow(r *row, l leases.Lease, at time.Duration) {
	r.knownAt = at
	changed := r.Owner != l.Owner || r.Counter != l.Counter
	if changed {
		r.unchangedSince = c.now
	}
	c.rows.change(r, l)
	if changed && r.assignment != nil {
		c.loseLease(r.assignment)
	}
}

// removeRow removes a lease that is no longer in the table.
func (c *Coordinator) removeRow(r *row) {
	if r.assignment != nil {
		c.loseLease(r.assignment)
	}
	c.rows.remove(r)
}

// removeDeadConsumers removes the rows of consumers that are long gone and own nothing.
func (c *Coordinator) removeDeadConsumers() {
	owners := make(map[string]bool)
	for _, r := range c.rows.all() {
		owners[r.Owner] = true
	}
	var dead []string
	for id, consumer := range c.consumers {
		if id != c.o.ID && !owners[id] && c.refreshSent-consumer.heartbeatSince > 10*c.o.Lease {
			dead = append(dead, id)
		}
	}
	slices.Sort(dead)
	for _, id := range dead {
		consumer := c.consumers[id]
		consumer.heartbeatSince = c.now // it is not removed again soon
		c.emit(RemoveMember{newCall[WriteResult](c, nil), id})
	}
}

func errAttr(err error) slog.Attr { return slog.String("error", redact.LogText(err)) }
