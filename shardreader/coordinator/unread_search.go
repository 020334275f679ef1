package coordinator

import (
	"fmt"
	"slices"

	"github.com/tablewake/tablewake/shardreader"
)

// unreadSearch decides whether the tables are read to their ends. It compares the listed streams and shards with the
// leases of all consumers, the positions of their readers and the pending records. Its methods return a text that says
// what is unread, or "" if nothing is.
type unreadSearch struct {
	c       *Coordinator
	check   *endCheck         // nil if only unreadLeases is called; then the age of the known state does not matter
	unbegun map[string]string // why shards are not begun, by shard, as consumers report it
	stopped map[string]string // reasons of the stopped shards that were found, by shard
	moved   bool              // a lease was moved or checkpointed after the check read the table
}

func (c *Coordinator) newUnreadSearch(check *endCheck) *unreadSearch {
	s := &unreadSearch{c: c, check: check, unbegun: make(map[string]string), stopped: make(map[string]string)}
	for shard, u := range c.unbegunShards {
		s.unbegun[shard] = u.reason
	}
	for id, consumer := range c.table.consumers {
		for shard, why := range consumer.Stopped {
			if c.table.rows.get(shard) == nil && c.alive(id) {
				s.unbegun[shard] = why
			}
		}
	}
	return s
}

// findUnread checks the leases and the streams.
func (s *unreadSearch) findUnread() string {
	if why := s.unreadLeases(); why != "" {
		return why
	}
	for _, src := range s.c.sources {
		if why := s.unreadStreams(src); why != "" {
			return why
		}
	}
	return ""
}

// unreadLeases checks the leases.
func (s *unreadSearch) unreadLeases() string {
	c := s.c
	if !c.heartbeatFresh() {
		return "this consumer has no recent heartbeat"
	}
	if c.table.foreignActive {
		return "another application has leases, and may be running"
	}
	for shard := range c.table.damaged {
		s.stopped[shard] = StoppedDamaged
	}
	for _, r := range c.table.rows.all() {
		if why := s.unreadLease(r); why != "" {
			return why
		}
	}
	return ""
}

// unreadLease checks a lease.
func (s *unreadSearch) unreadLease(r *row) string {
	c := s.c
	if r.Ended() {
		return ""
	}
	isWanted := slices.ContainsFunc(c.sources, func(src *source) bool { return c.belongs(r, src) })
	switch {
	case !isWanted:
		return ""
	case c.staysStopped(r):
		s.stopped[r.Shard] = r.Stopped
		return ""
	case r.Stream == "":
		return "the stream of shard " + r.Shard + " is not known yet"
	case !c.parentsDone(r):
		return "" // the unfinished parents are checked instead
	case c.isOwn(r):
		return s.unreadOwnShard(r)
	}
	return s.unreadOtherShard(r)
}

// unreadOwnShard checks a shard that this consumer reads.
func (s *unreadSearch) unreadOwnShard(r *row) string {
	a := r.assignment
	if a == nil {
		return "shard " + r.Shard + " is not being read yet"
	}
	if a.inFlight.recordCount > 0 {
		return fmt.Sprintf("shard %s has records that are not written yet: %d", r.Shard, a.inFlight.recordCount)
	}
	since, isAtEnd := a.atEnd(s.c.now)
	isTooOld := s.check != nil && since < s.check.began
	if !isAtEnd || isTooOld {
		return "shard " + r.Shard + " may have more records"
	}
	return ""
}

// unreadOtherShard checks a shard that another consumer should read.
func (s *unreadSearch) unreadOtherShard(r *row) string {
	owner := s.c.table.consumers[r.Owner]
	switch {
	case r.Owner == "":
		return "no consumer reads shard " + r.Shard
	case owner == nil || !s.c.alive(r.Owner):
		return "shard " + r.Shard + " belongs to " + r.Owner + ", whose heartbeats stopped: another consumer takes it"
	case owner.Leaving:
		return "shard " + r.Shard + " belongs to " + r.Owner + ", which is stopping"
	case owner.AtEndHeartbeat == 0:
		return r.Owner + " has not read and checkpointed all of its shards to their ends; it owns shard " + r.Shard
	case s.check == nil:
		return ""
	case r.unchangedSince > s.check.tableReadAt:
		s.moved = true
		return "shard " + r.Shard + " was moved or checkpointed a moment ago"
	case owner.AtEndHeartbeat <= s.check.heartbeats[r.Owner]:
		return r.Owner + " has not checked again shard " + r.Shard
	}
	return ""
}

// unreadStreams checks the listed streams of a source, from the first stream that is read.
func (s *unreadSearch) unreadStreams(src *source) string {
	c := s.c
	streams := src.streams[c.firstBegun(src):]
	for i, st := range streams {
		l := s.check.streams[st.arn]
		switch {
		case l == nil && st.unlisted:
			l = newListing(shardreader.Disabled, nil)
		case l == nil:
			return "stream " + st.arn + " is not listed yet"
		}
		plan := c.planLeases(st.arn, l, false, Start{})
		why, hasStopped := s.unreadStream(st, l, plan)
		if why != "" || hasStopped {
			return why // later streams wait until an operator resets the stopped shards
		}
		isLast := i == len(streams)-1
		isRead := plan.fullyRead || st.unlisted && c.allRead(st)
		if !isLast && !isRead {
			return "stream " + st.arn + " is not read to its end, and a newer one follows it"
		}
	}
	return ""
}

// unreadStream checks the listed shards of a stream. plan is the plan of the leases that the stream lacks. why names
// the first shard that is unread. If there is none, why is "", and hasStopped reports whether the reading of a shard is
// stopped.
func (s *unreadSearch) unreadStream(st *stream, l *listing, plan leasePlan) (why string, hasStopped bool) {
	c := s.c
	isEmptied := len(l.shards) == 0 && l.status == shardreader.Disabled
	if !c.table.begunStreams[st.arn] && !isEmptied {
		return s.unbegunStream(st, l)
	}
	// Leases of shards that are no longer listed count too.
	hasStopped = c.table.rows.any(func(r *row) bool { return r.Stream == st.arn && !r.Ended() && c.staysStopped(r) })
	for _, shard := range plan.unleasedShards() {
		if hasReason := s.noteUnbegun(shard); !hasReason {
			return "shard " + shard + " has no lease yet", false
		}
		hasStopped = true
	}
	for _, shard := range l.shards {
		if why = c.unreadShard(shard, l); why != "" {
			return why, false
		}
		hasStopped = hasStopped || c.table.damaged[shard.ID]
	}
	takesWrites := l.status == shardreader.Enabled || l.status == shardreader.Enabling
	if takesWrites && !hasStopped && !l.hasOpen() {
		return "stream " + st.arn + " lists no open shard yet", false
	}
	return "", hasStopped
}

// unbegunStream does the work of unreadStream for a stream that is not begun. The shards of such a stream may be
// stopped before they begin.
func (s *unreadSearch) unbegunStream(st *stream, l *listing) (why string, hasStopped bool) {
	for _, shard := range l.shards {
		if s.noteUnbegun(shard.ID) {
			hasStopped = true
		}
	}
	if !hasStopped {
		why = "stream " + st.arn + " is not begun yet"
	}
	return why, hasStopped
}

// noteUnbegun reports whether a consumer gave a reason why a shard is not begun. If so, it counts the shard as stopped.
func (s *unreadSearch) noteUnbegun(shard string) bool {
	why, ok := s.unbegun[shard]
	if ok {
		s.stopped[shard] = why
	}
	return ok
}

// unreadShard compares a listed shard with its lease. It returns what is unread; "" if nothing is.
func (c *Coordinator) unreadShard(s shardreader.Shard, l *listing) string {
	r := c.table.rows.get(s.ID)
	if r == nil || c.table.damaged[s.ID] {
		return ""
	}
	hasListedChildren := len(l.children[s.ID]) > 0
	if r.Ended() {
		hasChildren := len(r.Children) > 0 || hasListedChildren
		awaitsChildren := !s.Open() && !hasChildren && l.status == shardreader.Enabled
		if awaitsChildren {
			return "shard " + s.ID + " ended, and its children are not listed yet"
		}
		return ""
	}
	isClosed := !s.Open() || hasListedChildren
	isReadable := !c.staysStopped(r) && c.parentsDone(r)
	if isClosed && isReadable {
		return "shard " + s.ID + " is closed, but not read to its end"
	}
	return ""
}
