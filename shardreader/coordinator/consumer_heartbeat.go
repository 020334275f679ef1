package coordinator

import (
	"log/slog"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline/redact"
)

// heartbeatState reports whether this consumer's heartbeats succeed.
type heartbeatState uint8

const (
	heartbeatsAwaited heartbeatState = iota // no heartbeat succeeded in time yet. Next: heartbeatsSucceed
	heartbeatsSucceed                       // heartbeats succeed. Next: heartbeatsFailed
	// no heartbeat succeeded for 2/3 of the lease time, and nothing is read. Next: heartbeatsSucceed
	heartbeatsFailed
)

// heartbeats has the state of this consumer's heartbeats. They show other consumers that this consumer is alive.
type heartbeats struct {
	state         heartbeatState
	lastNumber    int64                // number of the last heartbeat
	inFlight      bool                 // a heartbeat is in flight
	confirmedSent time.Duration        // when the last successful heartbeat was sent
	confirmed     []confirmedHeartbeat // recent successful heartbeats
	resumedAt     time.Duration        // when the state last changed from heartbeatsFailed to heartbeatsSucceed
}

// confirmedHeartbeat is the number of a written heartbeat, and the time at which its write was confirmed.
type confirmedHeartbeat struct {
	number      int64
	confirmedAt time.Duration
}

// heartbeatFresh reports whether all other consumers still count this consumer as alive. Each Step begins with
// checkHeartbeat, so the state is that of now.
func (c *Coordinator) heartbeatFresh() bool { return c.heartbeats.state == heartbeatsSucceed }

// isRecent reports whether other consumers still count this consumer as alive if its last heartbeat was sent at sent.
func (c *Coordinator) isRecent(sent time.Duration) bool { return c.now-sent <= c.options.Lease*2/3 }

// sendHeartbeat writes this consumer's row, unless a heartbeat is in flight or the stop is done.
func (c *Coordinator) sendHeartbeat() {
	h := &c.heartbeats
	if h.inFlight || c.stop.state == stopDone {
		return
	}
	h.inFlight = true
	h.lastNumber++
	number, sent := h.lastNumber, c.now
	call := newCall(c, func(e WriteResult) { c.handleHeartbeat(number, sent, e.Err) })
	c.emit(WriteHeartbeat{call, c.member(c.surveyAssignments())})
}

// handleHeartbeat handles the result of a heartbeat. number is the number of the heartbeat, and sent is when it was
// sent.
func (c *Coordinator) handleHeartbeat(number int64, sent time.Duration, err error) {
	h := &c.heartbeats
	h.inFlight = false
	survey := c.surveyAssignments()
	c.logTableOutage(survey)
	c.logReadOutage(survey.failing)

	if err != nil {
		c.logOnce("heartbeat", slog.LevelWarn, "heartbeat failed", errAttr(err))
		c.after(c.jitter(c.options.Lease/24), c.sendHeartbeat)
		return
	}
	delete(c.logged, "heartbeat")
	h.addConfirmed(confirmedHeartbeat{number, c.now}, sent)
	c.confirmHeartbeat(sent)
}

// confirmHeartbeat continues after a successful heartbeat that was sent at sent: it plans the next one, and changes the
// state if this one was fast enough.
func (c *Coordinator) confirmHeartbeat(sent time.Duration) {
	h := &c.heartbeats
	age := c.now - sent
	c.after(max(0, c.options.Lease/3-age), c.sendHeartbeat)
	c.after(max(0, c.options.Lease*2/3-age)+1, c.checkHeartbeat) // +1: at two thirds exactly, it still counts as recent

	if !c.isRecent(sent) {
		c.logOnce("slow heartbeat", slog.LevelWarn,
			"a heartbeat took over two thirds of the lease time: this consumer reads nothing until one is faster",
			roundedAttr("took", age))
		return
	}
	delete(c.logged, "slow heartbeat")
	switch h.state {
	case heartbeatsAwaited:
		h.state = heartbeatsSucceed
		c.refreshLeases()
	case heartbeatsFailed:
		h.state, h.resumedAt = heartbeatsSucceed, c.now
		c.log(slog.LevelInfo, "heartbeats succeed again")
	}
}

// addConfirmed notes a successful heartbeat, and forgets the oldest ones; sent is when it was sent.
func (h *heartbeats) addConfirmed(heartbeat confirmedHeartbeat, sent time.Duration) {
	h.confirmedSent = sent
	h.confirmed = append(h.confirmed, heartbeat)
	if len(h.confirmed) > keptHeartbeats {
		h.confirmed = slices.Delete(h.confirmed, 0, keptHeartbeats/2)
	}
}

// checkHeartbeat revokes all assignments if other consumers may soon count this consumer as gone.
func (c *Coordinator) checkHeartbeat() {
	if c.heartbeats.state != heartbeatsSucceed || c.isRecent(c.heartbeats.confirmedSent) {
		return
	}
	c.heartbeats.state = heartbeatsFailed
	c.log(slog.LevelError,
		"no heartbeat succeeded for two thirds of the lease time: this consumer reads and writes nothing until one does",
		slog.Int("partitions", len(c.assignments)))
	c.writes.toTake = nil
	for a := range c.allAssignments() {
		c.revoke(a, ErrHeartbeatsFailed)
	}
}

// The causes of a revoke. Logs show these texts.
var (
	ErrHeartbeatsFailed = revokeCauses.New("heartbeats failed: other consumers may take the leases")
	ErrLeaseLost        = revokeCauses.New("another consumer took the lease")
	ErrStoppedHard      = revokeCauses.New("the consumer was stopped hard")
	ErrHandedOver       = revokeCauses.New("the lease was requested, and was not drained in time")
)

const revokeCauses = redact.Class("leases")
