package coordinator

import (
	"log/slog"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline/redact"
)

// sendHeartbeat writes this consumer's row, so that other consumers count this one as alive.
func (c *Coordinator) sendHeartbeat() {
	if c.sendingHeartbeat || c.stopped {
		return
	}
	c.sendingHeartbeat = true
	c.heartbeatNumber++
	number, sent := c.heartbeatNumber, c.now
	c.emit(WriteHeartbeat{newCall(c, func(e WriteResult) { c.heartbeatWritten(number, sent, e.Err) }), c.member()})
}

// heartbeatWritten handles the result of a heartbeat that was sent at a time.
func (c *Coordinator) heartbeatWritten(number int64, sent time.Duration, err error) {
	c.sendingHeartbeat = false
	s := c.survey()
	c.logTableOutage(s)
	c.logReadOutage(s.failing)
	if err != nil {
		c.logOnce("beat", slog.LevelWarn, "heartbeat failed", errAttr(err))
		c.after(c.jitter(c.o.Lease/24), c.sendHeartbeat)
		return
	}
	delete(c.logged, "beat")
	first := !c.hadHeartbeat
	c.lastHeartbeat, c.hadHeartbeat = sent, true
	if c.pastHeartbeats = append(c.pastHeartbeats, pastHeartbeat{number, c.now}); len(c.pastHeartbeats) > keptHeartbeats {
		c.pastHeartbeats = slices.Delete(c.pastHeartbeats, 0, keptHeartbeats/2)
	}
	c.after(max(0, sent+c.o.Lease/3-c.now), c.sendHeartbeat)
	c.after(max(0, sent+c.o.Lease*2/3-c.now)+1, c.checkHeartbeat)
	if c.heartbeatFresh() && c.suspended {
		c.suspended, c.resumedAt = false, c.now
		c.log(slog.LevelInfo, "heartbeats succeed again")
	}
	if first {
		c.refreshLeases()
	}
}

// checkHeartbeat revokes all assignments if other consumers may soon count this consumer as gone.
func (c *Coordinator) checkHeartbeat() {
	if !c.hadHeartbeat || c.heartbeatFresh() || c.suspended {
		return
	}
	c.suspended = true
	c.log(slog.LevelError,
		"no heartbeat succeeded for two thirds of the lease time: this consumer reads and writes nothing until one does",
		slog.Int("partitions", len(c.assignments)))
	c.toTake = nil
	for a := range c.allAssignments() {
		c.revoke(a, ErrOutOfContact)
	}
}

// The causes of a revoke. Logs have their texts.
var (
	ErrOutOfContact = revokeCauses.New("heartbeats failed: other consumers may take the leases")
	ErrLeaseLost    = revokeCauses.New("another consumer took the lease")
	ErrAbandoned    = revokeCauses.New("the consumer was stopped hard")
	ErrHandedOver   = revokeCauses.New("the lease was requested, and was not drained in time")
)

const revokeCauses = redact.Class("leases")
