package consume

import (
	"context"
	"fmt"
	"io"
	"log/slog"
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
		due, err := r.findDue(ctx)
		if err == nil && len(due) > 0 {
			if err = r.repairDue(ctx, due); err == nil {
				_, err = r.findDue(ctx)
			}
		}
		pause := r.leaseDuration
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			pause = max(pause, min(firstRepairPause<<min(failures, 20), maxRepairPause))
			failures++
			r.log.LogAttrs(ctx, slog.LevelError, "gaps cannot be repaired: it is tried again",
				slog.String("error", redact.LogText(err)), slog.Duration("pause", pause))
		default:
			failures = 0
		}
		_ = pipeline.Sleep(ctx, pause)
	}
}

// countRemaining counts the remaining gaps after ctx is done. If that fails, the earlier count stays.
func (r *gapRepair) countRemaining(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTimeout)
	defer cancel()
	_, _ = r.findDue(ctx)
}

// findDue counts the unrepaired gaps, and returns the gaps whose repair can begin. A gap is too new for one lease time,
// because its former reader may still write records that it read before.
//
// While a gap is too new, the other gaps wait, too. An outage causes gaps in many shards within moments, and one audit
// repairs all of them. The wait ends when one of the other gaps is two lease times old.
func (r *gapRepair) findDue(ctx context.Context) (due []state.NotedGap, err error) {
	noted, err := stream.Collect(r.gaps.Gaps(ctx))
	if err != nil {
		return nil, fmt.Errorf("gaps: %w", err)
	}
	now, unrepaired := time.Now(), int64(0)
	tooNew, late := false, false
	for _, g := range noted {
		if g.Repair.Stage == state.GapRepaired {
			continue
		}
		unrepaired++
		switch age := now.Sub(g.Found); {
		case age < r.leaseDuration:
			tooNew = true
		case r.isDue(g, now):
			due = append(due, g)
			late = late || age >= 2*r.leaseDuration
		}
	}
	r.unrepaired.Store(unrepaired)
	if tooNew && !late {
		return nil, nil
	}
	return due, nil
}

// isDue reports whether the repair of a gap that is not too new can begin. It cannot begin while another repair owns
// the gap. A repair that left differences is repeated, whichever consumer made it, after pauses that grow with the age
// of the gap.
func (r *gapRepair) isDue(g state.NotedGap, now time.Time) bool {
	switch rep := g.Repair; {
	case rep.Owner != "" && now.Before(rep.Expires):
		return false
	case rep.Stage == state.GapOpen && rep.Run != "":
		pause := min(max(rep.At.Sub(g.Found)/2, firstRepairPause), maxLeftPause)
		return !now.Before(rep.At.Add(pause))
	}
	return true
}

// unrepairedCounter returns the function that counts the unrepaired gaps, or nil if r is nil.
func (r *gapRepair) unrepairedCounter() func() int64 {
	if r == nil {
		return nil
	}
	return r.unrepaired.Load
}

// printRepairCommand prints the command that repairs the remaining gaps.
func (r *gapRepair) printRepairCommand(w io.Writer, command string) {
	if n := r.unrepaired.Load(); n > 0 {
		fmt.Fprintf(w, "%s not repaired yet: the next consumer goes on with that, or `tablewake gaps %s --repair --audit`\n",
			cli.Count(n, "gap"), command)
	}
}
