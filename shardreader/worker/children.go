package worker

import (
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// childless is how long the children of an ended shard are searched before it counts as having none. The service lists
// them when it closes the shard, or soon after; leaseSync finds a child that is listed even later. lateChild is the
// same for a disabled stream, whose shards get no new children.
const (
	childless = 2 * time.Minute
	lateChild = 15 * time.Second
)

// DescribeStream allows few calls a second. If more calls wait than a listing of the whole stream takes, ended shards
// share one listing: thousands end together when a stream is disabled, and a call for each would take a quarter of an
// hour.
const (
	fewCalls   = 8
	listedPage = 100 // shards that a call lists
)

// childSearch finds the children of a shard that ended, and makes their leases.
type childSearch struct {
	*assignment
	stage    childStage
	since    time.Duration
	ended    time.Duration // how long before the listing the shard had ended
	tries    tries
	children []shardreader.Shard
	severed  []shardreader.Shard // of the last listing, if the shard is gone
	left     int                 // leases that are being made
	failed   bool                // one of them could not be made
}

// childStage is how far the children of a shard are.
type childStage uint8

const (
	childrenSought  childStage = iota // the search runs
	childrenKnown                     // they have no leases yet
	childrenCreated                   // their leases are being made
	childrenLeased                    // they have leases: the shard's own lease may end
)

// begin requests the children.
func (s *childSearch) begin(w *Worker) {
	if len(w.quota.queue) > max(fewCalls, w.rows.len()/listedPage) {
		s.list(w)
		return
	}
	w.describe(shardreader.DescribeQuery{StreamARN: s.row.Stream, ChildrenOf: s.row.Shard}, s)
}

// described takes in the answer for this shard alone.
func (s *childSearch) described(w *Worker, d shardreader.StreamDescription, err error) {
	found := slices.DeleteFunc(slices.Clone(d.Shards), func(c shardreader.Shard) bool { return c.Parent != s.row.Shard })
	switch {
	case !s.current():
	case err == nil && len(found) > 0 && d.After == "":
		s.found(w, found)
	case errors.Is(err, shardreader.ErrNotFound):
		s.vanish(w) // the stream is gone
	case err != nil && transient(err):
		s.again(w, err)
	default:
		s.list(w)
	}
}

// list lists the whole stream: not every server finds children by their parent.
func (s *childSearch) list(w *Worker) {
	s.ended = w.now - s.since // now: the listing may take long
	w.list(s.row.Stream, s)
}

func (s *childSearch) listed(w *Worker, l *listing, err error) {
	switch shard := s.row.Shard; {
	case errors.Is(err, shardreader.ErrNotFound):
		s.vanish(w)
	case err != nil:
		s.again(w, err)
	case len(l.children[shard]) > 0:
		s.found(w, l.children[shard])
	case s.ended <= lateChild, s.ended <= childless && l.status != shardreader.Disabled:
		s.again(w, nil)
	case !l.has(shard):
		s.severed = w.severedShards(l)
		s.vanish(w)
	case l.status == shardreader.Disabled:
		s.found(w, nil)
	default:
		w.tell(slog.LevelWarn, "a shard ended, and no child of it is listed", shardAttr(shard))
		s.found(w, nil)
	}
}

// vanish handles a shard that is listed no more before its children are known: their records may be lost.
func (s *childSearch) vanish(w *Worker) {
	switch {
	case w.descendantPast(s.row.Shard):
		s.found(w, nil)
	case s.stays():
		w.goneGap(s.assignment)
	}
}

// severedShards are listed shards without a lease whose parent has no lease and is not listed. They may descend from a
// shard that is gone, by way of shards that no consumer has seen.
func (w *Worker) severedShards(l *listing) (severed []shardreader.Shard) {
	above := w.ancestors(l, anyLease)
	for _, c := range l.shards {
		leased := w.rows.of(c.ID) != nil || w.broken[c.ID] || above[c.ID]
		parentKnown := c.Parent == "" || l.has(c.Parent) || w.rows.of(c.Parent) != nil || w.broken[c.Parent]
		if !leased && !parentKnown {
			severed = append(severed, c)
		}
	}
	return severed
}

func (s *childSearch) again(w *Worker, err error) {
	w.after(s.tries.next(w, maxRetry, err), func() {
		if s.stays() {
			s.begin(w)
		}
	})
}

func (s *childSearch) found(w *Worker, children []shardreader.Shard) {
	s.stage, s.children = childrenKnown, children
	w.save(s.assignment)
}

// finish ends a shard whose records are all acknowledged. It makes the leases of the children first, so that a crash
// leaves no shard unread, and then ends the shard's own lease.
func (w *Worker) finish(p *assignment) {
	switch s := p.search; s.stage {
	case childrenKnown:
		if c := s.below(); c != nil {
			w.halt(p, StoppedBelow,
				slog.String("child", c.ID), slog.String("start", c.First), slog.String("last", p.pos.Sequence))
			return
		}
		s.create(w)
	case childrenLeased:
		p.durable.due = max(1, w.now)
		w.write(&leaseWrite{why: saveEnd, row: p.row, next: s.endOf(w.leaseNow(p)), p: p})
	}
}

// endOf is a lease that says that the shard was read to its end.
func (s *childSearch) endOf(l leases.Lease) leases.Lease {
	l.Checkpoint = leases.Checkpoint{Kind: leases.ShardEnd}
	l.Owner, l.RequestedBy, l.Load, l.Stopped, l.Children = "", "", 0, "", nil
	for _, c := range s.children {
		l.Children = append(l.Children, c.ID)
	}
	slices.Sort(l.Children)
	l.Counter++
	return l
}

// endSaved continues after the lease says that the shard was read to its end.
func (w *Worker) endSaved(r *row, p *assignment) {
	if p.current() {
		w.close(p)
	}
	w.tell(slog.LevelInfo, "read a shard to its end", shardAttr(r.Shard), slog.Int("children", len(r.Children)))
	for _, id := range r.Children {
		if c := w.rows.of(id); c != nil {
			w.tryOpen(c)
		}
	}
	if len(r.Children) == 0 {
		w.syncSoon()
	}
}

// below returns a child whose sequence numbers are not above those of the shard, or nil. Versions depend on that order.
func (s *childSearch) below() *shardreader.Shard {
	for i, c := range s.children {
		if s.pos.Kind == leases.Sequence && c.First != "" && record.CompareSequence(c.First, s.pos.Sequence) <= 0 {
			return &s.children[i]
		}
	}
	return nil
}

// create makes the leases of the children.
func (s *childSearch) create(w *Worker) {
	p := s.assignment
	s.stage, s.left, s.failed = childrenCreated, 1, false
	for _, c := range s.children {
		if w.rows.named(c.ID) {
			continue // a child of it has a lease: it was read
		}
		l := leases.Lease{Shard: c.ID, Stream: p.row.Stream, Parents: []string{c.Parent}, First: c.First}
		if !p.start.reached && p.row.Checkpoint.Kind != leases.Latest {
			l.From = p.row.From
		}
		if p.stays() && w.heartbeatFresh() {
			l.Owner = w.o.Worker
		}
		s.left++
		w.create(&leaseWrite{next: l, p: p, by: s})
	}
	s.written(w, nil)
}

// written notes that a child's lease exists, or could not be made.
func (s *childSearch) written(w *Worker, err error) {
	s.failed = s.failed || err != nil
	if s.left--; s.left > 0 || !s.current() {
		return
	}
	if !s.failed {
		s.stage = childrenLeased
		w.save(s.assignment)
		return
	}
	// A write for a former assignment of this shard may still be in flight.
	s.stage = childrenKnown
	w.after(w.jitter(time.Second), func() {
		if s.stays() {
			w.save(s.assignment)
		}
	})
}
