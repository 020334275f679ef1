package coordinator

import (
	"log/slog"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// knownConsumer is the row of a consumer, as the last refresh returned it.
type knownConsumer struct {
	leases.Member
	heartbeatSince time.Duration // when this consumer first saw the present heartbeat
}

// alive reports whether a consumer counts as alive. Another consumer counts as gone once refreshes found its heartbeat
// unchanged for longer than Options.Lease.
func (c *Coordinator) alive(id string) bool {
	if id == c.options.ID {
		return c.heartbeatFresh()
	}
	consumer := c.table.consumers[id]
	return consumer != nil && c.refresh.lastSent-consumer.heartbeatSince <= c.options.Lease
}

// liveConsumers returns the sorted ids of the consumers that take leases.
func (c *Coordinator) liveConsumers() []string {
	var live []string
	if c.heartbeatFresh() && c.isRunning() {
		live = append(live, c.options.ID)
	}
	for id, consumer := range c.table.consumers {
		if id != c.options.ID && !consumer.Leaving && c.alive(id) {
			live = append(live, id)
		}
	}
	slices.Sort(live)
	return live
}

// leader returns the id of the consumer that leads the fleet; "" if none is known. Only the leader compares leases with
// listings.
func (c *Coordinator) leader() string {
	live := c.liveConsumers()
	if !c.refresh.succeeded || len(live) == 0 {
		return ""
	}
	return live[0]
}

// leads reports whether this consumer leads the fleet.
func (c *Coordinator) leads() bool { return c.leader() == c.options.ID }

// followLeader forgets the unbegun shards that this consumer found while it was the leader. It cannot see that they are
// begun or gone. The leader finds them again; until then they count as unread, because they have no leases.
func (c *Coordinator) followLeader() {
	if c.syncs.running == nil && len(c.unbegunShards) > 0 {
		clear(c.unbegunShards)
		c.syncs.begun = false // this consumer finds them at once when it leads again
	}
}

// leadFleet does the work that only the leading consumer does.
func (c *Coordinator) leadFleet() {
	c.removeDeadConsumers()
	childless := 0
	for _, r := range c.table.rows.all() {
		if r.Ended() && len(r.Children) == 0 {
			childless++
		}
	}
	switch {
	case !c.syncs.begun:
		c.beginSync()
	case childless > c.syncs.childless:
		c.syncSoon() // a stream may be read to its end
	}
	c.syncs.childless = childless
}

// updateConsumers updates the known consumers from a read of the table.
func (c *Coordinator) updateConsumers(members []leases.Member) {
	seen := make(map[string]bool, len(members))
	for _, m := range members {
		seen[m.ID] = true
		consumer := c.table.consumers[m.ID]
		if consumer == nil || consumer.Heartbeat != m.Heartbeat {
			consumer = &knownConsumer{heartbeatSince: c.now}
			c.table.consumers[m.ID] = consumer
		}
		consumer.Member = m
		delete(c.table.departed, m.ID)
	}
	for id := range c.table.consumers {
		if !seen[id] {
			delete(c.table.consumers, id)
			c.table.departed[id] = true
		}
	}
}

// removeDeadConsumers removes the rows of consumers that are long gone and own nothing.
func (c *Coordinator) removeDeadConsumers() {
	owners := make(map[string]bool)
	for _, r := range c.table.rows.all() {
		owners[r.Owner] = true
	}
	var dead []string
	for id, consumer := range c.table.consumers {
		isLongGone := id != c.options.ID && c.refresh.lastSent-consumer.heartbeatSince > 10*c.options.Lease
		if isLongGone && !owners[id] {
			dead = append(dead, id)
		}
	}
	slices.Sort(dead)
	for _, id := range dead {
		c.table.consumers[id].heartbeatSince = c.now // prevents another removal in the next refreshes
		ignore := func(WriteResult) {}               // if it failed, a later refresh removes the consumer
		c.emit(RemoveMember{newCall(c, ignore), id})
	}
}

func errAttr(err error) slog.Attr { return slog.String("error", redact.LogText(err)) }
