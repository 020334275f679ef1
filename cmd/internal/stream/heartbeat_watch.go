package stream

import (
	"time"

	"github.com/tablewake/tablewake/shardreader/leases"
)

// HeartbeatWatch finds consumers that send no heartbeats. It remembers the heartbeats that [HeartbeatWatch.Observe] got
// before. The zero HeartbeatWatch is ready for use.
type HeartbeatWatch struct{ seen map[string]seenHeartbeat }

// seenHeartbeat is the last heartbeat of a consumer.
type seenHeartbeat struct {
	heartbeat int64
	since     time.Time // when this heartbeat was first seen
}

// Observe notes the heartbeats of members, which were read at the time now. It returns, by id, the consumers without a
// new heartbeat for maxSilence or longer. Each value of the result is the time since the last heartbeat of the consumer
// was first seen.
func (w *HeartbeatWatch) Observe(
	members []leases.Member, now time.Time, maxSilence time.Duration,
) map[string]time.Duration {
	seen, silent := make(map[string]seenHeartbeat, len(members)), make(map[string]time.Duration)
	for _, m := range members {
		last, known := w.seen[m.ID]
		if !known || last.heartbeat != m.Heartbeat {
			last = seenHeartbeat{m.Heartbeat, now}
		}
		seen[m.ID] = last
		if silence := now.Sub(last.since); silence >= maxSilence {
			silent[m.ID] = silence
		}
	}
	w.seen = seen
	return silent
}
