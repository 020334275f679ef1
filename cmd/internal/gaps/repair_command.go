package gaps

import (
	"context"
	"errors"
	"fmt"
	"slices"

	auditor "github.com/tablewake/tablewake/cmd/internal/audit"
	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/stream"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/state"
)

// repairNoted repairs the open gaps and the left-out sinks that the flags select. It returns nil without --repair, or
// if there is nothing to repair.
func (c *command) repairNoted(ctx context.Context, noted notes) (*Result, error) {
	if !c.repair {
		return nil, nil
	}
	openGaps := selectOpenGaps(noted.gaps, c.shards)
	if c.comparesSaved() {
		openGaps = nil // the records of a gap were lost before they were saved
	}
	leftOut, err := c.selectLeftOut(noted.leftOut, openGaps)
	if err != nil {
		return nil, err
	}
	if err := c.checkShards(noted.gaps); err != nil {
		return nil, err
	}
	if len(openGaps)+len(leftOut) == 0 {
		return nil, c.checkLost(ctx)
	}
	result, err := c.repairSelected(ctx, notes{gaps: openGaps, leftOut: leftOut})
	return &result, cli.Interrupted(ctx, err)
}

// checkLost returns an error if the output of a sink and the state do not belong together. It is called if nothing is
// noted: the notes may have been lost with the state.
func (c *command) checkLost(ctx context.Context) error {
	store, err := c.stores.State(ctx, c.cfg)
	if err != nil || store == nil {
		return err
	}
	changes, err := sinks.CompareOutputs(ctx, c.cfg, c.stores, c.sinks...)
	if err != nil {
		return err
	}
	for _, change := range changes {
		if change.Problem != "" {
			return errs.Errorf("the sink %s would not start: %s; `tablewake plan %s` says what to do", redact.Safe(change.Sink),
				redact.Safe(change.Problem), redact.Safe(c.CommandLine(c.cfg)))
		}
	}
	return nil
}

// checkShards returns a usage error if a shard of --shard has no gap. The gap may be repaired, so that an interrupted
// command can be repeated.
func (c *command) checkShards(gaps []state.NotedGap) error {
	var known []string
	for _, g := range gaps {
		known = append(known, g.Shard)
	}
	return cli.CheckNames("shard", "this shard has no gap", known, c.shards...)
}

// selectLeftOut returns the births of left-out sinks that this command can repair. Only an audit of everything finds
// the changes that such a sink missed, and only while no process runs without the sink. If Lambda functions read the
// stream, only the flags of c.function can prove that. Without them selectLeftOut returns an error, or warns if there
// are open gaps to repair.
func (c *command) selectLeftOut(leftOut []state.Birth, openGaps []state.NotedGap) ([]state.Birth, error) {
	auditsEverything := c.audit && len(c.shards) == 0
	if !auditsEverything {
		return nil, nil
	}
	if len(c.sinks) > 0 {
		leftOut = slices.DeleteFunc(slices.Clone(leftOut),
			func(b state.Birth) bool { return !slices.Contains(c.sinks, b.Sink) })
	}
	canProve := !c.LambdaReads(c.cfg) || c.function.IsGiven()
	if len(leftOut) == 0 || canProve {
		return leftOut, nil
	}
	const how = "name the Lambda functions with --function, to see since when they have this file; or say so with --deployed-since TIME"
	if len(openGaps) == 0 {
		return nil, cli.Usagef("the sink %s was left out: %s", leftOut[0].Sink, how)
	}
	fmt.Fprintf(c.streams.Err, cli.Warning+"the sink %s was left out, and stays noted: %s\n", leftOut[0].Sink, how)
	return nil, nil
}

// repairSelected repairs the sinks after the selected notes, unless it is too early.
func (c *command) repairSelected(ctx context.Context, selected notes) (_ Result, err error) {
	if len(c.cfg.Source.Tables) > 1 {
		return Result{}, cli.Usagef("%s has several source tables, and a repair covers one: give each table a file of its own", c.cfg.File)
	}
	if err := errors.Join(checkReport(c.report), c.check(ctx, selected)); err != nil {
		return Result{}, err
	}
	var births state.Births
	if len(selected.leftOut) > 0 {
		if births, err = c.stores.State(ctx, c.cfg); err != nil {
			return Result{}, err
		}
	}
	job, err := c.newAuditJob(ctx)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, job.Close()) }()

	exports := c.exports
	if c.comparesSaved() {
		exports = nil // the job has the full export
	}
	if c.startExport {
		if exports, selected.gaps, err = c.requestExports(ctx, job.Table().ARN, selected.gaps); err != nil {
			return Result{}, err
		}
		if len(selected.gaps) == 0 {
			return Result{}, nil // without --audit no left-out sink is selected
		}
	}
	return Repair(ctx, Job{
		Check:  func(ctx context.Context) error { return c.check(ctx, selected) },
		Config: c.cfg, Store: c.store, Gaps: selected.gaps, Births: births, LeftOut: selected.leftOut, Audit: job,
		Exports: exports, Report: c.report, DryRun: c.dryRun,
	})
}

// requestExports waits for exports of gaps, and returns their paths. It also returns the gaps that are open afterwards,
// because more may have become known during the exports.
func (c *command) requestExports(
	ctx context.Context, tableARN string, gaps []state.NotedGap,
) (paths []string, openGaps []state.NotedGap, err error) {
	if paths, err = RequestExports(ctx, tableARN, c.bucket, c.prefix, gaps, c.streams.Err); err != nil {
		return nil, nil, err
	}
	known, err := c.readGaps(ctx)
	return paths, selectOpenGaps(known, c.shards), err
}

func (c *command) newAuditJob(ctx context.Context) (*auditor.Job, error) {
	locksLeaseFile := c.leaseFile != "" && !c.dryRun // so that no consumer can run
	fullExport := ""
	if c.comparesSaved() && len(c.exports) > 0 {
		fullExport = c.exports[0]
	}
	return auditor.NewJob(ctx, auditor.JobOptions{
		Input: c.input, Export: fullExport, Keys: c.keys,
		Flags: c.Flags, Config: c.cfg, Stores: c.stores, Streams: c.streams, Sinks: c.sinks, Records: c.records,
		WritersRunning: c.Live && !locksLeaseFile, DryRun: c.dryRun,
		Segments: c.segments, Parts: c.parts, Rounds: c.rounds, RCU: c.rcu,
		MaxLag: c.maxLag, Lag: c.lag, TrustLag: c.trustLag, ClockSkew: c.clockSkew,
	})
}

// check returns an error if the repair must not begin yet: it is too early, reading is stopped, a process lacks a sink,
// dead letters wait, or the queue is not empty.
func (c *command) check(ctx context.Context, selected notes) error {
	maxDelay := stream.LeaseDuration(c.cfg)
	if c.LambdaReads(c.cfg) {
		maxDelay = c.functionTimeout
	}
	leftOut := selected.leftOut
	if c.Local != "" {
		leftOut = nil // no other process uses the folder
	}
	if err := CheckNotTooEarly(selected.gaps, leftOut, maxDelay); err != nil {
		return err
	}
	if err := c.checkStopped(ctx, selected.gaps); err != nil {
		return err
	}
	if len(selected.leftOut) > 0 && c.Live {
		if err := c.checkRoutes(ctx); err != nil {
			return err
		}
	}
	if err := CheckLetters(ctx, &c.Flags, c.cfg, c.stores, c.sinks, c.streams.Err); err != nil {
		return err
	}
	return c.checkQueue(ctx)
}

// checkStopped returns an error if reading is stopped at one of the gaps. Only consumers stop there.
func (c *command) checkStopped(ctx context.Context, gaps []state.NotedGap) error {
	if c.LambdaReads(c.cfg) {
		return nil
	}
	snapshot, err := c.readLeases(ctx)
	if err != nil {
		return err
	}
	return CheckStopped(gaps, snapshot, c.CommandLine(c.cfg))
}

// checkQueue returns an error if the function's on-failure queue is not empty. It warns if the queue is unknown.
func (c *command) checkQueue(ctx context.Context) error {
	if c.queue == "" {
		if c.LambdaReads(c.cfg) && !c.noQueue {
			fmt.Fprintln(c.streams.Err, cli.Warning+"a batch that comes back from the function's on-failure queue may undo a repair: "+
				"name the queue with --queue URL, or say that there is none with --no-queue")
		}
		return nil
	}
	sdk, err := target.LoadAWS(ctx)
	if err != nil {
		return err
	}
	return CheckQueue(ctx, sdk, c.queue)
}

// checkRoutes returns an error unless every live process that reads the stream has the sinks of this file.
func (c *command) checkRoutes(ctx context.Context) error {
	if !c.LambdaReads(c.cfg) {
		return stream.CheckRoutes(ctx, c.readLeases, stream.MaxSilence(&c.Flags, c.cfg), c.cfg, c.streams.Err)
	}
	sdk, err := target.LoadAWS(ctx)
	if err != nil {
		return err
	}
	return c.function.CheckUnchanged(ctx, sdk, c.cfg, c.streams.Err)
}
