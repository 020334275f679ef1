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

// claimTime is how long a claim on a gap lasts without a renewal.
const claimTime = time.Minute

// errNoClaim ends a repair that has lost all of its gaps.
var errNoClaim = errs.New("all gaps grew, or another process took their repair over: begin again")

// claims are the gaps that a process repairs. A gap that grows, or that another process takes over, is dropped.
type claims struct {
	store state.Gaps
	run   string
	owner string        // as status shows it
	lasts time.Duration // a claim without a renewal

	mu   sync.Mutex
	gaps []state.NotedGap // as stored
}

// claim claims gaps. It leaves out those that another process repairs, and those that changed meanwhile.
func claim(ctx context.Context, store state.Gaps, gaps []state.NotedGap, owner string, lasts time.Duration) (*claims, error) {
	c := &claims{store: store, run: rand.Text(), owner: owner, lasts: lasts}
	for _, g := range gaps {
		if g.Repair.Stage == state.GapRepairing && time.Now().Before(g.Repair.Expires) {
			continue
		}
		r := g.Repair
		r.Stage, r.Run = state.GapRepairing, c.run
		if now, ok, err := c.set(ctx, g, r); err != nil {
			ending, stop := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
			defer stop()
			_, freed := c.release(ending)
			return nil, errors.Join(err, freed)
		} else if ok {
			c.gaps = append(c.gaps, now)
		}
	}
	return c, nil
}

// set stores a repair as this process's, and returns the gap as it is stored then.
func (c *claims) set(ctx context.Context, g state.NotedGap, r state.GapRepair) (state.NotedGap, bool, error) {
	now := time.Now().UTC()
	r.Owner, r.Expires, r.At, r.Version = "", time.Time{}, now, g.Repair.Version
	if r.Stage == state.GapRepairing {
		r.Owner, r.Expires = cmp.Or(c.owner, c.run), now.Add(c.lasts)
	}
	for {
		ok, err := c.store.SetGapRepair(ctx, g.Gap, r)
		if ok || err != nil {
			r.Version++
			g.Repair = r
			return g, ok, err
		}
		// More may have become known of the gap, without making it larger: then the claim on it is still there.
		stored, err := c.find(ctx, g.Gap)
		if err != nil || stored.Repair.Run != c.run || stored.Repair.Version == r.Version {
			return g, false, err
		}
		g, r.Version = stored, stored.Repair.Version
	}
}

// find reads a gap.
func (c *claims) find(ctx context.Context, of record.Gap) (state.NotedGap, error) {
	for g, err := range c.store.Gaps(ctx) {
		if err != nil || g.StreamARN == of.StreamARN && g.Shard == of.Shard && g.After == of.After {
			return g, err
		}
	}
	return state.NotedGap{}, nil
}

// keep renews the claims until ctx ends. It calls cancel if none is left.
func (c *claims) keep(ctx context.Context, cancel context.CancelCauseFunc) {
	for pipeline.Sleep(ctx, c.lasts/3) == nil {
		if c.renew(ctx); len(c.held()) == 0 {
			cancel(errNoClaim)
			return
		}
	}
}

// renew renews each claim. A claim is dropped if the gap grew, or if another process has it. After an error it is kept: it
// may have expired, and then the next renewal tells whether somebody took it over.
func (c *claims) renew(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var kept []state.NotedGap
	for _, g := range c.gaps {
		now, ok, err := c.set(ctx, g, g.Repair)
		switch {
		case ok:
			kept = append(kept, now)
		case err != nil:
			kept = append(kept, g)
		}
	}
	c.gaps = kept
}

// held returns the gaps that are still claimed.
func (c *claims) held() []state.NotedGap {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.gaps)
}

// release ends the claims without a result: the repair of the gaps can begin at once.
func (c *claims) release(ctx context.Context) (int, error) {
	return c.finish(ctx, func(was state.GapRepair) state.GapRepair {
		was.Stage, was.Run = state.GapOpen, ""
		return was
	})
}

// finish stores what was done, and ends the claims. It returns how many gaps took it.
func (c *claims) finish(ctx context.Context, result func(was state.GapRepair) state.GapRepair) (int, error) {
	var failed []error
	n := 0
	for _, g := range c.held() {
		_, ok, err := c.set(ctx, g, result(g.Repair))
		failed = append(failed, err)
		if ok {
			n++
		}
	}
	return n, errors.Join(failed...)
}
