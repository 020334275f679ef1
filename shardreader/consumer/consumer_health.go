package consumer

import (
	"fmt"
	"time"

	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/shardreader/coordinator"
)

const (
	// A shard is stuck if stuckFailures calls failed in a row and no page was received for stuckAfter. An idle shard is
	// not stuck, because its calls return empty pages. A shard that waits for the pipeline is not stuck, because it has
	// no failed calls.
	stuckAfter    = time.Minute
	stuckFailures = 3

	// The loop is stalled if it completed no round for stalledAfterLeases lease times, and for minStalled or longer.
	stalledAfterLeases = 3
	minStalled         = 30 * time.Second
)

// Health is the state of a consumer, for health checks.
type Health struct {
	// Live reports whether the process itself works. If it is false, only a restart helps. Failures of the stream, of
	// the lease table or of a sink do not change Live.
	Live bool

	// Ready reports whether heartbeats and the lease table work, and all assigned shards are read.
	Ready bool

	Reasons []string // why the consumer is not Live or not Ready
	Stuck   []string // ids of assigned shards that cannot be read
}

// Status returns the status of this consumer, and of the fleet as it sees it.
func (c *Consumer) Status() coordinator.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.coordinator.Status()
}

// Health returns the present health. It may be called at any time, also by several goroutines.
func (c *Consumer) Health() Health {
	lastStep := time.Duration(c.lastStep.Load())
	stalledFor := c.now() - lastStep
	isStalled := lastStep > 0 && stalledFor > max(minStalled, stalledAfterLeases*c.options.Coordinator.Lease)
	if isStalled && c.stopped.Err() == nil {
		// Take no lock here, because its holder may hang.
		return Health{Reasons: []string{fmt.Sprintf("nothing was done for %v", stalledFor.Round(time.Second))}}
	}
	c.mu.Lock()
	leaving, fatal := c.leaving, c.fatal
	c.mu.Unlock()
	switch {
	case fatal != nil:
		return Health{Live: true, Reasons: []string{"reading failed: " + redact.LogText(fatal)}}
	case leaving:
		return Health{Live: true, Reasons: []string{"it is stopping"}}
	case lastStep == 0:
		return Health{Live: true, Reasons: []string{"nothing is read yet"}}
	}
	s := c.Status()
	h := Health{Live: true, Stuck: stuckShards(s, c.now())}
	h.Reasons = unreadyReasons(s, h.Stuck)
	h.Ready = len(h.Reasons) == 0
	return h
}

// stuckShards returns the ids of the assigned shards that cannot be read.
func stuckShards(s coordinator.Status, now time.Duration) (stuck []string) {
	for _, p := range s.Partitions {
		isRead := !p.Draining && !p.Ended && p.StopReason == ""
		if isRead && p.Failures >= stuckFailures && now-p.LastPageAt > stuckAfter {
			stuck = append(stuck, p.Shard)
		}
	}
	return stuck
}

// unreadyReasons returns why a consumer is not ready; nil if it is.
func unreadyReasons(s coordinator.Status, stuck []string) (reasons []string) {
	add := func(format string, args ...any) { reasons = append(reasons, fmt.Sprintf(format, args...)) }
	if !s.HeartbeatFresh {
		add("no recent heartbeat succeeded")
	}
	if !s.TableRead {
		add("the lease table was not read yet")
	}
	if s.CheckpointOverdueFor > 0 {
		add("checkpoints could not be written for %v: look at the lease table, and at the log",
			s.CheckpointOverdueFor.Round(time.Second))
	}
	if s.TableUnreadFor > 0 {
		add("the lease table could not be read for %v", s.TableUnreadFor.Round(time.Second))
	}
	if len(stuck) > 0 {
		add("%d of %d shards are stuck: calls fail, and none brought an answer for %v; the first is %s", len(stuck),
			len(s.Partitions), stuckAfter, stuck[0])
	}
	return reasons
}
