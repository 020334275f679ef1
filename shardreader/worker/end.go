package worker

import (
	"fmt"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader"
)

const (
	// calmPages are the empty pages in a row by which a shard is at its end: the service answers with
	// some before records that are there.
	calmPages = 5

	// keptBeats are the heartbeats whose times are remembered: longer than calmPages take.
	keptBeats = 600

	relistAfter = 30 * time.Second // a look for the end that waits for others lists the streams again
	endRetry    = 2 * time.Second  // after a listing that failed
)

// endCheck is a look for the end of all that is read. Whatever it rests on was asked for after it began:
// what the streams list, the lease table, and the empty pages of each shard, whoever reads it.
type endCheck struct {
	asked   time.Duration
	sent    time.Duration    // of the look at the table that beats are of
	beats   map[string]int64 // of the others, as they were then
	listing bool             // the streams are being listed
	listed  time.Duration    // when they last were; 0: not yet
	streams map[string]*listing
}

// beatAt is a heartbeat that is known to be in the table, and since when.
type beatAt struct {
	beat int64
	at   time.Duration
}

// calmed notes an empty page of a call that was sent at a time.
func (p *part) calmed(sent time.Duration) {
	copy(p.calm[:], p.calm[1:])
	p.calm[calmPages-1] = sent
}

// atEnd is when the first of the calls was sent by which the shard is read to its end, of which all is
// checkpointed; false where there is, or may be, more to do. Of a shard that stopped it is now.
func (p *part) atEnd(now time.Duration) (time.Duration, bool) {
	r := p.row
	switch {
	case !p.drained() || p.draining || p.noting || r.busy || p.acked != r.Checkpoint || p.stopped() != r.Stopped:
		return 0, false
	case p.halted != "":
		return now, r.Stopped != ""
	case p.ended || p.maybe || p.paused || p.calm[0] == 0 || !p.anything && p.empties <= eagerPages:
		return 0, false
	}
	return p.calm[0], true
}

// hurried tells whether the end waits for empty pages of a shard. They are few, and asked for beside the budget.
func (w *Worker) hurried(p *part) bool {
	if w.o.Idle == 0 || w.leaving || w.now-max(w.lastRecord, w.firstSeen) < w.o.Idle || p.gap != nil && p.halted != "" {
		return false
	}
	return p.calm[0] == 0 || !p.anything && p.empties <= eagerPages || w.end != nil && p.calm[0] < w.end.asked
}

// endBeat is the heartbeat before which all that was written to this worker's shards is checkpointed; 0 where it cannot say so.
func (w *Worker) endBeat() int64 {
	// A take whose answer was lost shows in the next look.
	since := w.sent
	if !w.seenOnce || w.taking > 0 || len(w.creating) > 0 {
		return 0
	}
	for _, r := range w.rows.all() {
		switch {
		case r.part != nil:
			at, ok := r.part.atEnd(w.now)
			if !ok {
				return 0
			}
			since = min(since, at)
		case w.mine(r) && w.active(r):
			return 0
		}
	}
	for _, b := range slices.Backward(w.beats) {
		if b.at <= since {
			return b.beat
		}
	}
	return 0
}

// checkEnd looks for the end, where Options.Idle asks for it: after each look at the table.
func (w *Worker) checkEnd() {
	if w.o.Idle == 0 || w.leaving {
		return
	}
	if w.end != nil && w.lastRecord >= w.end.asked {
		w.end = nil
	}
	if w.end == nil {
		if w.now-max(w.lastRecord, w.firstSeen) < w.o.Idle {
			w.unreadWhy = "records came a moment ago"
			return
		}
		w.flush()
		if w.unreadWhy, _ = w.unreadLeases(nil); w.unreadWhy != "" || w.now < w.endAfter {
			return
		}
		w.beginEnd()
		return
	}
	c := w.end
	switch {
	case c.listed == 0:
		return
	case c.beats == nil:
		c.sent, c.beats = w.sent, make(map[string]int64, len(w.peers))
		for id, p := range w.peers {
			c.beats[id] = p.Beat
		}
	}
	w.flush()
	why, stopped := w.unread(c)
	w.unreadWhy = why
	switch {
	case w.end == nil || why != "" && w.now-c.listed < relistAfter:
	case why != "":
		w.listEnd(c)
	default:
		w.end, w.endAfter = nil, w.now+w.o.Idle
		w.do(AtEnd{Asked: c.asked, Stopped: stopped})
	}
}

// flush has written what waits for more of a shard that is read to its end.
func (w *Worker) flush() {
	for _, r := range w.rows.all() {
		if p := r.part; p != nil && !p.drained() && !p.flushed && (p.calm[0] > 0 || p.halted != "") {
			p.flushed = true
			w.do(Drain{p.name})
		}
	}
}

// beginEnd begins a look for the end: now counts what is asked for from here on.
func (w *Worker) beginEnd() {
	w.end = &endCheck{asked: max(1, w.now)}
	for _, r := range w.rows.all() {
		if p := r.part; p != nil && p.waiting {
			p.waiting = false // its pause is over
			w.want(p)
		}
	}
	w.listEnd(w.end)
}

// listEnd lists the streams, then looks at the table.
func (w *Worker) listEnd(c *endCheck) {
	if c.listing {
		return
	}
	c.listing = true
	streams := make(map[string]*listing)
	current := func() bool { return w.end == c && w.staying() }
	failed := func(err error) {
		if w.end == c {
			w.end, w.endAfter = nil, w.now+endRetry
			w.unreadWhy = "a stream cannot be listed: " + pipeline.LogText(err)
		}
	}
	var next func(i, j int)
	next = func(i, j int) {
		switch {
		case !current():
			return
		case i == len(w.sources):
			w.afterLook(func() {
				if current() {
					c.streams, c.listed, c.listing = streams, max(1, w.now), false
				}
			})
			return
		case j == len(w.sources[i].streams):
			if i+1 < len(w.sources) {
				w.findStreams(w.sources[i+1], func(err error) {
					if err != nil {
						failed(err)
						return
					}
					next(i+1, 0)
				})
				return
			}
			next(i+1, 0)
			return
		}
		st := w.sources[i].streams[j]
		if st.gone {
			next(i, j+1)
			return
		}
		w.list(st.arn, current, func(l *listing, err error) {
			if err != nil {
				failed(err)
				return
			}
			streams[st.arn] = l
			next(i, j+1)
		})
	}
	w.findStreams(w.sources[0], func(err error) {
		if err != nil {
			failed(err)
			return
		}
		next(0, 0)
	})
}

// unread decides whether the tables are read to their ends: by the streams and the shards that are listed, open or closed,
// the lease of each shard, whoever owns it, how far its reader came, and what is pending. It returns what is unread, "" where
// nothing is, and the shards that are read no further, with why.
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

// unreadLeases looks at the leases that are there. Without a look for the end under way anything counts that was asked for at
// some time.
func (w *Worker) unreadLeases(c *endCheck) (why string, stopped map[string]string) {
	stopped = make(map[string]string)
	switch {
	case !w.contact() || w.suspended:
		return "this consumer is out of contact", stopped
	case w.foreign:
		return "another application has leases, and may be at work", stopped
	}
	for shard := range w.broken {
		stopped[shard] = StoppedBroken
	}
	for _, r := range w.rows.all() {
		if r.Ended() || !w.followed(r) {
			continue
		}
		switch {
		case w.stands(r):
			stopped[r.Shard] = r.Stopped
		case r.Stream == "":
			return "nobody knows yet of which stream shard " + r.Shard + " is", stopped
		case !w.parentsDone(r): // it is judged by those
		default:
			if why := w.unreadBy(c, r); why != "" {
				return why, stopped
			}
		}
	}
	return "", stopped
}

// followed tells whether a lease is of any source.
func (w *Worker) followed(r *row) bool {
	return slices.ContainsFunc(w.sources, func(s *source) bool { return w.belongs(r, s) })
}

// stands tells whether a shard is read no further, and the table says so.
func (w *Worker) stands(r *row) bool {
	switch r.Stopped {
	case "", PassedGap:
		return false
	case StoppedAtGap, StoppedGone:
		return w.o.OnGap == Stop
	}
	return true
}

// unreadBy is what is unread of a shard that somebody should read.
func (w *Worker) unreadBy(c *endCheck, r *row) string {
	p, m := r.part, w.peers[r.Owner]
	switch {
	case w.mine(r) && p == nil:
		return "shard " + r.Shard + " is about to be read"
	case w.mine(r):
		switch since, ok := p.atEnd(w.now); {
		case p.pending > 0:
			return fmt.Sprintf("%d records of shard %s are not written yet", p.pending, r.Shard)
		case !ok || c != nil && since < c.asked:
			return "shard " + r.Shard + " may have more records"
		}
		return ""
	case r.Owner == "":
		return "nobody reads shard " + r.Shard
	case m == nil || !w.alive(r.Owner):
		return "shard " + r.Shard + " belongs to " + r.Owner + ", which shows no sign of life: another consumer takes it"
	case m.Leaving:
		return "shard " + r.Shard + " belongs to " + r.Owner + ", which leaves"
	case m.AtEnd == 0:
		return r.Owner + " is not at the end of its shards, or has not checkpointed them; shard " + r.Shard + " is one"
	case c == nil:
		return ""
	case r.still > c.sent:
		w.end = nil // what its reader said may be from before: all is asked for again
		return "shard " + r.Shard + " was moved or checkpointed a moment ago"
	case m.AtEnd <= c.beats[r.Owner]:
		return r.Owner + " has not looked again at shard " + r.Shard
	}
	return ""
}

// heldShards are the shards without a lease that are not begun, as whoever lists the streams says.
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

// unreadStreams looks at what is listed of a source, from the first stream that was begun.
func (w *Worker) unreadStreams(c *endCheck, s *source, held, stopped map[string]string) string {
	for i, st := range s.streams[w.firstRead(s):] {
		last := w.firstRead(s)+i == len(s.streams)-1
		l := c.streams[st.arn]
		if l == nil {
			if !st.gone {
				return "stream " + st.arn + " was not listed yet"
			}
			l = newListing(shardreader.Disabled, nil)
		}
		why, standing := w.unreadListed(st, l, held, stopped)
		switch {
		case why != "":
			return why
		case standing:
			return "" // what comes after it waits for somebody to reset it
		case last, w.planOf(st.arn, l, false, Start{}).drained, st.gone && w.readOut(st):
			continue
		}
		return "stream " + st.arn + " is not read to its end, and another one follows it"
	}
	return ""
}

// unreadListed looks at what is listed of a stream. standing tells that some of it is read no further.
func (w *Worker) unreadListed(st *stream, l *listing, held, stopped map[string]string) (why string, standing bool) {
	// stays notes a shard that is not begun, where somebody said so.
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
	for _, r := range w.rows.all() { // also of shards that are listed no more
		standing = standing || r.Stream == st.arn && !r.Ended() && w.stands(r)
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
		case !w.stands(r) && w.parentsDone(r) && (!s.Open() || len(l.children[s.ID]) > 0):
			return "shard " + s.ID + " is closed, and not read to its end", standing
		}
	}
	return "", standing
}

// firstRead is the first stream of a source that is read: the oldest that was begun, else the newest.
func (w *Worker) firstRead(s *source) int {
	if i := slices.IndexFunc(s.streams, func(st *stream) bool { return w.begunStreams[st.arn] || w.hasLeases(st.arn) }); i >= 0 {
		return i
	}
	return len(s.streams) - 1
}
