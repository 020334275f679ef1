package stream

import (
	"time"

	"github.com/tablewake/tablewake/shardreader/leases"
)

// HeartbeatWatch remembers the heartbeats of consumers between looks. The zero HeartbeatWatch is ready.
type HeartbeatWatch struct{ seen map[string]seenHeartbeat }

// seenHeartbeat is the last heartbeat of a consumer.
type seenHeartbeat struct {
	heartbeat int64
	since     time.Time // when it was seen first
}

// Observe notes the heartbeats of members, which were read at now. It returns the workers without a new heartbeat for
// lease or longer, each with the time since its last heartbeat was first seen.
func (w *HeartbeatWatch) Observe(members []leases.Member, now time.Time, lease time.Duration) map[string]time.Duration {
	seen, silent := make(map[string]seenHeartbeat, len(members)), make(map[string]time.Duration)
	for _, m := range members {
		last, known := w.seen[m.Worker]
		if !known || last.heartbeat != m.Heartbeat {
			last = seenHeartbeat{m.Heartbeat, now}
		}
		seen[m.Worker] = last
		if still := now.Sub(last.since); still >= lease {
			silent[m.Worker] = still
		}
	}
	w.seen = seen
	return silent
}
