package pipeline

// stopped notes that something does not move any more, and relieves the
// pressure when that was the last that did.
func (r *run) stopped() {
	if r.bounds.move(-1) {
		r.relieve()
	}
}

// relieve is called when the reader waits for room and nothing moves: batches
// that wait to be full hold the room. What they hold is cloned where that helps,
// and is written else.
func (r *run) relieve() {
	r.relieving.Lock() // one that comes late must not cut what was read since
	defer r.relieving.Unlock()
	if !r.bounds.stuck() {
		return
	}
	for _, s := range r.scheds {
		s.compact()
	}
	if !r.bounds.stuck() {
		return
	}
	for _, s := range r.scheds {
		s.relieve()
	}
	for _, s := range r.scheds {
		s.tick()
	}
}

// compact clones what waits to fill a batch, where that frees at least twice
// what it costs.
func (s *scheduler) compact() {
	s.mu.Lock()
	defer s.unlock()
	if !s.waits() {
		return
	}
	var own, pinned int64
	var last *inflight
	s.each(func(it *item) {
		if it.owned {
			return
		}
		own += ownBytes(it)
		if it.page != last {
			last = it.page
			pinned += it.page.bytes
		}
	})
	if own*2 <= pinned {
		s.each(s.own)
	}
}

func (s *scheduler) each(f func(*item)) {
	for _, c := range s.ready.chunks {
		for i := range c.items {
			f(&c.items[i])
		}
	}
}

// relieve makes what is ready due although it is not full: exactly that, and not
// what comes meanwhile, so that the cut does not depend on time.
func (s *scheduler) relieve() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush = s.ready.n
}
