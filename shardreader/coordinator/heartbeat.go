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
	c.emit(WriteHeartbeat{c.newCall(heartbeat{c.heartbeatNumber, c.now}), c.member()})
}

// heartbeat is the call that writes a heartbeat.
type heartbeat struct {
	number int64
	sent   time.Duration
}

func (op heartbeat) handleResult(c *Coordinator, e WriteResult) {
	c.sendingHeartbeat = false
	s := c.survey()
	c.logTableOutage(s)
	c.logReadOutage(s.failing)
	if e.Err != nil {
		c.logOnce("beat", slog.LevelWarn, "heartbeat failed", errAttr(e.Err))
		c.after(c.jitter(c.o.Lease/24), c.sendHeartbeat)
		return
	}
	delete(c.logged, "beat")
	first := !c.hadHeartbeat
	c.lastHeartbeat, c.hadHeartbeat = op.sent, true
	if c.pastHeartbeats = append(c.pastHeartbeats, pastHeartbeat{op.number, c.now}); len(c.pastHeartbeats) > keptHeartbeats {
		c.pastHeartbeats = slices.Delete(c.pastHeartbeats, 0, keptHeartbeats/2)
	}
	c.after(max(0, op.sent+c.o.Lease/3-c.now), c.sendHeartbeat)
	c.after(max(0, op.sent+c.o.Lease*2/3-c.now)+1, c.checkHeartbeat)
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
	c.log(slog.LevelError, "no heartbeat succeeded for two thirds of the lease time: this consumer reads and writes nothing until one does",
		slog.Int("partitions", len(c.assignments)))
	c.toTake = nil
	for a := range c.allAssignments() {
		c.revoke(a, ErrOutOfContact)
	}
}

// The causes of a revoke. Logs have their texts.
var (
	ErrOutOfContact error = revokeCause("heartbeats failed: other consumers may take the leases")
	ErrLeaseLost    error = revokeCause("another consumer took the lease")
	ErrAbandoned    error = revokeCause("the consumer was stopped hard")
	ErrHandedOver   error = revokeCause("the lease was requested, and was not drained in time")
)

// revokeCause is an error whose text has no data, so that logs may show it.
type revokeCause string

var _ redact.Redacted = revokeCause("")

func (c revokeCause) Error() string                   { return string(c) }
func (c revokeCause) Redacted() string                { return string(c) }
func (c revokeCause) Describe() (class, field string) { return "leases", "" }
