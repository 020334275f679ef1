package simulation

// checkPaused checks that a paused partition is not read.
func (p *process) checkPaused(shard string) {
	for _, part := range p.pipe.order {
		if part.told && !part.revoked && part.shard.id == shard {
			p.w.broken("who is paused is not read", "%s reads %v, and %s is paused", p.id, part.shard, part.name)
		}
	}
}

// checkAhead checks that the bytes of pages that are read and not taken stay within a bound. The bound is Prefetch,
// plus the pages that may be in flight when Prefetch is reached. Pages of paused partitions do not count.
func (w *world) checkAhead(q *pipe) {
	bytes, largest := 0, 0
	for _, page := range q.queue {
		largest = max(largest, page.Bytes)
		if !q.parts[page.Partition].wasPaused {
			bytes += page.Bytes
		}
	}
	if bound := int(w.plan.Shape.Prefetch) + maxCalls*largest; bytes > bound {
		w.broken("what is read ahead is bounded", "%s has %d bytes of pages that nobody took, of %d", q.p.id, bytes, w.plan.Shape.Prefetch)
	}
}
