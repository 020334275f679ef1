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

	// The loop is stalled if it completed no round for stalledLeases lease times, and for at least minStalled.
	stalledLeases = 3
	minStalled    = 30 * time.Second
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
	h := Health{Live: true, Ready: true}
	unready := func(format string, args ...any) {
		h.Ready = false
		h.Reasons = append(h.Reasons, fmt.Sprintf(format, args...))
	}
	lastStep := time.Duration(c.lastStep.Load())
	if stalledFor := c.now() - lastStep; lastStep > 0 &&
		stalledFor > max(minStalled, stalledLeases*c.o.Coordinator.Lease) && !c.isStopped() {
		// Take no lock here, because its holder may hang.
		h.Live, h.Ready = false, false
		h.Reasons = append(h.Reasons, fmt.Sprintf("nothing was done for %v", stalledFor.Round(time.Second)))
		return h
	}
	c.mu.Lock()
	leaving, fatal := c.leaving, c.fatal
	c.mu.Unlock()
	switch {
	case fatal != nil:
		unready("reading failed: %s", redact.LogText(fatal))
		return h
	case leaving:
		unready("it is stopping")
		return h
	case lastStep == 0:
		unready("nothing is read yet")
		return h
	}
	s := c.Status()
	if !s.HeartbeatFresh {
		unready("no recent heartbeat succeeded")
	}
	if !s.TableRead {
		unready("the lease table was not read yet")
	}
	if s.CheckpointOverdueFor > 0 {
		unready("checkpoints could not be written for %v: look at the lease table, and at the log",
			s.CheckpointOverdueFor.Round(time.Second))
	}
	if s.TableUnreadFor > 0 {
		unready("the lease table could not be read for %v", s.TableUnreadFor.Round(time.Second))
	}
	now := c.now()
	for _, p := range s.Partitions {
		if p.Failures >= stuckFailures && now-p.LastPageAt > stuckAfter && !p.Draining && !p.Ended && p.StopReason == "" {
			h.Stuck = append(h.Stuck, p.Shard)
		}
	}
	if n := len(h.Stuck); n > 0 {
		unready("%d of %d shards are stuck: calls fail, and none brought an answer for %v; the first is %s", n,
			len(s.Partitions), stuckAfter, h.Stuck[0])
	}
	return h
}

func (c *Consumer) isStopped() bool {
	select {
	case <-c.stopped:
		return true
	default:
		return false
	}
}
