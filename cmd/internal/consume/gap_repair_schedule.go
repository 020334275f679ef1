package consume

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/stream"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/state"
)

// The pauses of a gapRepair. firstRepairPause and maxRepairPause are the first and the longest pause after a failed
// repair.
const (
	firstRepairPause = 10 * time.Second
	maxRepairPause   = time.Hour
	maxLeftPause     = 24 * time.Hour // the longest pause after a repair that left differences
)

// gapRepair repairs the damage of gaps in the sinks, while the consumer continues to read (on_gap: repair). Each
// consumer of a pipeline has one. A repair has an owner, whose claim expires. So one consumer repairs, and another one
// takes over if that consumer dies.
type gapRepair struct {
	gaps          state.Gaps
	repairDue     func(ctx context.Context, due []state.NotedGap) error // repairs gaps, and stores the results
	leaseDuration time.Duration                                         // lease time of the pipeline
	log           *slog.Logger
	owner         string // id of this consumer, which owns its repairs

	unrepaired atomic.Int64 // number of unrepaired gaps when they were last read
}

// run looks for gaps and repairs them until ctx is done. After an error it tries again.
func (r *gapRepair) run(ctx context.Context) {
	defer r.countRemaining(ctx)
	failures := 0
	for ctx.Err() == nil {
		err := r.findAndRepair(ctx)
		if ctx.Err() != nil {
			return
		}
		pause := r.leaseDuration
		if err == nil {
			failures = 0
		} else {
			backoff := min(firstRepairPause<<min(failures, 20), maxRepairPause)
			pause = max(pause, backoff)
			failures++
			r.log.LogAttrs(ctx, slog.LevelError, "gaps cannot be repaired: it is tried again",
				slog.String("error", redact.LogText(err)), slog.Duration("pause", pause))
		}
		_ = pipeline.Sleep(ctx, pause)
	}
}

// findAndRepair repairs the gaps whose repair can begin, and counts the remaining ones.
func (r *gapRepair) findAndRepair(ctx context.Context) error {
	due, err := r.findDue(ctx)
	if err != nil || len(due) == 0 {
		return err
	}
	if err := r.repairDue(ctx, due); err != nil {
		return err
	}
	_, err = r.findDue(ctx)
	return err
}

// countRemaining counts the remaining gaps after ctx is done. If that fails, the earlier count stays.
func (r *gapRepair) countRemaining(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTimeout)
	defer cancel()
	_, _ = r.findDue(ctx)
}

// findDue counts the unrepaired gaps, and returns the gaps whose repair can begin. A gap is too new until one lease
// time after it was found. During that time the former reader of its shard may still write records that it read
// earlier.
//
// While a gap is too new, the other gaps wait, too. An outage causes gaps in many shards within moments, and one audit
// repairs all of them. The wait ends when one of the other gaps is two lease times old.
func (r *gapRepair) findDue(ctx context.Context) (due []state.NotedGap, err error) {
	noted, err := stream.Collect(r.gaps.Gaps(ctx))
	if err != nil {
		return nil, fmt.Errorf("gaps: %w", err)
	}
	isRepaired := func(g state.NotedGap) bool { return g.Repair.Stage == state.GapRepaired }
	unrepaired := slices.DeleteFunc(noted, isRepaired)
	r.unrepaired.Store(int64(len(unrepaired)))

	now := time.Now()
	isTooNew := func(g state.NotedGap) bool { return now.Sub(g.Found) < r.leaseDuration }
	isLate := func(g state.NotedGap) bool { return now.Sub(g.Found) >= 2*r.leaseDuration }
	for _, g := range unrepaired {
		if !isTooNew(g) && r.isDue(g, now) {
			due = append(due, g)
		}
	}
	waits := slices.ContainsFunc(unrepaired, isTooNew) && !slices.ContainsFunc(due, isLate)
	if waits {
		return nil, nil
	}
	return due, nil
}

// isDue reports whether the repair of a gap that is not too new can begin. It cannot begin while another repair owns
// the gap. A repair that left differences is repeated, also if another consumer made it. The pauses before the
// repetitions grow with the age of the gap.
func (r *gapRepair) isDue(g state.NotedGap, now time.Time) bool {
	isOwned := g.Repair.Owner != "" && now.Before(g.Repair.Expires)
	if isOwned {
		return false
	}
	leftDifferences := g.Repair.Stage == state.GapOpen && g.Repair.Run != ""
	if !leftDifferences {
		return true
	}
	ageAtRepair := g.Repair.At.Sub(g.Found)
	pause := min(max(ageAtRepair/2, firstRepairPause), maxLeftPause)
	return !now.Before(g.Repair.At.Add(pause))
}

// printRepairCommand prints the command that repairs the remaining gaps.
func (r *gapRepair) printRepairCommand(w io.Writer, command string) {
	if n := r.unrepaired.Load(); n > 0 {
		fmt.Fprintf(w, "%s not repaired yet: the next consumer continues with that, or `tablewake gaps %s --repair --audit`\n",
			cli.Count(n, "gap"), command)
	}
}
