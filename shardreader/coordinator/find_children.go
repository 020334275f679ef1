package coordinator

import (
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// childlessAfter is how long the children of an ended shard are searched for before the shard counts as childless. The
// service lists children when it closes the shard, or soon after. leaseSync finds a child that is listed even later.
// disabledChildlessAfter is the same time for a disabled stream, whose shards get no new children.
const (
	childlessAfter         = 2 * time.Minute
	disabledChildlessAfter = 15 * time.Second
)

// DescribeStream allows few calls a second. If the queue has more calls than a listing of the whole stream takes, ended
// shards share one listing. Thousands of shards end together when a stream is disabled, and a call for each shard would
// take a quarter of an hour.
const (
	fewDescribes  = 8   // queued calls up to which each ended shard gets its own call
	shardsPerPage = 100 // shards that one call lists
)

// childSearch finds the children of a shard that ended, and creates their leases.
type childSearch struct {
	*assignment
	c        *Coordinator
	stage    childStage
	began    time.Duration
	endedFor time.Duration // time between the end of the shard and the start of the listing
	tries    tries
	children []shardreader.Shard
	orphans  []shardreader.Shard // shards that may descend from this shard, if it is gone; see orphanedShards
}

// childStage is the progress of a childSearch.
type childStage uint8

const (
	searchingChildren childStage = iota // the children are being searched for
	childrenKnown                       // the children are known, and have no leases yet
	creatingLeases                      // the children's leases are being created
	childrenLeased                      // the children have leases: the shard's own lease may end
)

// begin requests the children of the shard.
func (s *childSearch) begin() {
	if len(s.c.quota.queue) > max(fewDescribes, s.c.table.rows.len()/shardsPerPage) {
		s.list()
		return
	}
	s.c.queueDescribe(shardreader.DescribeQuery{StreamARN: s.row.Stream, ChildrenOf: s.row.Shard}, s.isOpen,
		s.handleDescription)
}

// handleDescription handles the result of the call for the children of this shard.
func (s *childSearch) handleDescription(d shardreader.StreamDescription, err error) {
	switch {
	case !s.isOpen():
		return
	case errors.Is(err, shardreader.ErrNotFound):
		s.shardGone() // the stream is gone
		return
	case transient(err):
		s.retry(err)
		return
	case err != nil:
		s.list()
		return
	}
	// Some servers do not filter by parent.
	isOther := func(shard shardreader.Shard) bool { return shard.Parent != s.row.Shard }
	children := slices.DeleteFunc(slices.Clone(d.Shards), isOther)
	hasAll := len(children) > 0 && d.After == ""
	if !hasAll {
		s.list()
		return
	}
	s.setChildren(children)
}

// list lists the whole stream.
func (s *childSearch) list() {
	s.endedFor = s.c.now - s.began // taken here, because the listing may take long
	s.c.list(s.row.Stream, s.isOpen, s.handleListing)
}

// handleListing handles the result of a listing of the whole stream.
func (s *childSearch) handleListing(l *listing, err error) {
	switch {
	case errors.Is(err, shardreader.ErrNotFound):
		s.shardGone()
		return
	case err != nil:
		s.retry(err)
		return
	}
	if children := l.children[s.row.Shard]; len(children) > 0 {
		s.setChildren(children)
		return
	}
	s.noChildListed(l)
}

// noChildListed handles a listing without children of the shard. It searches again for some time, and then counts the
// shard as childless.
func (s *childSearch) noChildListed(l *listing) {
	isDisabled := l.status == shardreader.Disabled
	searchFor := childlessAfter
	if isDisabled {
		searchFor = disabledChildlessAfter
	}
	switch {
	case s.endedFor <= searchFor:
		s.retry(nil)
	case !l.has(s.row.Shard):
		s.orphans = s.c.orphanedShards(l)
		s.shardGone()
	case isDisabled:
		s.setChildren(nil)
	default:
		s.c.log(slog.LevelWarn, "a shard ended, and no child of it is listed", shardAttr(s.row.Shard))
		s.setChildren(nil)
	}
}

// shardGone handles a shard that disappeared before its children were known. The records of the children may be lost.
func (s *childSearch) shardGone() {
	switch {
	case s.c.descendantWasRead(s.row.Shard):
		s.setChildren(nil)
	case s.keepsLease():
		s.c.noteGone(s.assignment)
	}
}

// orphanedShards returns the listed shards that may descend from a shard that is gone: neither they nor their
// descendants have a lease, and their parents are neither listed nor have a lease. The shards between them and the gone
// shard were never listed to this fleet.
func (c *Coordinator) orphanedShards(l *listing) (orphans []shardreader.Shard) {
	leasedBelow := c.ancestors(l, anyLease)
	for _, s := range l.shards {
		isLeased := c.hasRow(s.ID) || leasedBelow[s.ID]
		parentKnown := s.Parent == "" || l.has(s.Parent) || c.hasRow(s.Parent)
		if !isLeased && !parentKnown {
			orphans = append(orphans, s)
		}
	}
	return orphans
}

// hasRow reports whether the lease table has a row of a shard, damaged or not.
func (c *Coordinator) hasRow(shard string) bool {
	return c.table.rows.get(shard) != nil || c.table.damaged[shard]
}

// retry begins the search again after a backoff.
func (s *childSearch) retry(err error) {
	s.c.after(s.tries.nextBackoff(s.c, maxBackoff, err), func() {
		if s.keepsLease() {
			s.begin()
		}
	})
}

// setChildren ends the search with the children that were found.
func (s *childSearch) setChildren(children []shardreader.Shard) {
	s.stage, s.children = childrenKnown, children
	s.c.advanceEnd(s.assignment)
}

// advanceEnd makes the next step to the end of a shard, once all of its records are acknowledged. It creates the leases
// of the children first, so that a crash leaves no shard unread. Then it ends the shard's own lease. While the children
// are searched for, or their leases are being created, advanceEnd does nothing.
func (c *Coordinator) advanceEnd(a *assignment) {
	if !a.finished() || a.row.busy {
		return // the last acknowledgement, or the end of the write in flight, calls save
	}
	s := a.childSearch
	switch s.stage {
	case childrenKnown:
		if child := s.childBelow(); child != nil {
			c.stopShard(a, StoppedChildBelowParent,
				slog.String("child", child.ID), slog.String("start", child.First), slog.String("last", a.position.Sequence))
			return
		}
		s.createLeases()
	case childrenLeased:
		a.acked.unsavedSince = c.now
		next := s.endedLease(c.currentLease(a))
		c.writeLease(&leaseWrite{row: a.row, next: next, mustRetry: a.isOpen, written: func() { c.endSaved(a) }})
	}
}

// endedLease returns l with the checkpoint SHARD_END and the children.
func (s *childSearch) endedLease(l leases.Lease) leases.Lease {
	l.Checkpoint = leases.Checkpoint{Kind: leases.ShardEnd}
	l.Owner, l.RequestedBy, l.Load, l.Stopped, l.Children = "", "", 0, "", nil
	for _, child := range s.children {
		l.Children = append(l.Children, child.ID)
	}
	slices.Sort(l.Children)
	l.Counter++
	return l
}

// endSaved continues after the end of a shard is written into its lease.
func (c *Coordinator) endSaved(a *assignment) {
	r := a.row
	if a.isOpen() {
		c.closeAssignment(a)
	}
	c.log(slog.LevelInfo, "read a shard to its end", shardAttr(r.Shard), slog.Int("children", len(r.Children)))
	for _, id := range r.Children {
		if child := c.table.rows.get(id); child != nil {
			c.tryOpen(child)
		}
	}
	if len(r.Children) == 0 {
		c.syncSoon()
	}
}

// childBelow returns a child that starts at or below the last record of the shard; nil if there is none. Versions order
// the changes of an item by sequence number, so a child must start above its parent's last record.
func (s *childSearch) childBelow() *shardreader.Shard {
	if s.position.Kind != leases.Sequence {
		return nil
	}
	for i, child := range s.children {
		if child.First != "" && record.CompareSequence(child.First, s.position.Sequence) <= 0 {
			return &s.children[i]
		}
	}
	return nil
}

// createLeases creates the leases of the children.
func (s *childSearch) createLeases() {
	a := s.assignment
	s.stage = creatingLeases
	owner := ""
	if a.keepsLease() && s.c.heartbeatFresh() {
		owner = s.c.options.ID
	}
	var from time.Time // the start time, if this shard had no record of that time or later
	if !a.start.reached && a.row.Checkpoint.Kind != leases.Latest {
		from = a.row.From
	}
	childWasRead := func(child shardreader.Shard) bool { return s.c.table.rows.hasChild(child.ID) }
	unread := slices.DeleteFunc(slices.Clone(s.children), childWasRead)
	created := collectErrors(len(unread), s.created)
	for _, child := range unread {
		l := leases.Lease{Shard: child.ID, Stream: a.row.Stream, Owner: owner, Parents: []string{child.Parent},
			First: child.First, From: from}
		s.c.createLease(&leaseCreation{lease: l, parent: a, done: created})
	}
}

// created continues after the leases of the children were created: the shard's lease may end. If some creations failed,
// they are tried again.
func (s *childSearch) created(err error) {
	if !s.isOpen() {
		return
	}
	if err == nil {
		s.stage = childrenLeased
		s.c.advanceEnd(s.assignment)
		return
	}
	// A creation fails if a write for an earlier assignment of this shard is still creating the same lease.
	s.stage = childrenKnown
	s.c.after(s.c.jitter(time.Second), func() {
		if s.keepsLease() {
			s.c.advanceEnd(s.assignment)
		}
	})
}
