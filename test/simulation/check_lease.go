package simulation

import (
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// checkCreated checks that no ancestor of a leased shard gets a lease. It also checks that a shard after a leased
// parent, and a stream after a leased stream, are read from the beginning.
func (w *world) checkCreated(p *process, s *shard, l leases.Lease) {
	if d := leasedBelow(s); d != nil {
		w.broken("no lease above a descendant's", "%s makes a lease of %v, and %v has one", p.id, s, d)
		return
	}
	if l.Checkpoint.Kind == leases.Latest && (s.stream.late || s.parent != nil && s.parent.leased) {
		w.broken("what follows is read from its beginning", "%s makes the lease of %v at LATEST", p.id, s)
	}
}

// leasedBelow returns a descendant of a shard that has a lease, or nil.
func leasedBelow(s *shard) *shard {
	for _, c := range s.children {
		if c.row.there {
			return c
		}
		if d := leasedBelow(c); d != nil {
			return d
		}
	}
	return nil
}

// exemptBefore exempts the records before the position at which the fleet begins an unread stream. No consumer has to
// deliver them.
func (w *world) exemptBefore(s *shard, l leases.Lease) {
	w.tally.Begun++
	from := l.From.Sub(began)
	for _, a := range w.shards {
		if a.stream.table == s.stream.table && a.stream != s.stream && a.n < s.n {
			// The fleet begins an unread table with its newest stream.
			for _, r := range a.records {
				r.exempt = true
			}
		}
		if a.stream != s.stream {
			continue
		}
		// This includes the records of shards that exist and are not listed yet.
		isAncestor, beginsAtLatest := a.before(s), l.Checkpoint.Kind == leases.Latest
		for _, r := range a.records {
			isSkipped := beginsAtLatest && (isAncestor || r.at < from+time.Second)
			isGone := r.trimmed && (isAncestor || a == s && l.First == "")
			if isSkipped || isGone {
				r.exempt = true
			}
		}
	}
}

// before reports whether a shard is an ancestor of another one.
func (s *shard) before(o *shard) bool {
	for a := o.parent; a != nil; a = a.parent {
		if a == s {
			return true
		}
	}
	return false
}

// notePosition notes that a reader begins at the newest record. No consumer has to deliver older records.
func (w *world) notePosition(p *process, at shardreader.ShardPosition, err error) {
	s := w.byID[at.Shard]
	if s == nil || err != nil || at.Type != shardreader.Latest {
		return
	}
	if s.row.began != leases.Latest {
		w.broken("what follows is read from its beginning", "%s begins %v at its newest record", p.id, s)
		return
	}
	if s.sought {
		return // a reader that begins there again may omit records; other checks find that
	}
	s.sought = true
	w.tell("stream", "%s begins %v at its newest record", p.id, s)
	for _, r := range s.records {
		r.exempt = true
	}
}

// checkSwapped checks a change of a lease against the rules.
func (w *world) checkSwapped(p *process, s *shard, was row, old, next leases.Lease) {
	if isBehind(next.Checkpoint, was.checkpoint) {
		w.broken("checkpoints never fall", "%s moves %v from %v to %v", p.id, s, was.checkpoint, next.Checkpoint)
		return
	}
	isChanged := was.owner != next.Owner || was.checkpoint != next.Checkpoint
	if isChanged && next.Counter <= was.counter {
		w.broken("a changed lease counts on", "%s changes %v and leaves its counter at %d", p.id, s, next.Counter)
		return
	}
	if next.RequestedBy != "" && old.RequestedBy != next.RequestedBy {
		w.tally.Wanted++
	}
	switch {
	case was.owner == next.Owner:
	case next.Owner == p.id && was.owner == "":
		w.tally.Took++
	case next.Owner == p.id:
		w.tally.Replaced++
	case was.owner == p.id:
		w.tally.HandedOver++
	}
	if next.Checkpoint.Kind == leases.ShardEnd && was.checkpoint.Kind != leases.ShardEnd {
		w.tally.Ended++
		for _, id := range next.Children {
			if c := w.byID[id]; c == nil || !everLeased(c) {
				w.broken("children have leases before their parent ends", "%s ends %v, and its child %s never had a lease", p.id, s, id)
			}
		}
	}
}

// everLeased reports whether a shard or one of its descendants has or had a lease. If the fleet begins a stream at its
// newest records, it may begin with a descendant of the shard.
func everLeased(s *shard) bool { return s.leased || slices.ContainsFunc(s.children, everLeased) }

// isBehind reports whether the checkpoint a is behind the checkpoint b.
func isBehind(a, b leases.Checkpoint) bool {
	if a.Kind == leases.Sequence && b.Kind == leases.Sequence {
		return record.CompareSequence(a.Sequence, b.Sequence) < 0
	}
	return progress(a) < progress(b)
}

// progress orders the kinds of checkpoints.
func progress(c leases.Checkpoint) int {
	switch c.Kind {
	case leases.Sequence:
		return 1
	case leases.ShardEnd:
		return 2
	}
	return 0
}

// checkTaking checks that no consumer tries to take the lease of a consumer that lives and sends heartbeats.
func (w *world) checkTaking(p *process, old, next leases.Lease) {
	s := w.byID[old.Shard]
	isTaking := next.Owner == p.id && old.Owner != "" && old.Owner != next.Owner
	if s == nil || !isTaking || s.row.owner != old.Owner {
		return
	}
	if s.asked.by == p && s.asked.counter == old.Counter {
		return // it repeats a correct attempt
	}
	s.asked.by, s.asked.counter = p, old.Counter
	lease := w.plan.Shape.Lease
	for _, o := range w.procs {
		runs := o.id == old.Owner && !o.dead && !o.left
		sendsHeartbeats := w.now-o.beatAt < lease/2 && w.now-o.silent > 4*lease
		if runs && sendsHeartbeats {
			w.broken("nobody takes the lease of one who lives", "%s is about to take %v from %s, which showed %v ago that it lives", p.id, s, o.id, w.now-o.beatAt)
		}
	}
}

// checkDeleted checks that the lease of an ended shard is deleted only after all of its children have begun.
func (w *world) checkDeleted(p *process, s *shard) {
	if s.row.checkpoint.Kind != leases.ShardEnd && !s.dropped {
		w.broken("only what ended is deleted", "%s deletes the lease of %v at %v", p.id, s, s.row.checkpoint)
		return
	}
	for _, c := range w.childrenOf(s) {
		switch {
		case !everLeased(c) && !c.dropped:
			w.broken("a parent's lease stays until its children have begun", "%s deletes the lease of %v, and %v never had one", p.id, s, c)
		case c.row.there && c.row.checkpoint.Kind == leases.TrimHorizon:
			w.broken("a parent's lease stays until its children have begun", "%s deletes the lease of %v, and %v is at its beginning", p.id, s, c)
		}
	}
}

// checkNotedOnce checks that a process does not note a gap again if its lease already shows the gap. The check is made
// when the call is sent, because a call whose result was late may be applied after the lease shows the gap.
func (w *world) checkNotedOnce(p *process, g record.Gap) {
	s := w.byID[g.Shard]
	if s == nil || s.row.stopped == "" || s.row.owner != p.id {
		return
	}
	if g.Before == "" && !g.Whole && g.After == s.row.checkpoint.Sequence {
		w.broken("a gap is told once", "%s notes the gap of %v after %q anew, and its lease says that it is known", p.id, s, g.After)
	}
}

// noteGap makes a gap durable.
func (w *world) noteGap(p *process, g record.Gap) {
	if g.Shard == "" {
		w.noteBetween(p, g)
		return
	}
	s := w.byID[g.Shard]
	if s == nil {
		w.broken("shards are real", "%s notes a gap of %q", p.id, g.Shard)
		return
	}
	w.tally.Gaps++
	if k := p.gaps[s.id]; k != nil {
		k.noted = true
	} else if g.Whole && s.row.owner == p.id && !p.dead {
		w.noteKnown(p, s).noted = true
	}
	w.tell("state", "%s notes a gap of %v: after %q before %q whole %v unknown %v", p.id, s, g.After, g.Before, g.Whole, g.UnknownExtent)
	refused := g.UnknownExtent && !g.Whole && s.row.there && progress(s.row.checkpoint) == 0 // at the shard's start
	s.openGap = g.Before == "" && (!g.UnknownExtent || refused)
	lost := s.noteTrimmed(g)
	switch {
	case g.UnknownExtent && refused && !s.dropped:
		w.tally.UnknownGaps++
		w.checkRefused(p, s, lost)
	case g.UnknownExtent:
		w.tally.UnknownGaps++
		if !s.dropped && (s.parent == nil || !s.parent.dropped) {
			w.broken("a gap of unknown extent has its reason", "%s notes one of %v, which is listed, as its parent is", p.id, s)
		}
		for a := s; a != nil; a = a.parent {
			a.noteGone()
			noteGoneBelow(a)
		}
	case s.trimmedAt(g.After) && w.plan.Shape.StrictTrim:
		// The position itself is refused, and it is unknown whether something after it is gone.
		w.tally.StrictGaps++
	case !lost:
		w.broken("a gap is where something was lost", "%s notes a gap of %v after %q before %q (whole: %v), and nothing in it was lost", p.id, s, g.After, g.Before, g.Whole)
	}
	if w.plan.Shape.OnGap == coordinator.Stop {
		s.stopAt(g)
	}
}

// stopAt notes that a shard is stopped at a gap. The earliest gap counts.
func (s *shard) stopAt(g record.Gap) {
	isEarlier := g.After == "" || s.stopAfter != "" && record.CompareSequence(g.After, s.stopAfter) < 0
	if !s.stopped || isEarlier {
		s.stopAfter = g.After
	}
	s.stopped = true
}

// noteTrimmed notes that the trimmed records of a gap are in it. It reports whether one of them was lost.
func (s *shard) noteTrimmed(g record.Gap) (lost bool) {
	for _, r := range s.records {
		isAfter := g.After == "" || record.CompareSequence(r.seq, g.After) > 0
		isBefore := g.Before == "" || record.CompareSequence(r.seq, g.Before) < 0
		if r.trimmed && isAfter && isBefore {
			r.noted = true
			lost = lost || r.lost
		}
	}
	return lost
}

// noteBetween notes the gap between two streams. It contains the records that were written while the table had no
// stream.
func (w *world) noteBetween(p *process, g record.Gap) {
	w.tell("state", "%s notes a gap before %s", p.id, g.StreamARN)
	w.tally.Between++
	for _, t := range w.tables {
		read := false // whether the fleet read an earlier stream
		for _, st := range t.streams {
			if st.st.ARN() == g.StreamARN {
				if !read || !g.UnknownExtent {
					w.broken("a gap is where something was lost", "%s notes a gap before %s (unknown: %v), and no stream of %s was read before", p.id, g.StreamARN, g.UnknownExtent, t.name)
				}
				st.noted, st.held = true, w.plan.Shape.OnGap == coordinator.Stop
			}
			read = read || st.begun || slices.ContainsFunc(w.shards, func(s *shard) bool { return s.stream == st && s.leased })
		}
	}
}

// checkRefused checks that an unread shard whose iterator is refused is old enough to have lost records.
func (w *world) checkRefused(p *process, s *shard, lost bool) {
	keeps := w.plan.Shape.Retention
	switch age := w.now - s.made; {
	case age < keeps-keeps/24:
		w.broken("a young shard has lost nothing", "%s notes a gap of unknown extent of %v, which is %v old", p.id, s, age)
	case !lost && !w.plan.Shape.RefuseBelow:
		w.broken("a gap is where something was lost", "%s notes a gap of unknown extent of %v, and nothing of it was lost", p.id, s)
	}
}

// noteGone notes that the records of a dropped shard are in a gap of unknown extent.
func (s *shard) noteGone() {
	if s.dropped {
		for _, r := range s.records {
			r.noted = true
		}
	}
}

// noteGoneBelow notes that the descendants of a dropped shard may have been dropped before a consumer saw them.
func noteGoneBelow(s *shard) {
	for _, c := range s.children {
		if s.dropped && c.dropped && !c.leased {
			c.noteGone()
			noteGoneBelow(c)
		}
	}
}

// trimmedAt reports whether the record with the sequence number seq was trimmed.
func (s *shard) trimmedAt(seq string) bool {
	return slices.ContainsFunc(s.records[:s.trimmed], func(r *streamRecord) bool { return r.seq == seq })
}

// noteReader notes that a call reads a shard now. At most two processes may read a shard at a time.
func (w *world) noteReader(p *process, id string) {
	s := w.byID[id]
	if s == nil {
		w.broken("shards are real", "%s reads %q", p.id, id)
		return
	}
	s.reading = slices.DeleteFunc(s.reading, func(r reading) bool { return r.at+2*w.plan.Shape.Latency < w.now })
	distinct := map[*process]bool{p: true}
	for _, r := range s.reading {
		distinct[r.p] = true
	}
	if len(distinct) > 2 {
		w.broken("at most two readers a shard", "%d processes read %v at once, %s one of them", len(distinct), s, p.id)
	}
	s.reading = append(s.reading, reading{p, w.now})
}

// reading is a call that reads a shard.
type reading struct {
	p  *process
	at time.Duration
}

// countDescribe counts a DescribeStream call. All processes together may make at most ten in a second.
func (w *world) countDescribe(p *process) {
	w.tally.Describes++
	// A process that was paused between its permission and the call cannot know that the permission is too old.
	mayHaveWaited := p.resumed > 0 && w.now < p.resumed+2*time.Second || len(w.windowsOf(TableSlow, 0)) > 0
	if mayHaveWaited {
		return
	}
	w.listed = append(slices.DeleteFunc(w.listed, func(at time.Duration) bool { return at <= w.now-time.Second }), w.now)
	if len(w.listed) > 10 {
		w.broken("ten DescribeStream calls a second", "%d calls within a second, %s one of them", len(w.listed), p.id)
	}
}
