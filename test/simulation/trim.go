package simulation

// age trims what is older than the stream keeps, and drops shards that are: again and
// again while the world runs.
func (w *world) age() {
	limit := w.now - w.plan.Shape.Retention
	for _, s := range w.shards {
		n := s.trimmed
		for n < len(s.records) && s.records[n].at < limit {
			n++
		}
		w.trim(s, n)
		if s.closed && s.ended < limit && s.trimmed == len(s.records) {
			w.drop(s)
		}
	}
	w.after(w.plan.Shape.Retention/5, w.age)
}

// trim drops the records of a shard before the n-th.
func (w *world) trim(s *shard, n int) {
	if s.dropped || n <= s.trimmed {
		return
	}
	lost := 0
	for _, r := range s.records[s.trimmed:n] {
		r.trimmed = true
		if !s.row.covers(r) {
			r.lost = true
			lost++
		}
		// An unread stream has nothing to lose, unless the fleet must begin at a time. For the shard that a stream was
		// begun with, it is unknown what was trimmed before a record was seen. A gap whose end is not seen yet grows by
		// the records that are trimmed until then.
		r.noted = r.noted || r.lost && s.openGap
		if w.unbegun(s) && w.plan.Shape.Start != FromTime || s.row.there && s.row.root && s.row.first == "" && progress(s.row.checkpoint) == 0 {
			r.exempt = true
		}
	}
	if lost > 0 {
		w.tally.TrimmedUnread++
	}
	w.tell("stream", "%v: records #%d to #%d are trimmed, %d of them unacknowledged", s, s.trimmed, n-1, lost)
	s.stream.st.Trim(s.id, n-s.trimmed)
	s.trimmed = n
}

// drop removes a shard from the listing, with its remaining records.
func (w *world) drop(s *shard) {
	if s.dropped || !s.closed {
		return
	}
	w.trim(s, len(s.records))
	if w.unbegun(s) {
		for _, r := range s.records {
			r.exempt = true // no consumer knows that the shard existed
		}
	}
	s.stream.st.Drop(s.id)
	s.dropped = true
	w.unseen(s.stream)
	w.tell("stream", "%v is listed no more", s)
	w.tally.Dropped++
}

// unbegun reports whether neither a shard nor an ancestor ever had a lease, or the note that the stream was begun is
// not written yet; and the fleet may begin its stream anywhere.
func (w *world) unbegun(s *shard) bool {
	if s.stream.late {
		return false
	}
	if !s.stream.begun {
		return true
	}
	for ; s != nil; s = s.parent {
		if s.leased {
			return false
		}
	}
	return true
}

// unseen: a stream that came and went unseen, with all its shards, cannot be named.
func (w *world) unseen(st *stream) {
	for _, s := range w.shards {
		if s.stream == st && (s.leased || !s.dropped) {
			return
		}
	}
	for _, s := range w.shards {
		if s.stream != st {
			continue
		}
		for _, r := range s.records {
			r.exempt = true
		}
	}
}
