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

// The pauses of a repair that failed: they grow from the first to the second.
const (
	firstRepairPause = 10 * time.Second
	maxRepairPause   = time.Hour
	maxLeftPause     = 24 * time.Hour // after a repair that left something
)

// gapRepair repairs what gaps left in the sinks, while the consumer reads on (on_gap: repair). Each consumer of a pipeline
// has one. A repair has an owner that expires, so one of them works, and another takes over if it dies.
type gapRepair struct {
	gaps  state.Gaps
	do    func(ctx context.Context, due []state.NotedGap) error // repairs gaps, and stores what was done
	lease time.Duration                                         // of the pipeline's leases
	log   *slog.Logger
	owner string // of the repairs: the consumer

	unrepaired atomic.Int64 // gaps that were not repaired at the last look
}

// run looks for gaps and repairs them until ctx is done. An error ends nothing: it is tried again.
func (r *gapRepair) run(ctx context.Context) {
	defer r.lastLook(ctx)
	failures := 0
	for ctx.Err() == nil {
		due, err := r.look(ctx)
		if err == nil && len(due) > 0 {
			if err = r.do(ctx, due); err == nil {
				_, err = r.look(ctx)
			}
		}
		pause := r.lease
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			pause = max(pause, min(firstRepairPause<<min(failures, 20), maxRepairPause))
			failures++
			r.log.LogAttrs(ctx, slog.LevelError, "gaps cannot be repaired: it is tried again", slog.String("error", redact.LogText(err)), slog.Duration("pause", pause))
		default:
			failures = 0
		}
		_ = pipeline.Sleep(ctx, pause)
	}
}

// lastLook counts what is left, after ctx is done. If that fails, the count is that of the look before.
func (r *gapRepair) lastLook(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTimeout)
	defer cancel()
	_, _ = r.look(ctx)
}

// look counts the gaps that are not repaired, and returns those whose repair can begin. An outage leaves gaps in many shards
// within moments, and one audit repairs them all: while a gap is too new, those found less than a lease before it wait. A gap
// is too new for the duration of a lease: its former reader may still write what it read before.
func (r *gapRepair) look(ctx context.Context) (due []state.NotedGap, err error) {
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
		case age < r.lease:
			tooNew = true
		case r.isDue(g, now):
			due = append(due, g)
			late = late || age >= 2*r.lease
		}
	}
	r.unrepaired.Store(unrepaired)
	if tooNew && !late {
		return nil, nil
	}
	return due, nil
}

// isDue reports whether the repair of a gap that is not too new can begin. A repair that left something is repeated after
// pauses that grow with the age of the gap, whichever consumer made it.
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

// count returns the function that counts the gaps that are not repaired; nil for a nil gapRepair.
func (r *gapRepair) count() func() int64 {
	if r == nil {
		return nil
	}
	return r.unrepaired.Load
}

// writeLeft says which command repairs what the consumer left.
func (r *gapRepair) writeLeft(w io.Writer, command string) {
	if n := r.unrepaired.Load(); n > 0 {
		fmt.Fprintf(w, "%s not repaired yet: the next consumer goes on with that, or `tablewake gaps %s --repair --audit`\n", cli.Count(n, "gap"), command)
	}
}
