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
	owner    string        // owner of the repairs, as status shows it
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

func (s *stepProgress) current() (done, total int64, since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done, s.total, s.since
}

// takeOwnership takes the repair of gaps. It skips gaps that another process repairs, and gaps that changed meanwhile.
func takeOwnership(
	ctx context.Context, store state.Gaps, gaps []state.NotedGap, owner string, lasts time.Duration,
) (*ownership, error) {
	c := &ownership{store: store, runID: rand.Text(), owner: owner, duration: lasts}
	for _, g := range gaps {
		if g.Repair.Stage == state.GapRepairing && time.Now().Before(g.Repair.Expires) {
			continue
		}
		r := g.Repair
		r.Stage, r.Run = state.GapRepairing, c.runID
		if now, ok, err := c.storeRepair(ctx, g, r); err != nil {
			ending, stop := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
			defer stop()
			_, releaseErr := c.release(ending)
			return nil, errors.Join(err, releaseErr)
		} else if ok {
			c.gaps = append(c.gaps, now)
		}
	}
	return c, nil
}

// storeRepair stores a repair of this process, and returns the stored gap. It returns false if the gap grew, or if
// another process owns its repair.
func (c *ownership) storeRepair(
	ctx context.Context, g state.NotedGap, r state.GapRepair,
) (state.NotedGap, bool, error) {
	now := time.Now().UTC()
	r.Owner, r.Expires, r.At, r.Version = "", time.Time{}, now, g.Repair.Version
	r.Done, r.Total, r.Since = 0, 0, time.Time{}
	if r.Stage == state.GapRepairing {
		r.Done, r.Total, r.Since = c.step.current()
		r.Owner, r.Expires = cmp.Or(c.owner, c.runID), now.Add(c.duration)
	}
	for {
		ok, err := c.store.SetGapRepair(ctx, g.Gap, r)
		if ok || err != nil {
			r.Version++
			g.Repair = r
			return g, ok, err
		}
		// More may have become known about the gap without making it larger. Then this process still owns its repair.
		stored, err := c.findGap(ctx, g.Gap)
		if err != nil || stored.Repair.Run != c.runID || stored.Repair.Version == r.Version {
			return g, false, err
		}
		g, r.Version = stored, stored.Repair.Version
	}
}

// findGap returns the stored gap that begins where of begins, or a zero gap if there is none.
func (c *ownership) findGap(ctx context.Context, gap record.Gap) (state.NotedGap, error) {
	for g, err := range c.store.Gaps(ctx) {
		if err != nil || g.StreamARN == gap.StreamARN && g.Shard == gap.Shard && g.After == gap.After {
			return g, err
		}
	}
	return state.NotedGap{}, nil
}

// renewUntilDone renews the ownership until ctx ends. It calls cancel if this process owns no gap any more.
func (c *ownership) renewUntilDone(ctx context.Context, cancel context.CancelCauseFunc) {
	for pipeline.Sleep(ctx, c.duration/3) == nil {
		if c.renew(ctx); len(c.ownedGaps()) == 0 {
			cancel(errNotOwner)
			return
		}
	}
}

// renew renews the ownership of each gap. It drops a gap that grew, or that another process owns. After an error it
// keeps the gap. The ownership may have expired by then, and the next renewal shows whether another process took the
// gap over.
func (c *ownership) renew(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var kept []state.NotedGap
	for _, g := range c.gaps {
		now, ok, err := c.storeRepair(ctx, g, g.Repair)
		switch {
		case ok:
			kept = append(kept, now)
		case err != nil:
			kept = append(kept, g)
		}
	}
	c.gaps = kept
}

// ownedGaps returns the gaps that the process still owns.
func (c *ownership) ownedGaps() []state.NotedGap {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.gaps)
}

// release ends the ownership without a result, so that another repair of the gaps can begin at once. It returns the
// number of released gaps.
func (c *ownership) release(ctx context.Context) (int, error) {
	return c.finish(ctx, func(was state.GapRepair) state.GapRepair {
		was.Stage, was.Run = state.GapOpen, ""
		return was
	})
}

// finish stores the result, and ends the ownership. It returns the number of gaps that got the result.
func (c *ownership) finish(ctx context.Context, result func(was state.GapRepair) state.GapRepair) (int, error) {
	var failed []error
	n := 0
	for _, g := range c.ownedGaps() {
		_, ok, err := c.storeRepair(ctx, g, result(g.Repair))
		failed = append(failed, err)
		if ok {
			n++
		}
	}
	return n, errors.Join(failed...)
}
