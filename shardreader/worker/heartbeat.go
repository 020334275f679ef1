package worker

import (
	"log/slog"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline/redact"
)

// sendHeartbeat writes this consumer's row: proof that it lives.
func (w *Worker) sendHeartbeat() {
	if w.sendingHeartbeat || w.stopped {
		return
	}
	w.sendingHeartbeat = true
	w.beat++
	w.do(Beat{w.begin(heartbeat{w.beat, w.now}), w.member()})
}

// heartbeat is a call that writes one.
type heartbeat struct {
	beat int64
	sent time.Duration
}

func (op heartbeat) answered(w *Worker, e Done) {
	w.sendingHeartbeat = false
	s := w.survey()
	w.tellTable(s)
	w.tellReads(s.failing)
	if e.Err != nil {
		w.tellOnce("beat", slog.LevelWarn, "the worker cannot say that it lives", errAttr(e.Err))
		w.after(w.jitter(w.o.Lease/24), w.sendHeartbeat)
		return
	}
	delete(w.told, "beat")
	first := !w.heartbeatOnce
	w.heartbeatSent, w.heartbeatOnce = op.sent, true
	if w.beats = append(w.beats, beatAt{op.beat, w.now}); len(w.beats) > keptBeats {
		w.beats = slices.Delete(w.beats, 0, keptBeats/2)
	}
	w.after(max(0, op.sent+w.o.Lease/3-w.now), w.sendHeartbeat)
	w.after(max(0, op.sent+w.o.Lease*2/3-w.now)+1, w.checkHeartbeat)
	if w.heartbeatFresh() && w.suspended {
		w.suspended, w.resumed = false, w.now
		w.tell(slog.LevelInfo, "the worker is in contact again")
	}
	if first {
		w.refreshLeases()
	}
}

// checkHeartbeat revokes all assignments once the others may soon count this consumer as gone.
func (w *Worker) checkHeartbeat() {
	if !w.heartbeatOnce || w.heartbeatFresh() || w.suspended {
		return
	}
	w.suspended = true
	w.tell(slog.LevelError, "the worker could not say for two thirds of a lease that it lives: it reads and writes no more until it can",
		slog.Int("partitions", len(w.assignments)))
	w.takes = nil
	for p := range w.assigned() {
		w.revoke(p, ErrOutOfContact)
	}
}

// The causes of a revoke. Logs have their whole texts.
var (
	ErrOutOfContact error = cause("the worker could not say that it lives: others may take its leases")
	ErrLeaseLost    error = cause("the lease was taken by another worker")
	ErrAbandoned    error = cause("the consumer is stopped hard")
	ErrHandedOver   error = cause("the lease was asked for, and was not drained in time")
)

// cause is an error whose text holds no data: logs show all of it.
type cause string

var _ redact.Redacted = cause("")

func (c cause) Error() string                   { return string(c) }
func (c cause) Redacted() string                { return string(c) }
func (c cause) Describe() (class, field string) { return "leases", "" }
