package pipeline

import (
	"slices"
	"time"
)

// stopped notes that something does not move any more.
func (r *run) stopped() {
	r.bounds.move(-1)
	r.relieve()
}

// relieve is called after whatever may leave a batch that waits to be full as the reason why
// something is not read: a page was handed over, a Write has ended, the reader waits. What
// the batch holds is cloned where that helps, and is written else.
//
// Where the reader waits and nothing moves, nothing changes either, so what is done then
// depends on the input alone. Each step asks again: by then the room of the step before may
// have been used up, by pages that may be cloned too.
func (r *run) relieve() {
	if len(r.fillers) == 0 {
		return
	}
	r.relieving.Lock()
	defer r.relieving.Unlock()
	for {
		fillers := r.fillers
		switch r.bounds.pressure() {
		case notPressed:
			return
		case some:
			if fillers = r.holdingBack(); len(fillers) == 0 {
				return
			}
		}
		cloned := false
		for _, s := range fillers {
			cloned = s.compact() || cloned
		}
		if cloned {
			continue
		}
		for _, s := range fillers {
			s.relieve()
		}
		return
	}
}

// holdingBack are the schedulers whose batches wait to be full and hold most of what a
// partition that is not read has in flight, or of all where nothing is read. What is parked
// does not count: it goes on by itself.
func (r *run) holdingBack() []*scheduler {
	r.p.mu.Lock()
	defer r.p.mu.Unlock()
	now := time.Now()
	var filling []*scheduler
	for _, s := range r.fillers {
		if s.countFilling(now) {
			filling = append(filling, s)
		}
	}
	var all amount
	var parts []*partition
	for _, s := range filling {
		s.sumFilling(func(part *partition, a amount) {
			if part.filling == (amount{}) {
				parts = append(parts, part)
			}
			part.filling.add(a)
			all.add(a)
		})
	}
	back := r.bounds.heldBackBy(all, parts)
	for _, part := range parts {
		part.filling = amount{}
	}
	if !back {
		return nil
	}
	return filling
}

// countFilling counts for each page how many of its deliveries wait for a batch to fill. It
// is false where none does. Pipeline.mu is held, here and below.
func (s *scheduler) countFilling(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ready.n == 0 || s.closed || s.due(now) {
		return false
	}
	for i := range s.ready.chunks {
		if c := &s.ready.chunks[i]; c.packed == nil && !c.items[0].owned {
			c.page.filling += c.n
		}
	}
	return true
}

// sumFilling yields what waits alone holds: clones, and pages of which nothing else moves.
func (s *scheduler) sumFilling(yield func(*partition, amount)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.ready.chunks {
		items, in := s.ready.chunks[i].items, s.ready.chunks[i].page
		if s.ready.chunks[i].packed != nil {
			continue
		}
		if items[0].owned {
			a := amount{changes: int64(len(items))}
			for k := range items {
				a.bytes += ownBytes(&items[k])
			}
			yield(in.part, a)
			continue
		}
		if in.filling > 0 && in.filling == in.pins {
			yield(in.part, amount{in.bytes, in.changes})
		}
		in.filling = 0
	}
}

// compact packs what waits to fill a batch, or, where its sink does not take that, clones it
// where that frees at least twice what it costs. It is false when there was nothing to do.
func (s *scheduler) compact() bool {
	if s.route.sorted != nil {
		return s.pack()
	}
	s.mu.Lock()
	defer s.unlock()
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
// what comes meanwhile, so that the cut does not depend on time. Where all of it is packed it
// holds nothing back.
func (s *scheduler) relieve() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.packed <= s.run.packRoom && !slices.ContainsFunc(s.ready.chunks, func(c chunk) bool { return c.packed == nil }) {
		return
	}
	s.flush = s.ready.n
	s.dispatch(time.Now())
}
