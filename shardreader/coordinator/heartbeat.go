package coordinator

import (
	"log/slog"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline/redact"
)

// contactState says whether other consumers count this consumer as alive.
type contactState uint8

const (
	starting  contactState = iota // no heartbeat succeeded yet. Next: inContact
	inContact                     // heartbeats succeed. Next: suspended
	suspended                     // no heartbeat succeeded for 2/3 of the lease time: nothing is read. Next: inContact
)

// contact has the state of this consumer's heartbeats, by which other consumers see that it is alive.
type contact struct {
	state     contactState
	number    int64           // number of the last heartbeat
	sending   bool            // a heartbeat is in flight
	last      time.Duration   // when the last successful heartbeat was sent
	past      []pastHeartbeat // recent successful heartbeats
	resumedAt time.Duration   // when the state last changed from suspended to inContact
}

// heartbeatFresh reports whether all other consumers still count this consumer as alive.
func (c *Coordinator) heartbeatFresh() bool {
	return c.contact.state != starting && c.now-c.contact.last <= c.o.Lease*2/3
}

// sendHeartbeat writes this consumer's row, so that other consumers count this consumer as alive.
func (c *Coordinator) sendHeartbeat() {
	if c.contact.sending || c.stop.state == gone {
		return
	}
	c.contact.sending = true
	c.contact.number++
	number, sent := c.contact.number, c.now
	c.emit(WriteHeartbeat{newCall(c, func(e WriteResult) { c.heartbeatWritten(number, sent, e.Err) }), c.member()})
}

// heartbeatWritten handles the result of the heartbeat with a number. sent is when the heartbeat was sent.
func (c *Coordinator) heartbeatWritten(number int64, sent time.Duration, err error) {
	c.contact.sending = false
	s := c.survey()
	c.logTableOutage(s)
	c.logReadOutage(s.failing)
	if err != nil {
		c.logOnce("beat", slog.LevelWarn, "heartbeat failed", errAttr(err))
		c.after(c.jitter(c.o.Lease/24), c.sendHeartbeat)
		return
	}
	delete(c.logged, "beat")
	c.contact.last = sent
	if c.contact.past = append(c.contact.past, pastHeartbeat{number, c.now}); len(c.contact.past) > keptHeartbeats {
		c.contact.past = slices.Delete(c.contact.past, 0, keptHeartbeats/2)
	}
	c.after(max(0, sent+c.o.Lease/3-c.now), c.sendHeartbeat)
	c.after(max(0, sent+c.o.Lease*2/3-c.now)+1, c.checkHeartbeat)
	switch {
	case c.contact.state == starting:
		c.contact.state = inContact
		c.refreshLeases()
	case c.contact.state == suspended && c.heartbeatFresh():
		c.contact.state, c.contact.resumedAt = inContact, c.now
		c.log(slog.LevelInfo, "heartbeats succeed again")
	}
}

// checkHeartbeat revokes all assignments if other consumers may soon count this consumer as gone.
func (c *Coordinator) checkHeartbeat() {
	if c.contact.state != inContact || c.heartbeatFresh() {
		return
	}
	c.contact.state = suspended
	c.log(slog.LevelError,
		"no heartbeat succeeded for two thirds of the lease time: this consumer reads and writes nothing until one does",
		slog.Int("partitions", len(c.assignments)))
	c.writes.toTake = nil
	for a := range c.allAssignments() {
		c.revoke(a, ErrOutOfContact)
	}
}

// The causes of a revoke. Logs show these texts.
var (
	ErrOutOfContact = revokeCauses.New("heartbeats failed: other consumers may take the leases")
	ErrLeaseLost    = revokeCauses.New("another consumer took the lease")
	ErrAbandoned    = revokeCauses.New("the consumer was stopped hard")
	ErrHandedOver   = revokeCauses.New("the lease was requested, and was not drained in time")
)

const revokeCauses = redact.Class("leases")
