package leases

import (
	"context"
	"fmt"
	"time"

	"github.com/tablewake/tablewake/pipeline"
)

// passedInterval is the time between two reads of the leases.
const passedInterval = 2 * time.Second

// WaitPassed blocks until every shard is read past the time at, and all records before that time are durable. It calls
// read to get the present leases. clockSkew is the maximum difference between clocks. WaitPassed calls show with a text
// that says what it waits for, whenever the text changes.
func WaitPassed(
	ctx context.Context, read func(ctx context.Context) (Snapshot, error), at time.Time, clockSkew time.Duration,
	show func(text string),
) error {
	if err := pipeline.Sleep(ctx, time.Until(at)); err != nil {
		return err
	}
	firstHeartbeats := make(map[string]int64)
	lastText := ""
	for {
		text := ""
		snapshot, err := read(ctx)
		_, isTransient := pipeline.Retryable(err)
		switch {
		case isTransient:
			text = "the leases cannot be read, and are read again: " + err.Error()
		case err != nil:
			return err
		default:
			unpassed := snapshot.Unpassed(at.Add(clockSkew), firstHeartbeats)
			if len(snapshot.Leases) > 0 && len(unpassed) == 0 {
				return nil
			}
			text = snapshot.waitText(at, unpassed)
			addMissing(firstHeartbeats, snapshot.Heartbeats()) // only heartbeats after a consumer's first one count
		}
		if text != lastText {
			lastText = text
			show(text)
		}
		if err := pipeline.Sleep(ctx, passedInterval); err != nil {
			return fmt.Errorf("the stream is not read past %s yet: %w", at.Format(time.RFC3339), err)
		}
	}
}

// addMissing adds the heartbeats of consumers that have none in seen.
func addMissing(seen, heartbeats map[string]int64) {
	for id, heartbeat := range heartbeats {
		if _, isKnown := seen[id]; !isKnown {
			seen[id] = heartbeat
		}
	}
}

// waitText returns a text that says what WaitPassed waits for.
func (s Snapshot) waitText(at time.Time, unpassed []string) string {
	switch {
	case len(s.Leases) == 0:
		return "waiting for a consumer: none has begun to read the stream"
	case len(s.Members) == 0:
		return "waiting for a consumer: none runs"
	}
	text := fmt.Sprintf("waiting until all shards are read past %s: not yet read are %d, first %s", at.Format(time.RFC3339),
		len(unpassed), unpassed[0])
	if shard, why := s.firstStopped(unpassed); shard != "" {
		text += fmt.Sprintf("; %s is read no further: %s", shard, why)
	}
	return text
}

// firstStopped returns the first of the shards that a consumer stopped reading, with the reason; "" if there is
// none.
func (s Snapshot) firstStopped(shards []string) (shard, why string) {
	for _, shard := range shards {
		for _, m := range s.Members {
			if why, stopped := m.Stopped[shard]; stopped {
				return shard, why
			}
		}
	}
	return "", ""
}
