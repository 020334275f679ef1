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
//
// While nothing moves nothing changes, so what is done here depends on the input
// alone. Each step asks again: by then the room of the step before may have been
// used up, by pages that may be cloned too.
func (r *run) relieve() {
	r.relieving.Lock()
	defer r.relieving.Unlock()
	for r.bounds.stuck() {
		cloned := false
		for _, s := range r.scheds {
			cloned = s.compact() || cloned
		}
		if cloned {
			continue
		}
		for _, s := range r.scheds {
			s.relieve()
		}
		for _, s := range r.scheds {
			s.tick()
		}
		return
	}
}

// compact clones what waits to fill a batch, where that frees at least twice
// what it costs. It is false when there was nothing to clone.
func (s *scheduler) compact() bool {
	s.mu.Lock()
	defer s.unlock()
	if !s.waits() {
		return false
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
	if own == 0 || own*2 > pinned {
		return false
	}
	s.each(s.own)
	return true
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
