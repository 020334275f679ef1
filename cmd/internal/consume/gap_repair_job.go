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
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/audit"
	"github.com/tablewake/tablewake/sinks/audit/run"
	"github.com/tablewake/tablewake/sinks/state"
)

// Limits of the audits of a repair, the same as the defaults of `tablewake gaps`.
const (
	repairMaxLag    = time.Minute
	repairClockSkew = time.Minute
)

// repairJob repairs gaps with the stores of a consumer.
type repairJob struct {
	o       *options
	cfg     *config.Config
	res     *resources
	repair  *gapRepair
	streams cli.Streams
	log     io.Writer
}

// newGapRepair returns the repair of the gaps of cfg. Its log goes to w.
func (o *options) newGapRepair(cfg *config.Config, res *resources, exts []sinks.Extension, w io.Writer) *gapRepair {
	r := &gapRepair{gaps: res.gaps, leaseDuration: stream.LeaseDuration(cfg), log: o.logger(w)}
	// No progress is shown, because the log has each write.
	streams := cli.Streams{Out: io.Discard, Err: io.Discard, Extensions: exts}
	r.repairDue = (&repairJob{o: o, cfg: cfg, res: res, repair: r, streams: streams, log: w}).run
	return r
}

// run compares all entries of the sinks with the table, repairs the differences, and stores the result with each gap.
// It leaves out the gaps at which the reading is stopped.
func (j *repairJob) run(ctx context.Context, due []state.NotedGap) (err error) {
	snapshot, err := j.res.table.Read(ctx)
	if err != nil {
		return err
	}
	passed := slices.DeleteFunc(slices.Clone(due), func(g state.NotedGap) bool {
		return gaps.CheckStopped([]state.NotedGap{g}, snapshot, "") != nil
	})
	if len(passed) == 0 {
		return gaps.CheckStopped(due, snapshot, j.o.CommandLine(j.cfg))
	}
	check := func(ctx context.Context) error { return j.check(ctx, passed) }
	if err := check(ctx); err != nil {
		return err
	}
	j.repair.log.LogAttrs(ctx, slog.LevelWarn, "records were lost: the sinks are compared with the table, and repaired",
		slog.Int("gaps", len(passed)))

	job, err := auditor.NewJob(ctx, auditor.JobOptions{
		Flags: j.o.Flags, Config: j.cfg, Stores: j.res.stores, Streams: j.streams, Sinks: j.cfg.SinksToRepair(),
		WritersRunning: true, Segments: run.DefaultSegments, Parts: run.DefaultParts, Rounds: run.DefaultRounds,
		RCU: j.o.repairRCU, MaxLag: repairMaxLag, ClockSkew: repairClockSkew,
		OnOutcome: func(sink string, f *audit.Finding, done audit.Outcome) { j.repair.logRepair(ctx, sink, f, done) },
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, job.Close()) }()
	result, err := gaps.Repair(ctx, gaps.Job{Config: j.cfg, Store: j.res.gaps, Gaps: passed, Audit: job,
		Owner: j.repair.owner, Check: check})
	if err != nil {
		return err
	}
	if result.Gaps > 0 {
		repair := result.Repair
		j.repair.log.LogAttrs(ctx, slog.LevelInfo, "sinks were compared with the table after lost records",
			slog.Int("gaps", result.Gaps), slog.String("stage", string(repair.Stage)), slog.Int64("items", repair.Items),
			slog.Int64("differences", repair.Differences), slog.Int64("repaired", repair.Repaired),
			slog.Int64("left", repair.Left))
	}
	return nil
}

// check returns an error if the reading is stopped at one of the gaps, or if dead letters of the sinks wait.
func (j *repairJob) check(ctx context.Context, passed []state.NotedGap) error {
	snapshot, err := j.res.table.Read(ctx)
	if err != nil {
		return err
	}
	if err := gaps.CheckStopped(passed, snapshot, j.o.CommandLine(j.cfg)); err != nil {
		return err
	}
	return gaps.CheckLetters(ctx, &j.o.Flags, j.cfg, j.res.stores, j.cfg.SinksToRepair(), j.log)
}

// logRepair logs each write of a repair, and each refusal. The mask applies to the keys of items.
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
