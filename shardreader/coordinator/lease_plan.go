package coordinator

import (
	"slices"
	"time"

	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// leasePlan holds the changes that leaseSync makes after a listing of a stream.
type leasePlan struct {
	create []leases.Lease // missing leases of shards before which no records are lost
	// belowParent has the shards without a lease whose sequence numbers are not above those of their parents
	belowParent    []shardreader.Shard
	createAfterGap []leases.Lease // missing leases of shards before which records may be lost
	// unreadAncestors has the shards without a lease that have a descendant with a lease. It is unknown whether they
	// were read to their ends
	unreadAncestors []shardreader.Shard
	remove          []*row // ended leases that are no longer needed
	fullyRead       bool   // every shard of the stream was read to its end, and the stream gets no new shards
}

// unleasedShards returns the shards that have no lease and should have one.
func (p leasePlan) unleasedShards() (shards []string) {
	for _, l := range slices.Concat(p.create, p.createAfterGap) {
		shards = append(shards, l.Shard)
	}
	for _, s := range p.belowParent {
		shards = append(shards, s.ID)
	}
	return shards
}

// endedLeaseTimes is the number of lease times (Options.Lease) for which an ended lease is kept. A late call could
// create again a lease that was removed earlier; no call takes that long.
const endedLeaseTimes = 10

// planLeases compares the leases with a listing, and returns the changes to make.
//
// The plan has a lease for each shard whose parent was read to its end. Of a shard and its descendants without leases,
// only one gets a lease now: the oldest one listed, or the newest one if reading starts at LATEST. An ancestor of a
// shard with a lease gets none.
//
// If unbegun is true, the stream was not begun, and reading starts with the shards whose parent is not listed. Records
// before a shard whose parent is not listed may be lost in each of these cases:
//   - The stream was begun.
//   - The stream follows a stream that was read, so all records of the stream should be read.
//   - A lease that has not ended belongs to an unlisted shard, which may be an ancestor.
//   - Reading starts at a time at which the unlisted parent was still open.
func (c *Coordinator) planLeases(arn string, l *listing, unbegun bool, start Start) leasePlan {
	pl := planner{c: c, arn: arn, listing: l, unbegun: unbegun, start: start, ancestors: c.ancestors(l, anyLease),
		mayStayUnread: c.ancestors(l, pastTrimHorizon)}
	if unbegun {
		pl.hasUnendedUnlisted = c.table.rows.any(func(r *row) bool {
			return r.Stream == arn && !r.Ended() && !l.has(r.Shard)
		})
		for id := range start.Sequences { // a configured start counts like a lease
			l.markAncestors(id, pl.ancestors)
		}
	}
	for _, s := range l.shards {
		switch {
		case c.hasRow(s.ID) || c.table.damaged[s.Parent]:
		case !pl.ancestors[s.ID]:
			pl.planUnleased(s)
		case !unbegun && !pl.mayStayUnread[s.ID]:
			pl.plan.unreadAncestors = append(pl.plan.unreadAncestors, s)
		}
	}
	rows := slices.DeleteFunc(slices.Clone(c.table.rows.all()), func(r *row) bool { return r.Stream != arn })
	pl.plan.fullyRead = pl.isFullyRead(rows)
	pl.plan.remove = pl.removableLeases(rows)
	return pl.plan
}

// planner makes a leasePlan.
type planner struct {
	c             *Coordinator
	arn           string // the stream
	listing       *listing
	unbegun       bool
	start         Start
	ancestors     map[string]bool // shards that have a descendant with a lease
	mayStayUnread map[string]bool // shards that have a descendant with a lease for which pastTrimHorizon is true
	// hasUnendedUnlisted: a lease that has not ended belongs to an unlisted shard, whose descendants may be unknown
	hasUnendedUnlisted bool
	plan               leasePlan
}

// planUnleased adds a shard to the plan. The shard has no lease, and no descendant with a lease.
func (pl *planner) planUnleased(s shardreader.Shard) {
	lease := leases.Lease{Shard: s.ID, Stream: pl.arn, First: s.First}
	if s.Parent != "" {
		lease.Parents = []string{s.Parent}
	}
	configuredStart := pl.start.Sequences[s.ID]
	parent := pl.c.table.rows.get(s.Parent)
	switch {
	case pl.unbegun && configuredStart != "":
		lease.First = configuredStart // if the stream dropped records from this number on, they are a gap
		lease.Checkpoint.Kind = leases.AtTime
		pl.create(lease)
	case !pl.listing.aboveParent(s):
		pl.plan.belowParent = append(pl.plan.belowParent, s)
	case parent != nil && parent.Ended():
		pl.create(inheritStart(lease, parent))
	case parent == nil:
		pl.planWithoutParent(s, lease)
	default: // the owner of the parent's lease creates the lease of this shard
	}
}

// planWithoutParent adds a shard to the plan whose parent has no lease either, or that has no parent.
func (pl *planner) planWithoutParent(s shardreader.Shard, lease leases.Lease) {
	parentIsListed := pl.listing.has(s.Parent)
	switch {
	case pl.unbegun && pl.start.Latest:
		pl.planAtLatest(s, lease)
	case parentIsListed && pl.ancestors[s.Parent]: // the parent was read, its lease was removed, and s was listed late
		pl.create(lease)
	case parentIsListed: // the parent is read first
	case pl.unbegun:
		pl.planOldest(s, lease)
	case s.Parent == "":
		pl.create(lease)
	default:
		pl.createAfterGap(lease)
	}
}

// planAtLatest plans a shard of a stream that begins at LATEST. The shard's parent has no lease.
func (pl *planner) planAtLatest(s shardreader.Shard, lease leases.Lease) {
	isNewest := len(pl.listing.children[s.ID]) == 0
	switch {
	case !isNewest || pl.c.hasLeasedAncestor(pl.listing, s.ID): // another shard of its lineage is read first, or instead
	case pl.mayFollowUnended(s):
		pl.createAfterGap(lease)
	default:
		pl.create(startLease(lease, pl.start))
	}
}

// planOldest plans a shard with which the reading of a stream begins. The shard's parent has no lease, and is not
// listed.
func (pl *planner) planOldest(s shardreader.Shard, lease leases.Lease) {
	hasParent := s.Parent != ""
	switch {
	case pl.startsInParent(s):
		pl.createAfterGap(startLease(lease, pl.start))
	case pl.mayFollowUnended(s) || hasParent && pl.start.following:
		pl.createAfterGap(lease)
	default:
		pl.create(startLease(lease, pl.start))
	}
}

// mayFollowUnended reports whether a shard may descend from a shard whose lease has not ended. The shards between the
// two are no longer listed.
func (pl *planner) mayFollowUnended(s shardreader.Shard) bool {
	oldest := s
	for pl.listing.has(oldest.Parent) {
		oldest = pl.listing.shard(oldest.Parent)
	}
	return pl.hasUnendedUnlisted && oldest.Parent != ""
}

// startsInParent reports whether reading starts at a time before s was created. The parent of s is no longer listed, so
// the parent's records from the start time on are lost. The oldest shards of a listing have unlisted parents, but most
// of these shards are older than the start time.
func (pl *planner) startsInParent(s shardreader.Shard) bool {
	created, ok := shardreader.ShardTime(s.ID)
	return ok && s.Parent != "" && !pl.start.Time.IsZero() && created.After(pl.start.Time)
}

func (pl *planner) create(l leases.Lease) { pl.plan.create = append(pl.plan.create, l) }

func (pl *planner) createAfterGap(l leases.Lease) {
	pl.plan.createAfterGap = append(pl.plan.createAfterGap, l)
}

// isFullyRead reports whether the stream was read to its end, and gets no new shards. rows are the leases of the
// stream.
func (pl *planner) isFullyRead(rows []*row) bool {
	if pl.listing.status != shardreader.Disabled || len(pl.plan.unleasedShards()) > 0 {
		return false
	}
	for _, s := range pl.listing.shards {
		r := pl.c.table.rows.get(s.ID)
		isRead := pl.ancestors[s.ID] || r != nil && r.Ended()
		if pl.c.table.damaged[s.ID] || !isRead {
			return false
		}
	}
	return !slices.ContainsFunc(rows, func(r *row) bool { return !r.Ended() })
}

// removableLeases returns the ended leases that are no longer needed. rows are the leases of the stream.
func (pl *planner) removableLeases(rows []*row) (removable []*row) {
	c := pl.c
	for _, r := range rows {
		isUnowned := !r.busy && (r.Owner == "" || c.table.consumers[r.Owner] == nil)
		isOld := c.now-r.unchangedSince > endedLeaseTimes*c.options.Lease
		if r.Ended() && isUnowned && isOld && pl.isUnneeded(r) {
			removable = append(removable, r)
		}
	}
	return removable
}

// hasLeasedAncestor reports whether an ancestor of a shard has a lease. The shard is read after that ancestor.
func (c *Coordinator) hasLeasedAncestor(l *listing, shard string) bool {
	for id := l.parent(shard); id != ""; id = l.parent(id) {
		if c.table.rows.get(id) != nil {
			return true
		}
	}
	return false
}

// startLease returns l with the start position. The reading of a stream starts with the shard of l. Records that the
// stream has already dropped are not a gap, unless they were created at the start time or later. If the stream follows
// a stream that was read, all records of the stream should be read, and startLease returns l unchanged.
func startLease(l leases.Lease, start Start) leases.Lease {
	switch {
	case start.following:
	case start.Latest:
		l.Checkpoint.Kind, l.From, l.First = leases.Latest, second(start.Time), ""
	case !start.Time.IsZero():
		l.Checkpoint.Kind, l.From = leases.AtTime, second(start.Time)
	default:
		l.First = ""
	}
	return l
}

// inheritStart returns l with the parent's start time, if the parent's last record is older than that time or is
// unknown.
func inheritStart(l leases.Lease, parent *row) leases.Lease {
	isBeforeStart := parent.Time.IsZero() || parent.Time.Before(parent.From)
	if !parent.From.IsZero() && isBeforeStart {
		l.From = parent.From
	}
	return l
}

// second returns t in UTC, truncated to the second.
func second(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC().Truncate(time.Second)
}

// isUnneeded reports whether an ended lease may be removed. The lease of each child must have moved past the start of
// the child, or must no longer be needed. If no child is known, the shard must no longer be listed.
func (pl *planner) isUnneeded(r *row) bool {
	children := pl.knownChildren(r)
	if len(children) == 0 {
		return !pl.listing.has(r.Shard)
	}
	for _, id := range children {
		child := pl.c.table.rows.get(id)
		isUnread := child != nil && !pastStart(child)
		mayNeedLease := child == nil && pl.listing.has(id) && !pl.ancestors[id]
		if isUnread || mayNeedLease {
			return false
		}
	}
	return true
}

// knownChildren returns the children of a shard, perhaps more than once. A child may be known from its own lease alone:
// another consumer made that lease from an older listing.
func (pl *planner) knownChildren(r *row) []string {
	children := slices.Clone(r.Children)
	for _, child := range pl.listing.children[r.Shard] {
		children = append(children, child.ID)
	}
	for _, child := range pl.c.table.rows.children[r.Shard] {
		children = append(children, child.Shard)
	}
	return children
}

// ancestors returns the shards that have a descendant with a lease for which matches is true, or with a damaged row.
// Parents are known from leases and from the listing.
func (c *Coordinator) ancestors(l *listing, matches func(*row) bool) map[string]bool {
	var toAdd []string // may contain "", and shards that are found already
	for _, r := range c.table.rows.all() {
		if matches(r) {
			toAdd = append(append(toAdd, r.Parents...), l.parent(r.Shard))
		}
	}
	for shard := range c.table.damaged {
		toAdd = append(toAdd, l.parent(shard))
	}
	found := make(map[string]bool)
	for i := 0; i < len(toAdd); i++ { // toAdd grows meanwhile
		shard := toAdd[i]
		if shard == "" || found[shard] {
			continue
		}
		found[shard] = true
		toAdd = append(toAdd, l.parent(shard))
		if r := c.table.rows.get(shard); r != nil {
			toAdd = append(toAdd, r.Parents...)
		}
	}
	return found
}

func anyLease(*row) bool { return true }

// pastTrimHorizon reports whether a lease is past the start of its shard, or begins at LATEST or at a time. The
// ancestors of its shard may then stay unread.
func pastTrimHorizon(r *row) bool { return r.Checkpoint.Kind != leases.TrimHorizon }

// descendantWasRead reports whether the lease of a child of a shard has moved past its start. That happens only after
// the shard itself was read to its end.
func (c *Coordinator) descendantWasRead(shard string) bool {
	return slices.ContainsFunc(c.table.rows.children[shard], pastStart)
}

// pastStart reports whether a lease is past the start of its shard.
func pastStart(r *row) bool {
	return r.Checkpoint.Kind == leases.Sequence || r.Checkpoint.Kind == leases.ShardEnd
}
