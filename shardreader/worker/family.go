package worker

import (
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// childless is how long a shard that ended is asked for children before it counts
// as having none. The service lists them when it closes the shard, or soon after;
// one that is listed later still is found by the listing of the whole stream.
//
// No more children come to a stream that is disabled, but for those that are listed late.
const (
	childless = 2 * time.Minute
	lateChild = 15 * time.Second
)

// Calls of DescribeStream are few a second. Where more of them wait than a listing of the
// whole stream takes, shards that end share one: thousands end together when a
// stream is disabled, and a call for each would take a quarter of an hour.
const (
	fewCalls   = 8
	listedPage = 100 // shards that a call lists
)

// childSearch is what a shard that ended knows of its children.
type childSearch struct {
	searching bool
	known     bool
	children  []shardreader.Shard
	attempt   int
	since     time.Duration
	creating  bool
	created   bool
}

// reachedEnd is called with the last page of a shard.
func (w *Worker) reachedEnd(p *assignment) {
	// Children wait for this shard: its records should not wait for a batch to fill.
	w.do(Drain{p.name})
	p.childSearch.since = w.now
	w.findChildren(p)
}

// findChildren asks for the children of a shard that ended.
func (w *Worker) findChildren(p *assignment) {
	f := &p.childSearch
	if f.known || f.searching {
		return
	}
	f.searching = true
	if len(w.quota.queue) > max(fewCalls, w.rows.len()/listedPage) {
		w.listForChildren(p)
		return
	}
	q := shardreader.DescribeQuery{StreamARN: p.row.Stream, ChildrenOf: p.row.Shard}
	w.describe(q, p.current, func(d shardreader.StreamDescription, err error) {
		if !p.current() {
			return
		}
		switch found := childrenIn(d.Shards, p.row.Shard); {
		case err == nil && len(found) > 0 && d.After == "":
			w.childrenAre(p, found)
		case errors.Is(err, shardreader.ErrNotFound):
			w.childrenAre(p, nil) // the stream is gone
		case err != nil && transient(err):
			w.findChildrenIn(p, err)
		default:
			w.listForChildren(p)
		}
	})
}

// listForChildren looks through the whole stream: not every server finds children by their
// parent.
func (w *Worker) listForChildren(p *assignment) {
	ended := w.now - p.childSearch.since // before the listing, which may take long
	w.list(p.row.Stream, p.current, func(l *listing, err error) {
		if !p.current() {
			return
		}
		if err != nil {
			if errors.Is(err, shardreader.ErrNotFound) {
				w.childrenAre(p, nil)
				return
			}
			w.findChildrenIn(p, err)
			return
		}
		found := l.children[p.row.Shard]
		switch {
		case len(found) > 0:
			w.childrenAre(p, found)
		case l.status == shardreader.Disabled && ended > lateChild:
			w.childrenAre(p, nil)
		case ended > childless:
			w.tell(slog.LevelWarn, "a shard ended, and no child of it is listed", shardAttr(p.row.Shard))
			w.childrenAre(p, nil)
		default:
			w.findChildrenIn(p, nil)
		}
	})
}

func (w *Worker) findChildrenIn(p *assignment, err error) {
	f := &p.childSearch
	f.searching = false
	after, _ := pipeline.Retryable(err)
	w.after(w.backoff(f.attempt, maxRetry, after), func() {
		if p.current() && !p.draining {
			w.findChildren(p)
		}
	})
	f.attempt++
}

func (w *Worker) childrenAre(p *assignment, children []shardreader.Shard) {
	p.childSearch.known, p.childSearch.children = true, children
	w.save(p)
}

func childrenIn(shards []shardreader.Shard, parent string) []shardreader.Shard {
	var found []shardreader.Shard
	for _, s := range shards {
		if s.Parent == parent {
			found = append(found, s)
		}
	}
	return found
}

// finish ends a shard of which everything is acknowledged: first its children
// have leases, then its own says that it ended. So whoever crashes in between
// leaves nothing that nobody reads.
func (w *Worker) finish(p *assignment) {
	f := &p.childSearch
	switch {
	case !f.known:
		return
	case !f.created:
		if !f.creating && w.aboveParent(p) {
			f.creating = true
			w.createChildren(p)
		}
		return
	}
	r := p.row
	next := p.checkpointed(r.Clone())
	next.Checkpoint = leases.Checkpoint{Kind: leases.ShardEnd}
	next.Children, next.Stopped = nil, ""
	for _, c := range f.children {
		next.Children = append(next.Children, c.ID)
	}
	slices.Sort(next.Children)
	p.due = max(1, w.now)
	next.Owner, next.Wanted, next.Load = "", "", 0
	next.Counter++
	w.swap(r, next, p.current, func(err error) {
		if err != nil {
			w.refused(r, err)
			return
		}
		if p.current() {
			w.close(p)
		}
		w.tell(slog.LevelInfo, "read a shard to its end", shardAttr(r.Shard), slog.Int("children", len(f.children)))
		for _, id := range next.Children {
			if c := w.rows.of(id); c != nil {
				w.tryOpen(c)
			}
		}
		if len(f.children) == 0 {
			w.syncSoon()
		}
	})
}

// aboveParent checks at the hand-over what versions rest on: the sequence numbers of a
// child are above those of its parent.
func (w *Worker) aboveParent(p *assignment) bool {
	if p.pos.Kind != leases.Sequence {
		return true
	}
	for _, c := range p.childSearch.children {
		if c.First != "" && pipeline.CompareSequence(c.First, p.pos.Sequence) <= 0 {
			w.halt(p, StoppedBelow,
				slog.String("child", c.ID), slog.String("start", c.First), slog.String("last", p.pos.Sequence))
			return false
		}
	}
	return true
}

func (w *Worker) createChildren(p *assignment) {
	insist := func() bool { return p.current() && !p.draining }
	left := 1
	failed := false
	one := func(err error) {
		failed = failed || err != nil
		if left--; left > 0 || !p.current() {
			return
		}
		if !failed {
			p.childSearch.created = true
			w.save(p)
			return
		}
		// One may be under way still for a partition of this shard that was taken away.
		p.childSearch.creating = false
		w.after(w.jitter(time.Second), func() {
			if p.current() && !p.draining {
				w.save(p)
			}
		})
	}
	for _, c := range p.childSearch.children {
		if w.rows.named(c.ID) {
			continue // a child of it has a lease: it was read
		}
		l := leases.Lease{Shard: c.ID, Stream: p.row.Stream, Parents: []string{p.row.Shard}, First: c.First}
		if !p.started && p.row.Checkpoint.Kind != leases.Latest {
			l.From = p.row.From
		}
		if insist() && w.heartbeatFresh() {
			l.Owner = w.o.Worker
		}
		left++
		w.create(l, insist, one)
	}
	one(nil)
}

// ancestors are the shards that have a descendant with such a lease, by the parents that
// leases name, and those that a listing does where there is one. A lease that cannot be
// read counts as one.
func (w *Worker) ancestors(l *listing, such func(*row) bool) map[string]bool {
	above := make(map[string]bool)
	var up func(shard string)
	up = func(shard string) {
		for ; shard != "" && !above[shard]; shard = l.parent(shard) {
			above[shard] = true
			if r := w.rows.of(shard); r != nil {
				for _, parent := range r.Parents {
					up(parent)
				}
			}
		}
	}
	for _, r := range w.rows.all() {
		if !such(r) {
			continue
		}
		for _, parent := range r.Parents {
			up(parent)
		}
		up(l.parent(r.Shard))
	}
	for shard := range w.broken {
		up(l.parent(shard))
	}
	return above
}

func anyLease(*row) bool { return true }

// movedOn tells whether a lease is not at its start, or never had to wait for the shards
// above it: they were read, or not asked for.
func movedOn(r *row) bool { return r.Checkpoint.Kind != leases.TrimHorizon }

// descendantPast tells whether the lease of a descendant of a shard has moved past
// its start, which happens only when the shard itself was read to its end.
func (w *Worker) descendantPast(shard string) bool {
	return slices.ContainsFunc(w.rows.children[shard], past)
}

func past(r *row) bool {
	return r.Checkpoint.Kind == leases.Sequence || r.Checkpoint.Kind == leases.ShardEnd
}
