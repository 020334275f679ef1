package coordinator

import (
	"cmp"
	"log/slog"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// tableView is the lease table, as it was last read.
type tableView struct {
	rows          rows
	damaged       map[string]bool // shards whose rows cannot be read
	begunStreams  map[string]bool // ARNs of streams whose first leases were created
	consumers     map[string]*knownConsumer
	departed      map[string]bool // consumers whose rows were removed
	foreignActive bool            // another application uses the table
}

// refresh is the repeated reading of the lease table. One read is called a refresh.
type refresh struct {
	timer        resettableTimer // timer of the next refresh
	waiters      []refreshWaiter
	state        refreshState
	again        bool          // the next refresh must follow the one in flight soon
	succeeded    bool          // a refresh succeeded
	firstSuccess time.Duration // when the first refresh succeeded
	lastSent     time.Duration // when the last successful refresh was sent
}

// refreshState says whether a refresh is in flight, and whether the last refresh failed.
type refreshState uint8

const (
	refreshScheduled refreshState = iota // a timer begins the next refresh
	refreshInFlight                      // a refresh is in flight
	retryScheduled                       // like refreshScheduled, but the last refresh failed
)

// refreshWaiter waits for a refresh that is sent at since or later.
type refreshWaiter struct {
	since    time.Duration
	callback func()
}

// refreshLeases reads the table now. If a refresh is in flight, the next one follows it soon.
func (c *Coordinator) refreshLeases() {
	c.refresh.timer.cancel()
	if c.refresh.state == refreshInFlight {
		c.refresh.again = true
		return
	}
	if c.stop.state == stopDone {
		return
	}
	c.refresh.state, c.refresh.again = refreshInFlight, false
	sent := c.now
	c.emit(ReadTable{newCall(c, func(e ReadTableResult) { c.handleRefresh(sent, e) })})
}

// handleRefresh handles the result of a refresh, and plans the next one. sent is when the refresh was sent.
func (c *Coordinator) handleRefresh(sent time.Duration, e ReadTableResult) {
	pause := c.refreshEvery()
	if e.Err != nil {
		c.refresh.state = retryScheduled
		c.tableOutage.err = e.Err
		c.logOnce("refresh", slog.LevelWarn, "the lease table cannot be read", errAttr(e.Err))
		requestedWait, _ := pipeline.Retryable(e.Err)
		c.scheduleRefresh(max(pause, requestedWait))
		return
	}
	c.refresh.state = refreshScheduled
	delete(c.logged, "refresh")
	c.handleSnapshot(sent, e.Snapshot)
	if len(c.refresh.waiters) > 0 {
		c.refreshLeases() // for the waiters that came while this refresh was in flight
		return
	}
	c.scheduleRefresh(pause)
}

// scheduleRefresh begins the next refresh after a pause. The pause is short if a refresh was requested while the last
// one was in flight.
func (c *Coordinator) scheduleRefresh(pause time.Duration) {
	if c.refresh.again {
		pause = min(pause, c.options.ReadEvery/4)
	}
	c.refresh.timer.reset(c, c.jitter(pause), c.refreshLeases)
}

// afterRefresh calls callback once a refresh has succeeded that was sent now or later.
func (c *Coordinator) afterRefresh(callback func()) {
	c.refresh.waiters = append(c.refresh.waiters, refreshWaiter{c.now, callback})
	c.refreshLeases()
}

// refreshEvery returns the time between two refreshes. It is longer if there are many leases.
func (c *Coordinator) refreshEvery() time.Duration {
	return max(c.options.ReadEvery, min(10*time.Second, time.Duration(c.table.rows.len())*time.Millisecond))
}

// handleSnapshot handles the result of a read of the table; sent is when the read was sent.
func (c *Coordinator) handleSnapshot(sent time.Duration, s leases.Snapshot) {
	if !c.refresh.succeeded {
		c.refresh.succeeded, c.refresh.firstSuccess = true, c.now
	}
	c.refresh.lastSent = sent
	c.updateConsumers(s.Members)
	c.updateDamaged(s.DamagedLeases)
	for _, arn := range s.BegunStreams {
		c.table.begunStreams[arn] = true
	}
	c.updateLeases(sent, s.Leases)
	if !c.isRunning() {
		c.releaseUnassigned()
		return
	}
	c.callWaiters(sent)
	c.detectForeign()
	for _, r := range c.table.rows.all() {
		c.tryOpen(r)
	}
	c.handOver()
	c.saveIdleLoads()
	c.balance()
	switch c.leader() {
	case c.options.ID:
		c.leadFleet()
	case "":
	default:
		c.followLeader()
	}
	c.checkEnd()
}

// callWaiters calls the waiters of a refresh that was sent at the time sent. Waiters of a later refresh stay.
func (c *Coordinator) callWaiters(sent time.Duration) {
	waiters := c.refresh.waiters
	c.refresh.waiters = nil
	for _, waiter := range waiters {
		if sent < waiter.since {
			c.refresh.waiters = append(c.refresh.waiters, waiter)
			continue
		}
		waiter.callback()
	}
}

// updateLeases updates the rows from a read of the table that was sent at the time sent. found has the leases that the
// read returned, sorted by shard. updateLeases skips rows that this consumer wrote later, because they are newer than
// the read.
func (c *Coordinator) updateLeases(sent time.Duration, found []leases.Lease) {
	isOlderThanRead := func(r *row) bool { return !r.busy && sent >= r.writtenAt }
	compareShard := func(l leases.Lease, shard string) int { return cmp.Compare(l.Shard, shard) }
	for _, r := range c.table.rows.all() {
		_, exists := slices.BinarySearchFunc(found, r.Shard, compareShard)
		if !exists && isOlderThanRead(r) {
			c.removeRow(r)
		}
	}
	for _, l := range found {
		r := c.table.rows.get(l.Shard)
		switch {
		case r == nil && !c.writes.creating[l.Shard]:
			c.addRow(l).seenAt = sent
		case r != nil && isOlderThanRead(r):
			c.updateRow(r, l, sent)
		}
	}
}

// updateDamaged notes the damaged rows. Until they are repaired, no consumer reads their shards or the descendants of
// these shards.
func (c *Coordinator) updateDamaged(rows []leases.DamagedLease) {
	damaged := make(map[string]bool, len(rows))
	for _, b := range rows {
		damaged[b.Shard] = true
		c.logOnce("damaged "+b.Shard, slog.LevelError,
			"a row of the lease table cannot be read: its shard and those after it wait until it is repaired",
			shardAttr(b.Shard), slog.String("why", b.Reason))
	}
	for shard := range c.table.damaged {
		if !damaged[shard] {
			delete(c.logged, "damaged "+shard)
		}
	}
	c.table.damaged = damaged
}

// addRow adds a lease.
func (c *Coordinator) addRow(l leases.Lease) *row {
	r := &row{Lease: l, unchangedSince: c.now}
	if _, waits := c.unbegunShards[l.Shard]; waits {
		delete(c.unbegunShards, l.Shard)
		c.syncSoon() // an operator may have created the lease: leaseSync creates the other leases of its stream
	}
	c.table.rows.add(r)
	return r
}

// updateRow updates a lease; at is the time at which the table had the content l. If the owner or the counter has
// changed, this consumer has lost the lease.
func (c *Coordinator) updateRow(r *row, l leases.Lease, at time.Duration) {
	r.seenAt = at
	changed := r.Owner != l.Owner || r.Counter != l.Counter
	if changed {
		r.unchangedSince = c.now
	}
	c.table.rows.change(r, l)
	if changed && r.assignment != nil {
		c.loseLease(r.assignment)
	}
}

// removeRow removes a lease that is no longer in the table.
func (c *Coordinator) removeRow(r *row) {
	if r.assignment != nil {
		c.loseLease(r.assignment)
	}
	c.table.rows.remove(r)
}
