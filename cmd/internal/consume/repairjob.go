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

// newGapRepair returns the repair of the gaps of cfg. Its log goes to w.
func (o *options) newGapRepair(cfg *config.Config, res *resources, exts []sinks.Extension, w io.Writer) *gapRepair {
	r := &gapRepair{gaps: res.gaps, leaseDuration: stream.LeaseDuration(cfg), log: o.logger(w)}
	// No progress is shown, because the log has each write.
	streams := cli.Streams{Out: io.Discard, Err: io.Discard, Extensions: exts}
	r.repairDue = func(ctx context.Context, due []state.NotedGap) error {
		return o.repairGaps(ctx, cfg, res, r, due, streams, w)
	}
	return r
}

// repairGaps compares all entries of the sinks with the table, repairs the differences, and stores the result with each
// gap.
func (o *options) repairGaps(ctx context.Context, cfg *config.Config, res *resources, r *gapRepair,
	due []state.NotedGap, streams cli.Streams, w io.Writer) (err error) {
	seen, err := res.table.Read(ctx)
	if err != nil {
		return err
	}
	all := due
	due = slices.DeleteFunc(slices.Clone(all), func(g state.NotedGap) bool {
		return gaps.CheckStopped([]state.NotedGap{g}, seen, "") != nil
	})
	if len(due) == 0 {
		return gaps.CheckStopped(all, seen, o.CommandLine(cfg))
	}
	names := cfg.SinksToRepair()
	check := func(ctx context.Context) error {
		seen, err := res.table.Read(ctx)
		if err == nil {
			err = gaps.CheckStopped(due, seen, o.CommandLine(cfg))
		}
		if err != nil {
			return err
		}
		return gaps.CheckLetters(ctx, &o.Flags, cfg, res.stores, names, w)
	}
	if err := check(ctx); err != nil {
		return err
	}
	r.log.LogAttrs(ctx, slog.LevelWarn, "records were lost: the sinks are compared with the table, and repaired",
		slog.Int("gaps", len(due)))
	job, err := auditor.NewJob(ctx, auditor.JobOptions{
		Flags: o.Flags, Config: cfg, Stores: res.stores, Streams: streams, Sinks: names, WritersRunning: true,
		Segments: run.DefaultSegments, Parts: run.DefaultParts, Rounds: run.DefaultRounds, RCU: o.repairRCU,
		MaxLag: repairMaxLag, ClockSkew: repairClockSkew,
		OnOutcome: func(sink string, f *audit.Finding, done audit.Outcome) { r.logRepair(ctx, sink, f, done) },
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, job.Close()) }()
	done, err := gaps.Repair(ctx, gaps.Job{Config: cfg, Store: res.gaps, Gaps: due, Audit: job, Streams: streams,
		Owner: r.owner, Check: check})
	if err != nil {
		return err
	}
	if done.Gaps > 0 {
		r.log.LogAttrs(ctx, slog.LevelInfo, "sinks were compared with the table after lost records",
			slog.Int("gaps", done.Gaps), slog.String("stage", string(done.Repair.Stage)), slog.Int64("items", done.Repair.Items),
			slog.Int64("differences", done.Repair.Differences), slog.Int64("repaired", done.Repair.Repaired),
			slog.Int64("left", done.Repair.Left))
	}
	return nil
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
