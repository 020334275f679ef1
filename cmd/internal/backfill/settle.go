package backfill

import (
	"context"
	"fmt"
	"strings"
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
	if j.sel.births, err = sinks.ChangeBirths(ctx, j.kept, j.sel.births, func(b *state.Birth) { b.Stage = state.Live }); err != nil {
		return err
	}
	return j.kept.RemoveBackfill(ctx, j.sel.run)
}

// waitPassed waits until every shard is read past a time, and durable.
func (j *job) waitPassed(ctx context.Context, at time.Time) error {
	switch {
	case !j.o.Live:
		return nil // no other process has the folder: what the stream has since then comes with the next consume or replay
	case j.cfg.Leases == nil && j.o.lag == 0:
		return cli.Usagef("%s has no leases, so a Lambda function reads the stream, and nobody here can see how far: give --lag, the time that it is behind at most; the same command goes on", j.cfg.File)
	case j.cfg.Leases == nil:
		fmt.Fprintf(j.streams.Err, "assuming that the function is never more than %s behind: waiting for that\n", j.o.lag)
		return pipeline.Sleep(ctx, time.Until(at.Add(j.o.lag)))
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
		if len(shards) == 0 {
			return nil
		}
		if text := fmt.Sprintf("waiting until %d shards are read past %s, first %s", len(shards), at.Format(time.RFC3339), shards[0]); text != told {
			told = text
			fmt.Fprintln(bar, text)
		}
		for id, beat := range now.Heartbeats() { // a consumer that came later proves it from its own heartbeats
			if _, known := since[id]; !known {
				since[id] = beat
			}
		}
		if len(now.Members) == 0 {
			fmt.Fprintln(bar, "no consumer runs: start one")
		}
		if err := pipeline.Sleep(ctx, settleInterval); err != nil {
			return fmt.Errorf("all is read, and these shards are not read past %s yet: %s: %w", at.Format(time.RFC3339), strings.Join(shards[:min(3, len(shards))], ", "), err)
		}
	}
}
