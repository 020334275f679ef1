package consume

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"time"

	auditor "github.com/tablewake/tablewake/cmd/internal/audit"
	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/gaps"
	"github.com/tablewake/tablewake/cmd/internal/stream"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/audit"
	"github.com/tablewake/tablewake/sinks/audit/run"
	"github.com/tablewake/tablewake/sinks/state"
)

// Limits of the audits of a repair, the same as the defaults of `tablewake gaps`.
const (
	repairMaxLag    = time.Minute
	repairClockSkew = time.Minute
)

// repairJob repairs gaps with the stores of a consumer. schedule decides when, and has the owner and the log.
type repairJob struct {
	options   *options
	cfg       *config.Config
	resources *resources
	schedule  *gapRepair
	streams   cli.Streams
	log       io.Writer
}

// newGapRepair returns the repair of the gaps of cfg, which runs a repairJob. Its log goes to w.
func (o *options) newGapRepair(cfg *config.Config, res *resources, w io.Writer) *gapRepair {
	schedule := &gapRepair{gaps: res.gaps, leaseDuration: stream.LeaseDuration(cfg), log: o.logger(w)}
	// No progress is shown, because the log has each write.
	streams := cli.Streams{Out: io.Discard, Err: io.Discard, Extensions: o.extensions}
	job := repairJob{options: o, cfg: cfg, resources: res, schedule: schedule, streams: streams, log: w}
	schedule.repairDue = job.run
	return schedule
}

// run compares all entries of the sinks with the table, repairs the differences, and stores the result with each gap.
// It leaves out the gaps at which the reading is stopped.
func (j *repairJob) run(ctx context.Context, due []state.NotedGap) (err error) {
	snapshot, err := j.resources.table.Read(ctx)
	if err != nil {
		return err
	}
	isStopped := func(g state.NotedGap) bool { return gaps.CheckStopped([]state.NotedGap{g}, snapshot, "") != nil }
	repairable := slices.DeleteFunc(slices.Clone(due), isStopped)
	if len(repairable) == 0 { // the reading is stopped at all gaps: the error says so
		return gaps.CheckStopped(due, snapshot, j.options.CommandLine(j.cfg))
	}
	check := func(ctx context.Context) error { return j.check(ctx, repairable) }
	if err := check(ctx); err != nil {
		return err
	}
	j.schedule.log.LogAttrs(ctx, slog.LevelWarn, "records were lost: the sinks are compared with the table, and repaired",
		slog.Int("gaps", len(repairable)))

	comparison, err := j.newComparison(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, comparison.Close()) }()
	result, err := gaps.Repair(ctx, gaps.Job{Config: j.cfg, Store: j.resources.gaps, Gaps: repairable, Audit: comparison,
		Owner: j.schedule.owner, Check: check})
	if err != nil {
		return err
	}
	if result.Gaps > 0 {
		repair := result.Repair
		j.schedule.log.LogAttrs(ctx, slog.LevelInfo, "sinks were compared with the table after lost records",
			slog.Int("gaps", result.Gaps), slog.String("stage", string(repair.Stage)), slog.Int64("items", repair.Items),
			slog.Int64("differences", repair.Differences), slog.Int64("repaired", repair.Repaired),
			slog.Int64("left", repair.Left))
	}
	return nil
}

// newComparison opens the audit that compares the sinks with the table, and repairs them while the consumer writes.
func (j *repairJob) newComparison(ctx context.Context) (*auditor.Job, error) {
	return auditor.NewJob(ctx, auditor.JobOptions{
		Flags: j.options.Flags, Config: j.cfg, Stores: j.resources.stores, Streams: j.streams, Sinks: j.cfg.SinksToRepair(),
		WritersRunning: true, Segments: run.DefaultSegments, Parts: run.DefaultParts, Rounds: run.DefaultRounds,
		RCU: j.options.repairRCU, MaxLag: repairMaxLag, ClockSkew: repairClockSkew,
		OnOutcome: func(sink string, f *audit.Finding, done audit.Outcome) { j.schedule.logRepair(ctx, sink, f, done) },
	})
}

// check returns an error if the reading is stopped at one of the gaps, or if dead letters of the sinks wait.
func (j *repairJob) check(ctx context.Context, repairable []state.NotedGap) error {
	snapshot, err := j.resources.table.Read(ctx)
	if err != nil {
		return err
	}
	if err := gaps.CheckStopped(repairable, snapshot, j.options.CommandLine(j.cfg)); err != nil {
		return err
	}
	return gaps.CheckLetters(ctx, &j.options.Flags, j.cfg, j.resources.stores, j.cfg.SinksToRepair(), j.log)
}

// logRepair logs each write of a repair, and each refusal. f.PlaceText hides the sensitive values of the keys of items.
func (r *gapRepair) logRepair(ctx context.Context, sink string, f *audit.Finding, done audit.Outcome) {
	level, text := slog.LevelInfo, "an entry was repaired"
	switch done.Result {
	case audit.Repaired:
	case audit.Refused:
		level, text = slog.LevelWarn, "an entry cannot be repaired"
	default:
		return // nothing was written, and the next comparison reports the entry
	}
	r.log.LogAttrs(ctx, level, text, slog.String("sink", sink), slog.String("verdict", string(f.Verdict)),
		slog.String("kind", string(f.Kind)), slog.String("where", f.PlaceText))
}
