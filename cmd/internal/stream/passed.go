package stream

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// passedInterval is the time between two looks at the leases.
const passedInterval = 2 * time.Second

// LeaseReader reads the leases and the heartbeats of a pipeline.
type LeaseReader func(ctx context.Context) (leases.Snapshot, error)

// WaitPassed waits until every shard is read past a time, and what was read is durable. clockSkew is how much clocks may
// differ. It tells w for what it waits.
func WaitPassed(ctx context.Context, read LeaseReader, at time.Time, clockSkew time.Duration, w io.Writer) error {
	if err := pipeline.Sleep(ctx, time.Until(at)); err != nil {
		return err
	}
	seen, err := read(ctx)
	if err != nil {
		return err
	}
	since := seen.Heartbeats()
	bar := cli.NewCountProgress(w, "waiting for the stream")
	defer bar.End()
	told := ""
	for {
		now, err := read(ctx)
		if err != nil {
			return err
		}
		shards := now.Unpassed(at.Add(clockSkew), since)
		text := ""
		switch {
		case len(now.Leases) == 0:
			text = "waiting for a consumer: none has begun to read the stream"
		case len(shards) == 0:
			return nil
		case len(now.Members) == 0:
			text = "waiting for a consumer: none runs"
		default:
			text = fmt.Sprintf("waiting until %d shards are read past %s, first %s", len(shards), at.Format(time.RFC3339), shards[0])
		}
		if text != told {
			told = text
			fmt.Fprintln(bar, text)
		}
		for id, beat := range now.Heartbeats() { // a consumer that came later proves it from its own heartbeats
			if _, known := since[id]; !known {
				since[id] = beat
			}
		}
		if err := pipeline.Sleep(ctx, passedInterval); err != nil {
			return fmt.Errorf("the stream is not read past %s yet: %w", at.Format(time.RFC3339), err)
		}
	}
}
