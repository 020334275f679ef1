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
// read for the present leases. clockSkew is the maximum difference between clocks. WaitPassed calls tell with a text
// that says what it waits for, whenever the text changes.
func WaitPassed(
	ctx context.Context, read func(ctx context.Context) (Snapshot, error), at time.Time, clockSkew time.Duration,
	tell func(text string),
) error {
	if err := pipeline.Sleep(ctx, time.Until(at)); err != nil {
		return err
	}
	first, err := read(ctx)
	if err != nil {
		return err
	}
	firstHeartbeats := first.Heartbeats()
	lastText := ""
	for {
		snapshot, err := read(ctx)
		if _, transient := pipeline.Retryable(err); transient {
			tell("the leases cannot be read, and are read again: " + err.Error())
			if err := pipeline.Sleep(ctx, passedInterval); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		shards := snapshot.Unpassed(at.Add(clockSkew), firstHeartbeats)
		text := ""
		switch {
		case len(snapshot.Leases) == 0:
			text = "waiting for a consumer: none has begun to read the stream"
		case len(shards) == 0:
			return nil
		case len(snapshot.Members) == 0:
			text = "waiting for a consumer: none runs"
		default:
			text = fmt.Sprintf("waiting until %d shards are read past %s, first %s", len(shards), at.Format(time.RFC3339),
				shards[0])
			if shard, why := snapshot.firstStopped(shards); shard != "" {
				text += fmt.Sprintf("; %s is read no further: %s", shard, why)
			}
		}
		if text != lastText {
			lastText = text
			tell(text)
		}
		for id, number := range snapshot.Heartbeats() { // for a new consumer, only heartbeats after its first one count
			if _, known := firstHeartbeats[id]; !known {
				firstHeartbeats[id] = number
			}
		}
		if err := pipeline.Sleep(ctx, passedInterval); err != nil {
			return fmt.Errorf("the stream is not read past %s yet: %w", at.Format(time.RFC3339), err)
		}
	}
}

// firstStopped returns the first of the shards that a running consumer stopped reading, with the reason; "" if there is
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
