package pipeline

import (
	"slices"
	"time"
)

// relievePressure frees memory that batches hold while they wait to be full, if that is why a
// partition is not read. It is a part of each step that ends something, or in which the reader begins to wait. It
// clones what the batches hold or has it packed, and if that frees nothing it has them written.
//
// Once the reader waits and nothing moves, nothing else changes either, so the result depends on
// the input alone. The loop looks again after each clone: pages that were handed over meanwhile
// may have used up what it freed, and may be cloned too.
func (r *run) relievePressure(now time.Time) {
	for len(r.fillers) > 0 && !r.packing && !r.closed {
		waiting := r.fillers
		switch r.bounds.pressure(r.moving) {
		case noPressure:
			return
		case somePressure:
			if waiting = r.blockingFillers(now); len(waiting) == 0 {
				return
			}
		}
		cloned := false
		var packs []packWork
		for _, s := range waiting {
			if s.route.sortedWriter == nil {
				cloned = s.clonePages() || cloned
				continue
			}
			for _, group := range groupPackable(s.ready.chunks) {
				packs = append(packs, packWork{s: s, group: group})
			}
		}
		if len(packs) > 0 {
			r.packing = true
			r.work.Go(func() { r.pack(waiting, packs, cloned) })
			return
		}
		if !cloned {
			for _, s := range waiting {
				s.flushReady()
			}
			return
		}
		r.dispatch(now)
	}
}

// blockingFillers are the schedulers whose batches wait to be full, if together they hold at
// least half of the memory of a paused partition, or of all memory in flight. Cloned changes do
// not count: most are tried again by themselves.
func (r *run) blockingFillers(now time.Time) []*scheduler {
	var filling []*scheduler
	for _, s := range r.fillers {
		if s.ready.n == 0 || s.isDue(now) {
			continue
		}
		filling = append(filling, s)
		for i := range s.ready.chunks {
			if c := &s.ready.chunks[i]; c.packed == nil && !c.deliveries[0].cloned {
				c.page.fillingPins += c.n
			}
		}
	}
	var all amount
	byPartition := map[string]amount{} // by partition
	for _, s := range filling {
		for i := range s.ready.chunks {
			c := &s.ready.chunks[i]
			a := c.fillingMemory()
			part := byPartition[c.page.partition.name]
			part.add(a)
			byPartition[c.page.partition.name] = part
			all.add(a)
		}
	}
	if !r.bounds.mostlyFilling(all, byPartition) {
		return nil
	}
	return filling
}

// fillingMemory returns the memory that only deliveries hold that wait to fill batches: that of the clones of a chunk, or of
// its page if all deliveries of that wait, whose number has been counted.
func (c *chunk) fillingMemory() (a amount) {
	switch {
	case c.packed != nil:
	case c.deliveries[0].cloned:
		a.changes = int64(len(c.deliveries))
		for k := range c.deliveries {
			a.bytes += cloneBytes(&c.deliveries[k])
		}
	default:
		if c.page.fillingPins > 0 && c.page.fillingPins == c.page.pins {
			a = amount{c.page.bytes, c.page.changes}
		}
		c.page.fillingPins = 0 // it counts once
	}
	return a
}

// clonePages clones the changes that wait to fill a batch out of their pages, provided that this frees at least twice
// the memory that it costs. It reports whether it did so.
func (s *scheduler) clonePages() bool {
	var own, pinned int64
	var last *inflightPage
	for i := range s.ready.chunks {
		c := &s.ready.chunks[i]
		if c.packed != nil || c.deliveries[0].cloned {
			continue
		}
		for k := range c.deliveries {
			own += cloneBytes(&c.deliveries[k])
		}
		if c.page != last {
			last = c.page
			pinned += c.page.bytes
		}
	}
	if own == 0 || own*2 > pinned {
		return false
	}
	for i := range s.ready.chunks {
		c := &s.ready.chunks[i]
		if c.packed != nil || c.deliveries[0].cloned {
			continue
		}
		c.deliveries = slices.Clone(c.deliveries) // out of the page's arena
		for k := range c.deliveries {
			s.cloneChange(&c.deliveries[k])
		}
	}
	return true
}

// flushReady makes what is ready now due although it is not a full batch. What comes later is
// not, so that the cut does not depend on time. It does nothing if all of it is packed within
// its budget: then it holds no page.
func (s *scheduler) flushReady() {
	if s.packedBytes > s.run.packedLimit || slices.ContainsFunc(s.ready.chunks, func(c chunk) bool { return c.packed == nil }) {
		s.dueCount = s.ready.n
	}
}
