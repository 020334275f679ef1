package coordinator

import (
	"slices"
	"time"

	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// plan holds the changes that leaseSync makes after a listing of a stream.
type plan struct {
	create []leases.Lease // missing leases of shards before which no records are lost
	// belowParent are the shards without a lease, whose sequence numbers are not above those of their parents
	belowParent []shardreader.Shard
	unknownGap  []leases.Lease // missing leases of shards before which records may be lost
	// unreadAncestors are the shards without a lease that have a descendant with a lease. They may not have been read
	// to their ends
	unreadAncestors []shardreader.Shard
	remove          []*row // ended leases that are no longer needed
	drained         bool   // every shard of the stream was read to its end, and the stream gets no new shards
}

// unleasedShards returns the shards that have no lease and should have one.
func (p plan) unleasedShards() (shards []string) {
	for _, l := range slices.Concat(p.create, p.unknownGap) {
		shards = append(shards, l.Shard)
	}
	for _, s := range p.belowParent {
		shards = append(shards, s.ID)
	}
	return shards
}

// endedLeaseTimes is the number of lease times (Options.Lease) for which an ended lease is kept. If the lease were
// removed earlier, a late call could create it again. No call takes that long.
const endedLeaseTimes = 10

// planLeases compares the leases with a listing, and returns the changes to make.
//
// It creates leases for shards whose parent was read to its end, and for the oldest shards of a lineage without leases.
// It creates no lease for an ancestor of a shard with a lease.
//
// If unbegun is true, the stream was not begun, and reading starts with the shards whose parent is not listed. Records
// before a shard whose parent is not listed may be lost in each of these cases:
//   - The stream was begun.
//   - The stream follows a stream that was read, so that all of its records should be read.
//   - A lease that has not ended belongs to an unlisted shard, which may be an ancestor.
//   - Reading starts at a time at which the unlisted parent was still open.
func (c *Coordinator) planLeases(arn string, l *listing, unbegun bool, start Start) plan {
	pl := planner{c: c, listing: l, unbegun: unbegun, start: start, ancestors: c.ancestors(l, anyLease),
		ancestorsOfMoved: c.ancestors(l, movedOn)}
	pl.unendedUnlisted = unbegun && c.table.rows.any(func(r *row) bool {
		return r.Stream == arn && !r.Ended() && !l.has(r.Shard)
	})
	if unbegun {
		for id := range start.Sequences {
			l.markAncestors(id, pl.ancestors)
		}
	}
	for _, s := range l.shards {
		switch {
		case c.table.rows.byID(s.ID) != nil, c.table.broken[s.ID], c.table.broken[s.Parent]:
		case !pl.ancestors[s.ID]:
			pl.planUnleased(arn, s)
		case !unbegun && !pl.ancestorsOfMoved[s.ID]:
			pl.plan.unreadAncestors = append(pl.plan.unreadAncestors, s)
		}
	}
	pl.planEnded(arn)
	return pl.plan
}

// planner makes a plan.
type planner struct {
	c                *Coordinator
	listing          *listing
	unbegun          bool
	start            Start
	ancestors        map[string]bool // shards that have a descendant with a lease
	ancestorsOfMoved map[string]bool // shards that have a descendant whose lease moved on (movedOn)
	// unendedUnlisted: a lease that has not ended belongs to an unlisted shard, whose descendants may be unknown
	unendedUnlisted bool
	plan            plan
}

// planUnleased adds a shard to the plan. The shard has no lease, and no descendant with a lease.
func (pl *planner) planUnleased(arn string, s shardreader.Shard) {
	lease := leases.Lease{Shard: s.ID, Stream: arn, First: s.First}
	if s.Parent != "" {
		lease.Parents = []string{s.Parent}
	}
	parent := pl.c.table.rows.byID(s.Parent)
	switch at := pl.start.Sequences[s.ID]; {
	case pl.unbegun && at != "":
		lease.First = at // if the stream dropped records from this number on, they are a gap
		lease.Checkpoint.Kind = leases.AtTime
		pl.create(lease)
	case !pl.listing.aboveParent(s):
		pl.plan.belowParent = append(pl.plan.belowParent, s)
	case parent != nil && parent.Ended():
		pl.create(inheritStart(lease, parent))
	case parent != nil: // the owner of the parent's lease creates the lease
	case pl.unbegun && pl.start.Latest && (len(pl.listing.children[s.ID]) > 0 || pl.c.hasLeasedAncestor(pl.listing, s.ID)):
	case pl.unbegun && pl.start.Latest && !pl.mayFollowUnended(s):
		pl.create(startLease(lease, pl.start))
	case pl.unbegun && pl.start.Latest:
		pl.plan.unknownGap = append(pl.plan.unknownGap, lease)
	case pl.listing.has(s.Parent) && pl.ancestors[s.Parent]:
		pl.create(lease) // the parent was read and its lease removed; the child was listed late
	case pl.listing.has(s.Parent): // the parent is read first
	case pl.unbegun && pl.startsInParent(s):
		pl.plan.unknownGap = append(pl.plan.unknownGap, startLease(lease, pl.start))
	case pl.unbegun && !pl.mayFollowUnended(s) && (s.Parent == "" || !pl.start.following):
		pl.create(startLease(lease, pl.start))
	case s.Parent == "":
		pl.create(lease)
	default:
		pl.plan.unknownGap = append(pl.plan.unknownGap, lease)
	}
}

// mayFollowUnended reports whether a shard may descend from a shard whose lease has not ended. The shards between the
// two are no longer listed.
func (pl *planner) mayFollowUnended(s shardreader.Shard) bool {
	for pl.listing.has(s.Parent) {
		s = pl.listing.shard(s.Parent)
	}
	return pl.unendedUnlisted && s.Parent != ""
}

// startsInParent reports whether reading starts at a time before s was created. The parent of s is no longer listed, so
// the parent's records from the start time on are lost. The oldest shards of a listing have unlisted parents, but most
// of these shards are older than the start time.
func (pl *planner) startsInParent(s shardreader.Shard) bool {
	created, ok := shardreader.ShardTime(s.ID)
	return ok && s.Parent != "" && !pl.start.Time.IsZero() && created.After(pl.start.Time)
}

func (pl *planner) create(l leases.Lease) { pl.plan.create = append(pl.plan.create, l) }

// planEnded decides whether the stream was read to its end, and which leases are no longer needed.
func (pl *planner) planEnded(arn string) {
	c, p := pl.c, &pl.plan
	p.drained = pl.listing.status == shardreader.Disabled && len(p.create) == 0 && len(p.unknownGap) == 0 &&
		len(p.belowParent) == 0
	for _, s := range pl.listing.shards {
		r := c.table.rows.byID(s.ID)
		p.drained = p.drained && !c.table.broken[s.ID] && (pl.ancestors[s.ID] || r != nil && r.Ended())
	}
	for _, r := range c.table.rows.all() {
		if r.Stream != arn {
			continue
		}
		p.drained = p.drained && r.Ended()
		isUnowned := !r.busy && (r.Owner == "" || c.table.consumers[r.Owner] == nil)
		isOld := c.now-r.unchangedSince > endedLeaseTimes*c.o.Lease
		if r.Ended() && isUnowned && isOld && pl.isUnneeded(r) {
			p.remove = append(p.remove, r)
		}
	}
}

// hasLeasedAncestor reports whether an ancestor of a shard has a lease. The shard is read after that ancestor.
func (c *Coordinator) hasLeasedAncestor(l *listing, shard string) bool {
	for shard = l.parent(shard); shard != ""; shard = l.parent(shard) {
		if c.table.rows.byID(shard) != nil {
			return true
		}
	}
	return false
}

// startLease returns l as the lease of a shard with which the reading of a stream starts. Records that the stream
// dropped before are not a gap, unless they were created at the start time or later. If the stream follows a stream
// that was read, all of its records should be read, and startLease returns l unchanged.
func startLease(l leases.Lease, start Start) leases.Lease {
	switch {
	case start.following:
		return l
	case start.Latest:
		l.Checkpoint.Kind = leases.Latest
		l.From = second(start.Time)
	case !start.Time.IsZero():
		l.Checkpoint.Kind = leases.AtTime
		l.From = second(start.Time)
		return l
	}
	l.First = ""
	return l
}

// inheritStart returns l with the parent's start time, if the parent's last record is older than that time or is
// unknown.
func inheritStart(l leases.Lease, parent *row) leases.Lease {
	if !parent.From.IsZero() && (parent.Time.IsZero() || parent.Time.Before(parent.From)) {
		l.From = parent.From
	}
	return l
}

func second(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC().Truncate(time.Second)
}

// isUnneeded reports whether an ended lease may be removed. The leases of its children must have moved past their
// starts, or must not be needed. If no child is known, the shard must no longer be listed.
//
// A child may be known from its own lease alone: another consumer made that lease from an older listing.
func (pl *planner) isUnneeded(r *row) bool {
	rows := pl.c.table.rows
	children := slices.Clone(r.Children)
	for _, child := range pl.listing.children[r.Shard] {
		children = append(children, child.ID)
	}
	for _, child := range rows.children[r.Shard] {
		children = append(children, child.Shard)
	}
	if len(children) == 0 {
		return !pl.listing.has(r.Shard)
	}
	return !slices.ContainsFunc(children, func(id string) bool {
		child := rows.byID(id)
		return child != nil && !wasRead(child) || child == nil && !pl.ancestors[id] && pl.listing.has(id)
	})
}

// ancestors returns the shards that have a descendant with a lease for which matches is true, or with a damaged row.
// Parents are known from leases and, if l is not nil, from the listing.
func (c *Coordinator) ancestors(l *listing, matches func(*row) bool) map[string]bool {
	found := make(map[string]bool)
	var up func(shard string)
	up = func(shard string) {
		for ; shard != "" && !found[shard]; shard = l.parent(shard) {
			found[shard] = true
			if r := c.table.rows.byID(shard); r != nil {
				for _, parent := range r.Parents {
					up(parent)
				}
			}
		}
	}
	for _, r := range c.table.rows.all() {
		if !matches(r) {
			continue
		}
		for _, parent := range r.Parents {
			up(parent)
		}
		up(l.parent(r.Shard))
	}
	for shard := range c.table.broken {
		up(l.parent(shard))
	}
	return found
}

func anyLease(*row) bool { return true }

// movedOn reports whether the ancestors of a lease's shard need not be read. That is true if the lease is past the
// start of the shard, or begins at LATEST or at a time.
func movedOn(r *row) bool { return r.Checkpoint.Kind != leases.TrimHorizon }

// descendantWasRead reports whether the lease of a child of a shard has moved past its start. That happens only after
// the shard itself was read to its end.
func (c *Coordinator) descendantWasRead(shard string) bool {
	return slices.ContainsFunc(c.table.rows.children[shard], wasRead)
}

func wasRead(r *row) bool {
	return r.Checkpoint.Kind == leases.Sequence || r.Checkpoint.Kind == leases.ShardEnd
}
