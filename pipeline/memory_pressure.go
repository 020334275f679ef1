package pipeline

import (
	"slices"
	"time"
)

// relievePressure frees the memory of batches that wait to be full, if these batches are the reason why a partition is
// not read. It runs in each step in which something ends, such as a batch, or in which the reader begins to wait. It
// clones the changes of the batches, or packs (compresses) them. If that frees nothing, it has the incomplete batches
// written.
//
// If the reader waits and nothing moves, no other event can come in between. So the result depends on the input alone.
// The loop repeats after changes were cloned, because pages that were handed over meanwhile may have used the freed
// memory.
func (r *run) relievePressure(now time.Time) {
	for len(r.fillers) > 0 && !r.packing && !r.closed {
		waiting := r.blockingFillers(now)
		if len(waiting) == 0 {
			return
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

// blockingFillers returns the schedulers whose batches must not wait to be full any longer: all of them if nothing
// moves. Under less pressure it returns those that wait, if together they use at least half of the memory of a paused
// partition, or of all memory. Clones do not count: most of them are retries, which need no other change.
func (r *run) blockingFillers(now time.Time) []*scheduler {
	switch r.bounds.currentPressure(r.moving) {
	case noPressure:
		return nil
	case stalled:
		return r.fillers
	}
	var filling []*scheduler
	for _, s := range r.fillers {
		if s.ready.n == 0 || s.isDue(now) {
			continue
		}
		filling = append(filling, s)
		for i := range s.ready.chunks {
			if c := &s.ready.chunks[i]; c.pinsPage() {
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

// fillingMemory returns the memory that only deliveries waiting for a batch to fill use. That is the memory of the
// chunk's clones, or the memory of its page if every delivery that pins the page waits. fillingPins must be set.
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
		c.page.fillingPins = 0 // so that the page counts once
	}
	return a
}

// clonePages clones the ready changes if that frees at least twice the memory that it costs. It reports whether it
// cloned them.
func (s *scheduler) clonePages() bool {
	var cloneCost, pinned int64
	var last *inflightPage
	for i := range s.ready.chunks {
		c := &s.ready.chunks[i]
		if !c.pinsPage() {
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
		if !c.pinsPage() {
			continue
		}
		c.deliveries = slices.Clone(c.deliveries) // the old slice is in the arena of the page
		for k := range c.deliveries {
			s.cloneChange(&c.deliveries[k])
		}
	}
	return true
}

// flushReady makes the deliveries that are ready now due: they are written even in an incomplete batch. Deliveries that
// become ready later still wait for a full batch. So the content of batches does not depend on how fast pages arrive.
// flushReady does nothing if all ready deliveries are packed and their packs are within MaxPacked, because packed
// deliveries pin no page.
func (s *scheduler) flushReady() {
	if s.packedBytes > s.run.packedLimit || slices.ContainsFunc(s.ready.chunks,
		func(c chunk) bool { return c.packed == nil }) {
		s.dueCount = s.ready.n
	}
}
