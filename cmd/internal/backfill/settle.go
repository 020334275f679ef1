package backfill

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/state"
)

// settleInterval is the time between two looks at the leases.
const settleInterval = 2 * time.Second

// settle waits until every shard is read past the last read of the source, and makes the sinks live.
func (j *job) settle(ctx context.Context) error {
	until := time.Now().UTC().Truncate(time.Second).Add(time.Second)
	births, err := sinks.ChangeBirths(ctx, j.kept, j.sel.births, func(b *state.Birth) {
		if b.Stage == state.Filling {
			b.Stage, b.ReadUntil = state.Settling, until
		}
	})
	if err != nil {
		return err
	}
	j.sel.births = births
	for _, b := range births {
		if b.ReadUntil.Before(until) {
			until = b.ReadUntil // it settles since an earlier process ended
		}
	}
	if err := j.waitPassed(ctx, until); err != nil {
		return err
	}
	if err := j.checkStream(ctx); err != nil {
		return err
	}
	j.sel.births, err = sinks.ChangeBirths(ctx, j.kept, j.sel.births, func(b *state.Birth) { b.Stage = state.Live })
	return err
}

// forgetEnded removes the backfills of a day ago and earlier that fill no sink any more. One that just ended stays: other
// processes still see in its parts that all are done.
func forgetEnded(ctx context.Context, kept state.Store, births []state.Birth, stored []state.Backfill) error {
	for _, b := range stored {
		fills := slices.ContainsFunc(births, func(birth state.Birth) bool { return birth.Run == b.Run && birth.Stage != state.Live })
		if !fills && time.Since(b.Begun) > 24*time.Hour {
			if err := kept.RemoveBackfill(ctx, b.Run); err != nil {
				return err
			}
		}
	}
	return nil
}

// waitPassed waits until every shard is read past a time, and durable.
func (j *job) waitPassed(ctx context.Context, at time.Time) error {
	switch {
	case !j.o.Live:
		return nil // no other process has the folder: what the stream has since then comes with the next consume or replay
	case j.cfg.Leases == nil:
		fmt.Fprintf(j.streams.Err, "assuming that the function is never more than %s behind: waiting for that\n", j.o.lag)
		return pipeline.Sleep(ctx, time.Until(at.Add(j.o.lag)))
	}
	if err := pipeline.Sleep(ctx, time.Until(at)); err != nil {
		return err
	}
	seen, err := j.readLeases(ctx)
	if err != nil {
		return err
	}
	since := seen.Heartbeats()
	bar := cli.NewCountProgress(j.streams.Err, "waiting for the stream")
	defer bar.End()
	told := ""
	for {
		now, err := j.readLeases(ctx)
		if err != nil {
			return err
		}
		shards := now.Unpassed(at.Add(j.o.clockSkew), since)
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
		if err := pipeline.Sleep(ctx, settleInterval); err != nil {
			return fmt.Errorf("the stream is not read past %s yet: %w", at.Format(time.RFC3339), err)
		}
	}
}
