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
// written. The result depends on the input alone if the reader waits and nothing moves, because no other event can come
// in between.
func (r *run) relievePressure(now time.Time) {
	if len(r.fillers) == 0 || r.packing || r.closed {
		return
	}
	relief := &pressureRelief{fillers: r.blockingFillers(now)}
	for _, s := range relief.fillers {
		relief.cloneOrGroup(s)
	}
	switch {
	case len(relief.packs) > 0:
		r.packing = true
		r.work.Go(func() { r.packForRelief(relief) })
	case relief.freed:
		r.pressureDue = true // pages that are handed over now can use the freed memory
	default:
		for _, s := range relief.fillers {
			s.flushReady()
		}
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
// returns all fillers. Under less pressure, it returns the fillers whose deliveries wait for a full batch now, if these
// deliveries use most of the memory (see memoryLimit.isMostlyFilling).
func (r *run) blockingFillers(now time.Time) []*scheduler {
	switch r.memory.currentPressure(r.moving) {
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
	if !r.memory.isMostlyFilling(fillingMemory(filling)) {
		return nil
	}
	return filling
}

// fillingMemory returns, by partition, the memory that only the ready deliveries of fillers use. These deliveries wait
// for a batch to fill. A page counts if they are all of the deliveries that pin it.
func fillingMemory(fillers []*scheduler) map[string]amount {
	byPartition := map[string]amount{}
	pins := map[*inflightPage]int{}
	for _, s := range fillers {
		for i := range s.ready.chunks {
			c := &s.ready.chunks[i]
			if c.packed != nil {
				continue
			}
			total := byPartition[c.page.partition.name]
			if c.pinsPage() {
				pins[c.page] += c.count
				if pins[c.page] == c.page.pins {
					total.add(c.page.used)
				}
			} else {
				total.add(cloneMemory(c.count, c.bytes))
			}
			byPartition[c.page.partition.name] = total
		}
	}
	return byPartition
}

// cloningFreesMemory reports whether cloning the ready changes frees at least twice the memory that it costs.
func (s *scheduler) cloningFreesMemory() bool {
	var cloned, pinned int64
	for i := range s.ready.chunks {
		c := &s.ready.chunks[i]
		if !c.pinsPage() {
			continue
		}
		cloned += cloneMemory(c.count, c.bytes).bytes
		pinned += c.page.used.bytes
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
		s.ready.markDue(len(s.ready.chunks))
	}
}
