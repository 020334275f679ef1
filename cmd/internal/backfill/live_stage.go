package backfill

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/stream"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/state"
)

// waitAndMakeLive waits until consumers have processed the stream up to the last read of the source. Then it makes the
// sinks live.
func (j *job) waitAndMakeLive(ctx context.Context) error {
	readUntil := time.Now().UTC().Truncate(time.Second).Add(time.Second)
	births, err := sinks.ChangeBirths(ctx, j.stateStore, j.selection.births, func(b *state.Birth) {
		if b.Stage == state.Filling {
			b.Stage, b.ReadUntil = state.Settling, readUntil
		}
	})
	if err != nil {
		return err
	}
	j.selection.births = births
	for _, b := range births {
		if b.ReadUntil.Before(readUntil) {
			readUntil = b.ReadUntil // an earlier process has already set the stage, with an earlier time
		}
	}
	if err := j.waitUntilRead(ctx, readUntil); err != nil {
		return err
	}
	if err := j.checkStream(ctx); err != nil {
		return err
	}
	makeLive := func(b *state.Birth) { b.Stage = state.Live }
	j.selection.births, err = sinks.ChangeBirths(ctx, j.stateStore, j.selection.births, makeLive)
	return err
}

// deleteEndedBackfills removes backfills that began over a day ago and whose sinks are all live or that were abandoned.
// It keeps newer backfills, because other processes of the run still look up in the state whether all parts are done,
// or whether the run was abandoned. It keeps backfills that no birth names, because a Go program reads them.
func deleteEndedBackfills(ctx context.Context, store state.Store, births []state.Birth, stored []state.Backfill) error {
	for _, b := range stored {
		isAbandoned := b.Sinks == ""
		hasEnded := isAbandoned || slices.ContainsFunc(births, b.Fills) && !isOpen(b, births)
		if !hasEnded || time.Since(b.Start) <= 24*time.Hour {
			continue
		}
		if err := removeRun(ctx, store, b.Run); err != nil {
			return err
		}
	}
	return nil
}

// removeRun removes a backfill with its parts and its notes.
func removeRun(ctx context.Context, store state.Store, run string) error {
	for _, r := range []string{exportRun(run), snapshot.SelectedRun(run), run} {
		if err := store.RemoveBackfill(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// abandonUnstored abandons runs that are not stored, so that another run can fill their sinks. It stores that they can
// never begin. A process of such a run may live: it finds this when it stores the backfill of the run, before it writes
// anything. If it was first, abandonUnstored returns an error.
func (j *job) abandonUnstored(ctx context.Context, runs []string) error {
	for _, run := range runs {
		abandoned := state.Backfill{Run: run, Source: "abandoned", Start: time.Now().UTC().Truncate(time.Second)}
		stored, err := j.stateStore.AddBackfill(ctx, abandoned)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(j.selection.births, stored.Fills) {
			return fmt.Errorf("the run %s has begun to fill %s from %s: wait until the sinks are live, or repeat its command",
				run, stored.Sinks, stored.Source)
		}
	}
	return nil
}

// lagAssumption returns what [job.waitUntilRead] assumes about the lag of Lambda. It returns "" if nothing is assumed:
// the leases prove the position, or the backfill is of a --local folder.
func (j *job) lagAssumption() string {
	if !j.o.LambdaReads(j.cfg) {
		return ""
	}
	return fmt.Sprintf("the Lambda function is never more than %s behind the stream", j.o.assumedLag)
}

// waitUntilRead waits until consumers have read all records from before a time, and have written them durably.
func (j *job) waitUntilRead(ctx context.Context, at time.Time) error {
	switch {
	case !j.o.Live:
		return nil // no other process uses the folder: the next consume or replay brings the later changes
	case j.cfg.Leases == nil:
		fmt.Fprintf(j.streams.Err, "assuming that %s: waiting for that\n", j.lagAssumption())
		return pipeline.Sleep(ctx, time.Until(at.Add(j.o.assumedLag)))
	}
	return stream.WaitPassed(ctx, j.readLeases, at, j.o.clockSkew, j.streams.Err)
}
