package simulation

// age trims the records that are older than the retention, and removes the shards that the stream no longer lists. It
// repeats this while the world runs.
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

// trim drops the records of a shard before its n-th record.
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
		if r.lost && s.openGap { // a gap whose end is not known yet includes the records that are trimmed until then
			r.noted = true
		}
		if w.losesNothing(s) {
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

// losesNothing reports whether no consumer has to deliver the records that are trimmed from a shard now. This is so if
// its stream is not begun, unless the fleet must begin at a time. It is also so for the first shard until its first
// record was seen, because it is unknown what was trimmed from it before.
func (w *world) losesNothing(s *shard) bool {
	isUnseenRoot := s.row.there && s.row.root && s.row.first == "" && progress(s.row.checkpoint) == 0
	return isUnseenRoot || w.unbegun(s) && w.plan.Shape.Start != FromTime
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

// unbegun reports whether the fleet may still begin to read the stream of a shard anywhere. This is so if the lease
// table does not say yet that the stream is begun, or if neither the shard nor an ancestor ever had a lease. A late
// stream must be read from its beginning.
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

// unseen exempts the records of a stream if no consumer ever saw the stream, because no consumer can report its gap.
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
