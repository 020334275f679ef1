package worker

import (
	"fmt"
	"slices"

	"github.com/tablewake/tablewake/shardreader"
)

// unread decides whether the tables are read to their ends. It compares the listed streams and shards with the
// leases of all consumers, the positions of their readers and the pending records. It returns what is unread,
// "" if nothing is, and the stopped shards with the reasons.
func (w *Worker) unread(c *endCheck) (why string, stopped map[string]string) {
	why, stopped = w.unreadLeases(c)
	held := w.heldShards()
	for _, s := range w.sources {
		if why == "" {
			why = w.unreadStreams(c, s, held, stopped)
		}
	}
	return why, stopped
}

// unreadLeases checks the leases. Without an endCheck, answers of any age count.
func (w *Worker) unreadLeases(c *endCheck) (why string, stopped map[string]string) {
	stopped = make(map[string]string)
	switch {
	case !w.heartbeatFresh() || w.suspended:
		return "this consumer has no recent heartbeat", stopped
	case w.foreign:
		return "another application has leases, and may be running", stopped
	}
	for shard := range w.broken {
		stopped[shard] = StoppedBroken
	}
	for _, r := range w.rows.all() {
		if r.Ended() || !w.followed(r) {
			continue
		}
		switch {
		case w.staysStopped(r):
			stopped[r.Shard] = r.Stopped
		case r.Stream == "":
			return "the stream of shard " + r.Shard + " is not known yet", stopped
		case !w.parentsDone(r): // its parents decide
		default:
			if why := w.unreadBy(c, r); why != "" {
				return why, stopped
			}
		}
	}
	return "", stopped
}

// followed reports whether a lease belongs to one of the sources.
func (w *Worker) followed(r *row) bool {
	return slices.ContainsFunc(w.sources, func(s *source) bool { return w.belongs(r, s) })
}

// staysStopped reports whether a shard is stopped, and the lease table says so.
func (w *Worker) staysStopped(r *row) bool {
	switch r.Stopped {
	case "", PassedGap:
		return false
	case StoppedAtGap, StoppedGone:
		return w.o.OnGap == Stop
	}
	return true
}

// unreadBy returns what is unread of a shard that a consumer should read.
func (w *Worker) unreadBy(c *endCheck, r *row) string {
	p, m := r.assignment, w.peers[r.Owner]
	switch {
	case w.mine(r) && p == nil:
		return "shard " + r.Shard + " is not being read yet"
	case w.mine(r):
		switch since, ok := p.atEnd(w.now); {
		case p.pages.records > 0:
			return fmt.Sprintf("%d records of shard %s are not written yet", p.pages.records, r.Shard)
		case !ok || c != nil && since < c.asked:
			return "shard " + r.Shard + " may have more records"
		}
		return ""
	case r.Owner == "":
		return "no consumer reads shard " + r.Shard
	case m == nil || !w.alive(r.Owner):
		return "shard " + r.Shard + " belongs to " + r.Owner + ", whose heartbeats stopped: another consumer takes it"
	case m.Leaving:
		return "shard " + r.Shard + " belongs to " + r.Owner + ", which is stopping"
	case m.AtEnd == 0:
		return r.Owner + " has not read and checkpointed all of its shards to their ends; it owns shard " + r.Shard
	case c == nil:
		return ""
	case r.unchangedSince > c.sent:
		w.end = nil // its reader's note may be older than the move: everything is requested again
		return "shard " + r.Shard + " was moved or checkpointed a moment ago"
	case m.AtEnd <= c.beats[r.Owner]:
		return r.Owner + " has not checked again shard " + r.Shard
	}
	return ""
}

// heldShards are the shards without a lease that are not begun, with the reasons of the consumer that lists the streams.
func (w *Worker) heldShards() map[string]string {
	held := make(map[string]string)
	for shard, u := range w.unbegun {
		held[shard] = u.why
	}
	for id, p := range w.peers {
		for shard, why := range p.Stopped {
			if w.rows.of(shard) == nil && w.alive(id) {
				held[shard] = why
			}
		}
	}
	return held
}

// unreadStreams checks the listed streams of a source, from the first that was begun.
func (w *Worker) unreadStreams(c *endCheck, s *source, held, stopped map[string]string) string {
	for i, st := range s.streams[w.firstRead(s):] {
		last := w.firstRead(s)+i == len(s.streams)-1
		l := c.streams[st.arn]
		if l == nil {
			if !st.gone {
				return "stream " + st.arn + " is not listed yet"
			}
			l = newListing(shardreader.Disabled, nil)
		}
		why, standing := w.unreadListed(st, l, held, stopped)
		switch {
		case why != "":
			return why
		case standing:
			return "" // the streams after it wait until an operator resets it
		case last, w.planOf(st.arn, l, false, Start{}).drained, st.gone && w.isReadOut(st):
			continue
		}
		return "stream " + st.arn + " is not read to its end, and a newer one follows it"
	}
	return ""
}

// unreadListed checks the listed shards of a stream. standing reports that some are stopped.
func (w *Worker) unreadListed(st *stream, l *listing, held, stopped map[string]string) (why string, standing bool) {
	// stays notes a shard that is not begun, if a consumer gave a reason.
	stays := func(shard string) bool {
		why, ok := held[shard]
		if ok {
			stopped[shard], standing = why, true
		}
		return ok
	}
	if emptied := len(l.shards) == 0 && l.status == shardreader.Disabled; !w.begunStreams[st.arn] && !emptied {
		for _, s := range l.shards {
			stays(s.ID)
		}
		if standing {
			return "", true
		}
		return "stream " + st.arn + " is not begun yet", false
	}
	for _, r := range w.rows.all() { // includes shards that are no longer listed
		standing = standing || r.Stream == st.arn && !r.Ended() && w.staysStopped(r)
	}
	p := w.planOf(st.arn, l, false, Start{})
	for _, lease := range slices.Concat(p.create, p.unknown) {
		if !stays(lease.Shard) {
			return "shard " + lease.Shard + " has no lease yet", standing
		}
	}
	for _, s := range p.below {
		if !stays(s.ID) {
			return "shard " + s.ID + " has no lease yet", standing
		}
	}
	for _, s := range l.shards {
		r := w.rows.of(s.ID)
		switch {
		case w.broken[s.ID]:
			standing = true
		case r == nil:
		case r.Ended():
			if !s.Open() && l.status == shardreader.Enabled && len(r.Children) == 0 && len(l.children[s.ID]) == 0 {
				return "shard " + s.ID + " ended, and its children are not listed yet", standing
			}
		case !w.staysStopped(r) && w.parentsDone(r) && (!s.Open() || len(l.children[s.ID]) > 0):
			return "shard " + s.ID + " is closed, but not read to its end", standing
		}
	}
	return "", standing
}

// firstRead returns the first stream of a source that is read: the oldest that was begun, else the newest.
func (w *Worker) firstRead(s *source) int {
	if i := slices.IndexFunc(s.streams, func(st *stream) bool { return w.begunStreams[st.arn] || w.hasLeases(st.arn) }); i >= 0 {
		return i
	}
	return len(s.streams) - 1
}
