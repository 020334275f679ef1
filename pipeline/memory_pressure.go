package pipeline

import (
	"slices"
	"time"
)

// relievePressure frees the memory of batches that wait to be full, if they are the reason why a partition is not read.
// It runs in each step that ends something or in which the reader begins to wait. It clones or packs the changes of
// these batches. If that frees nothing, it has the incomplete batches written.
//
// Once the reader waits and nothing moves, nothing else changes, so the result depends on the input alone. The loop
// repeats after each clone, because pages that were handed over meanwhile may have used the freed memory.
func (r *run) relievePressure(now time.Time) {
	for len(r.fillers) > 0 && !r.packing && !r.closed {
		waiting := r.fillers
		switch r.bounds.currentPressure(r.moving) {
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

// blockingFillers returns the schedulers whose batches wait to be full, if together they use at least half of the
// memory of a paused partition, or of all memory. Clones do not count: most of them are retries, which need no other
// change.
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
	byPartition := map[string]amount{}
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

// fillingMemory returns the memory that only waiting deliveries use: that of the clones of a chunk, or that of its page
// if all pins of the page wait. fillingPins must be set.
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
		c.page.fillingPins = 0 // a page counts once
	}
	return a
}

// clonePages clones the ready changes, provided that this frees at least twice the memory that it costs. It reports
// whether it did.
func (s *scheduler) clonePages() bool {
	var cloneCost, pinned int64
	var last *inflightPage
	for i := range s.ready.chunks {
		c := &s.ready.chunks[i]
		if c.packed != nil || c.deliveries[0].cloned {
			continue
		}
		for k := range c.deliveries {
			cloneCost += cloneBytes(&c.deliveries[k])
		}
		if c.page != last {
			last = c.page
			pinned += c.page.bytes
		}
	}
	if cloneCost == 0 || cloneCost*2 > pinned {
		return false
	}
	for i := range s.ready.chunks {
		c := &s.ready.chunks[i]
		if c.packed != nil || c.deliveries[0].cloned {
			continue
		}
		c.deliveries = slices.Clone(c.deliveries) // the old slice is in the arena of the page
		for k := range c.deliveries {
			s.cloneChange(&c.deliveries[k])
		}
	}
	return true
}

// flushReady lets the ready deliveries be written in an incomplete batch. Later ones are not due, so that batches do
// not depend on time. It does nothing if all of them are packed within the limit: then they pin no page.
func (s *scheduler) flushReady() {
	if s.packedBytes > s.run.packedLimit || slices.ContainsFunc(s.ready.chunks,
		func(c chunk) bool { return c.packed == nil }) {
		s.dueCount = s.ready.n
	}
}
