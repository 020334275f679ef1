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
		// Where nobody has begun to read, there is nothing to lose, unless the fleet is to begin at a
		// time; and of the shard that a stream was begun with nobody can tell what was trimmed before
		// anybody saw a record. A gap whose end nobody has seen yet grows by what is trimmed before
		// somebody does.
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

// drop takes a shard out of the listing, with what is left in it.
func (w *world) drop(s *shard) {
	if s.dropped || !s.closed {
		return
	}
	w.trim(s, len(s.records))
	if w.unbegun(s) {
		for _, r := range s.records {
			r.exempt = true // nobody knows that the shard was there
		}
	}
	s.stream.st.Drop(s.id)
	s.dropped = true
	w.unseen(s.stream)
	w.tell("stream", "%v is listed no more", s)
	w.tally.Dropped++
}

// unbegun tells whether neither a shard nor one before it ever had a lease, or it is not
// noted yet that the stream was begun; and its stream is one that the fleet may begin anywhere.
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

// unseen: a stream that came and went while nobody looked, with all its shards, is one that
// nobody can name.
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
