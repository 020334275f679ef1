package stream_test

import (
	"testing"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/stream"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// A consumer is silent once it has sent no heartbeat for the time of a lease, until it sends one again.
func TestHeartbeatWatch(t *testing.T) {
	var watched stream.HeartbeatWatch
	now := time.Unix(1_800_000_000, 0)
	for i, step := range []struct {
		after  time.Duration
		a, b   int64
		silent time.Duration // how long b is silent
	}{{0, 1, 1, 0}, {5 * time.Second, 2, 1, 0}, {10 * time.Second, 3, 1, 10 * time.Second}, {15 * time.Second, 4, 1, 15 * time.Second}, {20 * time.Second, 5, 2, 0}} {
		silent := watched.Observe([]leases.Member{{ID: "a", Heartbeat: step.a}, {ID: "b", Heartbeat: step.b}}, now.Add(step.after), 10*time.Second)
		if got, is := silent["b"]; got != step.silent || is != (step.silent > 0) || len(silent) > 1 {
			t.Errorf("look %d: silent are %v, want b for %v", i, silent, step.silent)
		}
	}
}
