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
	check   *endCheck         // nil if only the method leases is called, which ignores how old the known state is
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
			if c.table.rows.byID(shard) == nil && c.alive(id) {
				s.unbegun[shard] = why
			}
		}
	}
	return s
}

// all checks the leases and the streams.
func (s *unreadSearch) all() string {
	why := s.leases()
	for _, src := range s.c.sources {
		if why == "" {
			why = s.streams(src)
		}
	}
	return why
}

// leases checks the leases.
func (s *unreadSearch) leases() string {
	c := s.c
	switch {
	case !c.heartbeatFresh():
		return "this consumer has no recent heartbeat"
	case c.table.foreign:
		return "another application has leases, and may be running"
	}
	for shard := range c.table.broken {
		s.stopped[shard] = StoppedBroken
	}
	for _, r := range c.table.rows.all() {
		why := ""
		switch {
		case r.Ended(), !slices.ContainsFunc(c.sources, func(src *source) bool { return c.belongs(r, src) }):
		case c.staysStopped(r):
			s.stopped[r.Shard] = r.Stopped
		case r.Stream == "":
			why = "the stream of shard " + r.Shard + " is not known yet"
		case !c.parentsDone(r): // the unfinished parents are checked instead
		case c.isOwn(r):
			why = s.ownShard(r)
		default:
			why = s.otherShard(r)
		}
		if why != "" {
			return why
		}
	}
	return ""
}

// staysStopped reports whether a shard must not be read because of its Lease.Stopped.
func (c *Coordinator) staysStopped(r *row) bool {
	switch r.Stopped {
	case "", PassedGap:
		return false
	case StoppedAtGap, StoppedGone:
		return c.o.OnGap == Stop
	}
	return true
}

// ownShard checks a shard that this consumer reads.
func (s *unreadSearch) ownShard(r *row) string {
	a := r.assignment
	if a == nil {
		return "shard " + r.Shard + " is not being read yet"
	}
	since, ok := a.atEnd(s.c.now)
	switch {
	case a.pages.records > 0:
		return fmt.Sprintf("%d records of shard %s are not written yet", a.pages.records, r.Shard)
	case !ok || s.check != nil && since < s.check.began:
		return "shard " + r.Shard + " may have more records"
	}
	return ""
}

// otherShard checks a shard that another consumer should read.
func (s *unreadSearch) otherShard(r *row) string {
	m := s.c.table.consumers[r.Owner]
	switch {
	case r.Owner == "":
		return "no consumer reads shard " + r.Shard
	case m == nil || !s.c.alive(r.Owner):
		return "shard " + r.Shard + " belongs to " + r.Owner + ", whose heartbeats stopped: another consumer takes it"
	case m.Leaving:
		return "shard " + r.Shard + " belongs to " + r.Owner + ", which is stopping"
	case m.AtEndBefore == 0:
		return r.Owner + " has not read and checkpointed all of its shards to their ends; it owns shard " + r.Shard
	case s.check == nil:
		return ""
	case r.unchangedSince > s.check.tableRead:
		s.moved = true
		return "shard " + r.Shard + " was moved or checkpointed a moment ago"
	case m.AtEndBefore <= s.check.heartbeats[r.Owner]:
		return r.Owner + " has not checked again shard " + r.Shard
	}
	return ""
}

// streams checks the listed streams of a source, from the first stream that is read.
func (s *unreadSearch) streams(src *source) string {
	c := s.c
	streams := src.streams[c.firstBegun(src):]
	for i, st := range streams {
		l := s.check.streams[st.arn]
		if l == nil {
			if !st.unlisted {
				return "stream " + st.arn + " is not listed yet"
			}
			l = newListing(shardreader.Disabled, nil)
		}
		why, stops := s.stream(st, l)
		switch {
		case why != "":
			return why
		case stops:
			return "" // later streams wait until an operator resets the stopped shards
		case i < len(streams)-1 && !c.planLeases(st.arn, l, false, Start{}).drained && !(st.unlisted && c.allRead(st)):
			return "stream " + st.arn + " is not read to its end, and a newer one follows it"
		}
	}
	return ""
}

// stream checks the listed shards of a stream. why says what is unread. stops reports whether some shards are stopped.
func (s *unreadSearch) stream(st *stream, l *listing) (why string, stops bool) {
	c := s.c
	if emptied := len(l.shards) == 0 && l.status == shardreader.Disabled; !c.table.begunStreams[st.arn] && !emptied {
		for _, shard := range l.shards {
			stops = s.noteUnbegun(shard.ID) || stops
		}
		if !stops {
			why = "stream " + st.arn + " is not begun yet"
		}
		return why, stops
	}
	// Leases of shards that are no longer listed count too.
	stops = c.table.rows.any(func(r *row) bool { return r.Stream == st.arn && !r.Ended() && c.staysStopped(r) })
	for _, shard := range c.planLeases(st.arn, l, false, Start{}).unleasedShards() {
		if !s.noteUnbegun(shard) {
			return "shard " + shard + " has no lease yet", stops
		}
		stops = true
	}
	for _, shard := range l.shards {
		if why := c.unreadShard(shard, l); why != "" {
			return why, stops
		}
		stops = stops || c.table.broken[shard.ID]
	}
	if takesWrites := l.status == shardreader.Enabled || l.status == shardreader.Enabling; takesWrites && !stops &&
		!l.hasOpen() {
		return "stream " + st.arn + " lists no open shard yet", false
	}
	return "", stops
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
	r, children := c.table.rows.byID(s.ID), l.children[s.ID]
	switch {
	case r == nil, c.table.broken[s.ID]:
	case r.Ended() && !s.Open() && l.status == shardreader.Enabled && len(r.Children) == 0 && len(children) == 0:
		return "shard " + s.ID + " ended, and its children are not listed yet"
	case !r.Ended() && !c.staysStopped(r) && c.parentsDone(r) && (!s.Open() || len(children) > 0):
		return "shard " + s.ID + " is closed, but not read to its end"
	}
	return ""
}
