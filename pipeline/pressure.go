package pipeline

import (
	"slices"
	"time"
)

// doneMoving notes that a page or a writer has stopped moving.
func (r *run) doneMoving() {
	r.bounds.move(-1)
	r.relievePressure()
}

// relievePressure frees memory that batches hold while they wait to be full, if that is why a
// partition is not read. It is called when a page was handed over, when a Write has ended and
// when the reader waits. It packs or clones what the batches hold, and if that frees nothing it
// has them written.
//
// Once the reader waits and nothing moves, nothing else changes either, so the result depends on
// the input alone. The loop looks again after each step: pages that were handed over meanwhile
// may have used up what the step freed, and may be packed or cloned too.
func (r *run) relievePressure() {
	if len(r.lingering) == 0 {
		return
	}
	r.relieving.Lock()
	defer r.relieving.Unlock()
	for {
		fillers := r.lingering
		switch r.bounds.pressure() {
		case noPressure:
			return
		case somePressure:
			if fillers = r.fillersHoldingBack(); len(fillers) == 0 {
				return
			}
		}
		cloned := false
		for _, s := range fillers {
			cloned = s.freePages() || cloned
		}
		if cloned {
			continue
		}
		for _, s := range fillers {
			s.flushReady()
		}
		return
	}
}

// fillersHoldingBack are the schedulers whose batches wait to be full, if together they hold at
// least half of the memory of a paused partition, or of all memory in flight. Parked changes do
// not count: they are tried again by themselves.
func (r *run) fillersHoldingBack() []*scheduler {
	r.p.mu.Lock()
	defer r.p.mu.Unlock()
	now := time.Now()
	var filling []*scheduler
	for _, s := range r.lingering {
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
	back := r.bounds.mostlyFilling(all, parts)
	for _, part := range parts {
		part.filling = amount{}
	}
	if !back {
		return nil
	}
	return filling
}

// countFilling counts for each page how many of its deliveries wait for a batch to fill. It
// reports whether any does. Pipeline.mu is held, here and below.
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

// sumFilling yields the memory that only waiting deliveries hold: that of clones, and of pages
// whose deliveries all wait.
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
				a.bytes += cloneBytes(&items[k])
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

// freePages packs what waits to fill a batch. If its sink is not a [SortedWriter], it clones
// the changes out of their pages, provided that this frees at least twice the memory that it
// costs. It reports whether it did anything.
func (s *scheduler) freePages() bool {
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
		own += cloneBytes(it)
		if it.page != last {
			last = it.page
			pinned += it.page.bytes
		}
	})
	if own == 0 || own*2 > pinned {
		return false
	}
	s.each(s.detach)
	return true
}

func (s *scheduler) each(f func(*item)) {
	for _, c := range s.ready.chunks {
		for i := range c.items {
			f(&c.items[i])
		}
	}
}

// flushReady makes what is ready now due although it is not a full batch. What comes later is
// not, so that the cut does not depend on time. It does nothing if all of it is packed within
// its budget: then it holds no page.
func (s *scheduler) flushReady() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.packed <= s.run.packRoom && !slices.ContainsFunc(s.ready.chunks, func(c chunk) bool { return c.packed == nil }) {
		return
	}
	s.flush = s.ready.n
	s.dispatch(time.Now())
}
