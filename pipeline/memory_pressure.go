package pipeline

import (
	"slices"
	"time"
)

// pressureRelief is one try of relievePressure to free memory.
type pressureRelief struct {
	fillers []*scheduler // schedulers whose batches wait to be full
	packs   []packWork
	freed   bool // changes were cloned or packed, which frees the memory of their pages
}

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
		fillers := r.blockingFillers(now)
		if len(fillers) == 0 {
			return
		}
		relief := &pressureRelief{fillers: fillers}
		for _, s := range fillers {
			relief.cloneOrGroup(s)
		}
		if len(relief.packs) > 0 {
			r.packing = true
			r.work.Go(func() { r.pack(relief) })
			return
		}
		if !relief.freed {
			for _, s := range fillers {
				s.flushReady()
			}
			return
		}
		r.dispatch(now)
	}
}

// cloneOrGroup groups the ready changes of a scheduler for packs if its sink writes packed batches. Otherwise it clones
// them.
func (relief *pressureRelief) cloneOrGroup(s *scheduler) {
	if s.route.sortedWriter != nil {
		for _, pages := range groupPackable(s.ready.chunks) {
			relief.packs = append(relief.packs, packWork{scheduler: s, pages: pages})
		}
		return
	}
	if s.cloningFreesMemory() {
		s.cloneReady()
		relief.freed = true
	}
}

// blockingFillers returns the schedulers whose batches must not wait to be full any longer. If nothing moves, it
// returns all fillers. Under less pressure, it returns the fillers whose deliveries now wait for a full batch. It does
// so only if these deliveries use at least half of the memory in flight, or half of the memory of one paused partition.
// The memory in flight is counted without clones: most clones are retries, which wait for no other change.
func (r *run) blockingFillers(now time.Time) []*scheduler {
	switch r.bounds.currentPressure(r.moving) {
	case noPressure:
		return nil
	case stalled:
		return r.fillers
	}
	var filling []*scheduler
	for _, s := range r.fillers {
		if s.isFilling(now) {
			filling = append(filling, s)
		}
	}
	if !r.bounds.isMostlyFilling(fillingMemory(filling)) {
		return nil
	}
	return filling
}

// fillingMemory returns, by partition, the memory that only the ready deliveries of fillers use. These deliveries wait
// for a batch to fill.
func fillingMemory(fillers []*scheduler) map[string]amount {
	for _, s := range fillers {
		for i := range s.ready.chunks {
			if c := &s.ready.chunks[i]; c.pinsPage() {
				c.page.fillingPins += c.n
			}
		}
	}
	byPartition := map[string]amount{}
	for _, s := range fillers {
		for i := range s.ready.chunks {
			c := &s.ready.chunks[i]
			total := byPartition[c.page.partition.name]
			total.add(c.takeFillingMemory())
			byPartition[c.page.partition.name] = total
		}
	}
	return byPartition
}

// takeFillingMemory returns the memory of a chunk's clones, or the memory of its page if every delivery that pins the
// page waits for a batch to fill. It resets fillingPins of the page, so that another chunk does not count the page.
func (c *chunk) takeFillingMemory() amount {
	if c.packed != nil {
		return amount{}
	}
	if c.deliveries[0].cloned {
		return cloneMemory(c.n, c.bytes)
	}
	allPinsFilling := c.page.fillingPins == c.page.pins
	c.page.fillingPins = 0
	if !allPinsFilling {
		return amount{}
	}
	return c.page.used
}

// cloningFreesMemory reports whether cloning the ready changes frees at least twice the memory that it costs.
func (s *scheduler) cloningFreesMemory() bool {
	var cloned, pinned int64
	var lastPage *inflightPage
	for i := range s.ready.chunks {
		c := &s.ready.chunks[i]
		if !c.pinsPage() {
			continue
		}
		cloned += cloneMemory(c.n, c.bytes).bytes
		if c.page != lastPage {
			lastPage = c.page
			pinned += c.page.used.bytes
		}
	}
	return cloned > 0 && cloned*2 <= pinned
}

// cloneReady clones the ready changes that pin their pages.
func (s *scheduler) cloneReady() {
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
}

// flushReady makes all ready deliveries due: they are written even in an incomplete batch. Deliveries that become ready
// after the call still wait for a full batch. So the content of batches does not depend on how fast pages arrive.
// flushReady does nothing if all ready deliveries are packed and their packs are within MaxPacked, because packed
// deliveries pin no page.
func (s *scheduler) flushReady() {
	isUnpacked := func(c chunk) bool { return c.packed == nil }
	if s.packedBytes > s.run.packedLimit || slices.ContainsFunc(s.ready.chunks, isUnpacked) {
		s.dueCount = s.ready.n
	}
}
