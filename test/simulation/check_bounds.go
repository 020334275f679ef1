package simulation

// checkPaused checks that a paused partition is not read.
func (p *process) checkPaused(shard string) {
	for _, part := range p.pipe.order {
		if part.told && !part.revoked && part.shard.id == shard {
			p.w.broken("who is paused is not read", "%s reads %v, and %s is paused", p.id, part.shard, part.name)
		}
	}
}

// checkAhead checks that the number of records that are read and not taken stays within its bound. Pages that were in
// flight when the bound was reached do not count, and neither do pages of paused partitions.
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
