package gaps

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// ownershipDuration is the time for which a process owns the repair of a gap without a renewal.
const ownershipDuration = time.Minute

// errNotOwner ends a repair that has lost all of its gaps.
var errNotOwner = errs.New("all gaps grew, or another process took their repair over: begin again")

// ownership holds the gaps whose repair a process owns. It drops a gap that grows, or that another process takes over.
type ownership struct {
	store    state.Gaps
	runID    string
	owner    string        // owner of the repairs, as status shows it. Default: runID
	duration time.Duration // time that an ownership lasts without a renewal
	step     stepProgress

	mu   sync.Mutex
	gaps []state.NotedGap // as stored
}

// stepProgress is the progress of a repair's present step: a pass over the items, over the entries of the sinks, or
// over the differences.
type stepProgress struct {
	mu          sync.Mutex
	done, total int64
	since       time.Time
}

// update notes the progress of the step. If done is smaller than before, the next step has begun.
func (s *stepProgress) update(done, total int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since.IsZero() || done < s.done {
		s.since = time.Now().UTC()
	}
	s.done, s.total = done, total
}

// copyTo sets the progress of the step in a repair.
func (s *stepProgress) copyTo(r *state.GapRepair) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Done, r.Total, r.Since = s.done, s.total, s.since
}

// takeOwnership takes the repair of gaps. It skips gaps that another process repairs, and gaps that changed meanwhile.
func takeOwnership(
	ctx context.Context, store state.Gaps, gaps []state.NotedGap, owner string, duration time.Duration,
) (*ownership, error) {
	o := &ownership{store: store, runID: rand.Text(), owner: owner, duration: duration}
	for _, g := range gaps {
		ownedByOther := g.Repair.Stage == state.GapRepairing && time.Now().Before(g.Repair.Expires)
		if ownedByOther {
			continue
		}
		repair := g.Repair
		repair.Stage, repair.Run = state.GapRepairing, o.runID
		owned, ok, err := o.storeRepair(ctx, g, repair)
		if err != nil {
			ending, stop := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
			defer stop()
			return nil, errors.Join(err, o.release(ending))
		}
		if ok {
			o.gaps = append(o.gaps, owned)
		}
	}
	return o, nil
}

// storeRepair stores a repair of this process, and returns the gap with the stored repair. owned is false, and nothing
// is stored, if the gap grew, or if another process owns its repair.
func (o *ownership) storeRepair(
	ctx context.Context, g state.NotedGap, r state.GapRepair,
) (_ state.NotedGap, owned bool, err error) {
	o.setProgress(&r)
	r.Version = g.Repair.Version
	for {
		isStored, err := o.store.SetGapRepair(ctx, g.Gap, r)
		if err != nil {
			return g, false, err
		}
		if isStored {
			r.Version++ // SetGapRepair stores the next version
			g.Repair = r
			return g, true, nil
		}

		// The stored repair has another version. If it is still of this run, only more became known about the gap: try again
		// with that version.
		current, err := o.findGap(ctx, g.Gap)
		if err != nil {
			return g, false, err
		}
		stillOwned := current.Repair.Run == o.runID && current.Repair.Version != r.Version
		if !stillOwned {
			return g, false, nil
		}
		g, r.Version = current, current.Repair.Version
	}
}

// setProgress sets the present time in a repair. If the repair is going on, it also sets the owner and the progress;
// otherwise it clears them.
func (o *ownership) setProgress(r *state.GapRepair) {
	r.At = time.Now().UTC()
	r.Owner, r.Expires = "", time.Time{}
	r.Done, r.Total, r.Since = 0, 0, time.Time{}
	if r.Stage == state.GapRepairing {
		r.Owner, r.Expires = cmp.Or(o.owner, o.runID), r.At.Add(o.duration)
		o.step.copyTo(r)
	}
}

// findGap returns the stored gap with the same beginning as gap, or a zero gap if there is none.
func (o *ownership) findGap(ctx context.Context, gap record.Gap) (state.NotedGap, error) {
	for g, err := range o.store.Gaps(ctx) {
		if err != nil {
			return state.NotedGap{}, err
		}
		if g.StreamARN == gap.StreamARN && g.Shard == gap.Shard && g.After == gap.After {
			return g, nil
		}
	}
	return state.NotedGap{}, nil
}

// renewUntilDone renews the ownership until ctx ends. It calls cancel if this process owns no gap any more.
func (o *ownership) renewUntilDone(ctx context.Context, cancel context.CancelCauseFunc) {
	for pipeline.Sleep(ctx, o.duration/3) == nil {
		o.renew(ctx)
		if len(o.ownedGaps()) == 0 {
			cancel(errNotOwner)
			return
		}
	}
}

// renew renews the ownership of each gap. It drops a gap that grew, or that another process owns. After an error it
// keeps the gap. The ownership may have expired by then, and the next renewal shows whether another process took the
// gap over.
func (o *ownership) renew(ctx context.Context) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var kept []state.NotedGap
	for _, g := range o.gaps {
		renewed, ok, err := o.storeRepair(ctx, g, g.Repair)
		switch {
		case err != nil:
			kept = append(kept, g)
		case ok:
			kept = append(kept, renewed)
		}
	}
	o.gaps = kept
}

// ownedGaps returns the gaps that the process still owns.
func (o *ownership) ownedGaps() []state.NotedGap {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.gaps)
}

// release ends the ownership without a result, so that another repair of the gaps can begin at once.
func (o *ownership) release(ctx context.Context) error {
	_, err := o.finish(ctx, func(stored state.GapRepair) state.GapRepair {
		stored.Stage, stored.Run = state.GapOpen, ""
		return stored
	})
	return err
}

// finish ends the ownership. For each gap it calls result with the stored repair, and stores the repair that result
// returns. It returns the number of gaps whose repair was stored.
func (o *ownership) finish(
	ctx context.Context, result func(stored state.GapRepair) state.GapRepair,
) (finished int, err error) {
	var failed []error
	for _, g := range o.ownedGaps() {
		_, ok, err := o.storeRepair(ctx, g, result(g.Repair))
		failed = append(failed, err)
		if ok {
			finished++
		}
	}
	return finished, errors.Join(failed...)
}
