package fleet

import (
	"time"

	"github.com/tablewake/tablewake/shardreader/leases"
)

// Beats remembers the heartbeats of consumers between looks. The zero Beats is ready.
type Beats struct{ seen map[string]beat }

type beat struct {
	heartbeat int64
	since     time.Time // when it was seen first
}

// Silent takes the consumers of a look at now, and returns those whose heartbeat has stood still for a lease, with the
// time that it was watched.
func (b *Beats) Silent(members []leases.Member, now time.Time, lease time.Duration) map[string]time.Duration {
	seen, silent := make(map[string]beat, len(members)), make(map[string]time.Duration)
	for _, m := range members {
		last, known := b.seen[m.Worker]
		if !known || last.heartbeat != m.Heartbeat {
			last = beat{m.Heartbeat, now}
		}
		seen[m.Worker] = last
		if still := now.Sub(last.since); still >= lease {
			silent[m.Worker] = still
		}
	}
	b.seen = seen
	return silent
}
