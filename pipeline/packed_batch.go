package pipeline

import (
	"fmt"
	"hash/maphash"
	"iter"
	"log/slog"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// packWork is a pack that is made for a scheduler, and the pages whose changes it gets.
type packWork struct {
	scheduler *scheduler
	pages     []packablePage
	pack      *pack
}

// packForRelief compresses changes that wait for a batch to fill, so that they do not pin their pages. It runs in its
// own goroutine, and ignores chunks that leave the queue meanwhile. If the packs of a scheduler exceed MaxPacked, or if
// no memory was freed, the scheduler writes an incomplete batch.
func (r *run) packForRelief(relief *pressureRelief) {
	for i := range relief.packs {
		relief.packs[i].pack = packPages(relief.packs[i].pages)
	}
	r.step(func(time.Time) {
		r.packing, r.pressureDue = false, true
		for _, w := range relief.packs {
			if w.scheduler.replaceWithPack(w.scheduler.ready.chunks, w.pages, w.pack) {
				relief.freed = true
			}
		}
		for _, s := range relief.fillers {
			if s.packedBytes > r.packedLimit || !relief.freed {
				s.flushReady()
			}
		}
	})
}

// groupPackable returns, in groups, the pages of the chunks that can be packed. The pages of one group go into one
// pack.
func groupPackable(chunks []chunk) [][]packablePage {
	var groups [][]packablePage
	var groupBytes int64
	for i := range chunks {
		c := &chunks[i]
		if !c.canPack() {
			continue
		}
		page := packablePage{page: c.page, bytes: c.bytes, changes: make([]*record.Change, c.count)}
		for k := range c.deliveries {
			page.changes[k] = c.deliveries[k].Change
		}
		if len(groups) == 0 || groupBytes+page.bytes > packSize {
			groups, groupBytes = append(groups, nil), 0
		}
		groupBytes += page.bytes
		last := &groups[len(groups)-1]
		*last = append(*last, page)
	}
	return groups
}

// canPack reports whether the deliveries of a chunk can be recreated from their changes alone. They can if no delivery
// has failed or was cloned, and the source does not track single records.
func (c *chunk) canPack() bool {
	if c.packed != nil || c.page.tracker != nil {
		return false
	}
	for i := range c.deliveries {
		if c.deliveries[i].cloned || c.deliveries[i].fail != nil {
			return false
		}
	}
	return true
}

// replaceWithPack replaces the deliveries of chunks by references to a pack of their changes. It leaves a chunk as it
// is if its deliveries have changed since the pack was begun. It reports whether any chunk refers to the pack.
func (s *scheduler) replaceWithPack(chunks []chunk, pages []packablePage, p *pack) bool {
	pageIndexes := make(map[*inflightPage]int, len(pages))
	for i := range pages {
		pageIndexes[pages[i].page] = i
	}
	for i := range chunks {
		c := &chunks[i]
		pageIndex, isInPack := pageIndexes[c.page]
		isUnchanged := isInPack && c.pinsPage() && c.count == len(pages[pageIndex].changes)
		if !isUnchanged {
			continue
		}
		c.packed = &packed{pack: p, pageIndex: pageIndex, newest: c.newest()}
		c.deliveries = nil
		s.run.unpin(c.page, c.count)
		p.pages++
	}
	if p.pages == 0 {
		return false
	}
	s.packedBytes += p.bytes
	return true
}

// newest returns the newest creation time of the changes of a chunk.
func (c *chunk) newest() (newest time.Time) {
	for i := range c.deliveries {
		newest = laterOf(newest, c.deliveries[i].Change.Time)
	}
	return newest
}

// releasePack notes that a chunk does not need its pack any more.
func (s *scheduler) releasePack(c *chunk) {
	p := c.packed.pack
	p.pages--
	if p.pages == 0 {
		s.packedBytes -= p.bytes
	}
}

// finishPacked finishes all deliveries of a packed chunk.
func (s *scheduler) finishPacked(c *chunk, o Outcome) {
	s.route.ledger.Pending -= int64(c.count)
	s.route.ledger.addFinished(o, "", int64(c.count))
	if o != Revoked {
		s.route.newest = laterOf(s.route.newest, c.packed.newest)
	}
	s.run.finishDeliveries(c.page, c.count)
	s.releasePack(c)
}

// takePacked moves whole chunks from the front of ready into a batch, and returns the number of their deliveries. The
// first chunk is packed. A chunk that is larger than a batch is taken alone.
func (s *scheduler) takePacked(b *batch) (n int) {
	taken := 0
	for taken < len(s.ready.chunks) {
		c := &s.ready.chunks[taken]
		isPackable := c.packed != nil || c.canPack()
		fits := n == 0 || n+c.count <= s.route.Batch.Count && b.bytes+c.bytes <= s.route.Batch.Bytes
		canJoin := isPackable && fits && c.due == s.ready.startsDue()
		if !canJoin {
			break
		}
		n += c.count
		b.bytes += c.bytes
		taken++
	}
	b.chunks = s.ready.takeChunks(taken)
	s.writingPacked = true
	return n
}

// packChunks packs the chunks of a batch that are not packed yet.
func (b *batch) packChunks() {
	for _, pages := range groupPackable(b.chunks) {
		b.packs = append(b.packs, packWork{pages: pages, pack: packPages(pages)})
	}
}

// afterPackedCall handles the result of a call for a packed batch.
func (s *scheduler) afterPackedCall(b *batch) {
	switch b.phase {
	case packing:
		s.afterPack(b)
	case sorting:
		s.unpackAfterError(b)
	case unpacking:
		b.phase = settled
		if b.unpackErr != nil { // the memory of the pack is corrupt
			s.run.fail(fmt.Errorf("%s: %w", s.route.stage, b.unpackErr))
		}
	}
}

// afterPack has a packed batch written, unless a lane exists or the batch has become too large.
func (s *scheduler) afterPack(b *batch) {
	for _, w := range b.packs {
		s.replaceWithPack(b.chunks, w.pages, w.pack)
	}
	fits := b.count <= s.route.Batch.Count && b.bytes <= s.route.Batch.Bytes
	if fits && s.lanes.count == 0 && !b.noAttempt {
		b.phase = sorting
		return
	}
	b.err = errMustUnpack
	s.unpackAfterError(b)
}

// unpackAfterError has a packed batch unpacked if it has an error. Its deliveries are then ready again, for Write. Two
// things stay packed: the chunks of paused partitions, and a batch that was cancelled for a revoked partition.
func (s *scheduler) unpackAfterError(b *batch) {
	b.phase = settled
	isCancelled := b.noAttempt || s.run.hardCtx.Err() != nil
	if b.err == nil || isCancelled {
		return
	}
	s.keepPacked(b)
	if len(b.chunks) == 0 {
		return
	}
	b.phase = unpacking
	n, cause := b.count, b.err
	s.run.log(slog.LevelDebug, "a packed batch is unpacked and written", func() []slog.Attr {
		return []slog.Attr{slog.String("sink", s.route.Name), slog.Int("deliveries", n),
			slog.String("cause", redact.LogText(cause))}
	})
}

// keepPacked moves the chunks of paused partitions out of a batch that must be unpacked. It reserves memory for the
// clones of the other chunks. The reason is that a batch can be larger than the limit on memory. If all of it were
// unpacked and one of its keys failed, the clones would use all memory, and no partition would be read.
func (s *scheduler) keepPacked(b *batch) {
	unpackable := b.chunks[:0]
	for _, c := range b.chunks {
		partition := c.page.partition.name
		if s.run.memory.isPaused(partition) {
			s.keptPacked = append(s.keptPacked, c)
			continue
		}
		// This can pause the partition. Then its next chunks stay packed.
		s.run.memory.takeClones(partition, cloneMemory(c.count, c.bytes))
		unpackable = append(unpackable, c)
	}
	clear(b.chunks[len(unpackable):])
	b.chunks = unpackable
}

// requeuePacked makes the chunks that keepPacked moved ready again once their partition is resumed. Changes that were
// read later may be written already. That is safe, because a [SortedWriter] is [Guarded]: it compares versions.
func (s *scheduler) requeuePacked() {
	var resumed []chunk
	paused := s.keptPacked[:0]
	for _, c := range s.keptPacked {
		if s.run.memory.isPaused(c.page.partition.name) {
			paused = append(paused, c)
		} else {
			resumed = append(resumed, c)
		}
	}
	clear(s.keptPacked[len(paused):])
	s.keptPacked = paused
	s.pushDue(resumed)
}

// pushDue inserts chunks at the front of ready. They are due: they do not wait for a full batch.
func (s *scheduler) pushDue(chunks []chunk) {
	if len(chunks) == 0 {
		return
	}
	for i := range chunks {
		chunks[i].due = true
	}
	s.ready.pushFront(chunks)
}

// errMustUnpack means that a packed batch must be unpacked, and its deliveries written by Write instead of WriteSorted.
var errMustUnpack = errs.New("some of its keys wait or are quarantined")

// applyPackedResult finishes a packed batch that was written, or makes it ready again. After a hard stop, a batch that
// was not written stays pending.
func (s *scheduler) applyPackedResult(b *batch) {
	s.writingPacked = false
	switch {
	case b.err == nil:
		for i := range b.chunks {
			s.finishPacked(&b.chunks[i], Written)
		}
		s.route.ledger.Written -= int64(b.coalesced)
		s.route.ledger.Coalesced += int64(b.coalesced)
	case s.run.hardCtx.Err() == nil:
		s.requeueChunks(b)
	}
}

// requeueChunks makes the chunks of a packed batch ready again, unpacked if the batch was unpacked. It revokes the
// chunks of revoked partitions.
func (s *scheduler) requeueChunks(b *batch) {
	var readyAgain []chunk
	for i, c := range b.chunks {
		if c.page.partition.state.isRevoked() {
			if b.unpacked != nil {
				s.run.memory.releaseClones(c.page.partition.name, cloneMemory(c.count, c.bytes))
			}
			s.finishPacked(&c, Revoked)
			continue
		}
		if b.unpacked != nil {
			s.releasePack(&c)
			c = newChunk(b.unpacked[i], c.addedAt)
		}
		readyAgain = append(readyAgain, c)
	}
	s.pushDue(readyAgain)
}

// unpackDeliveries recreates the deliveries of packed chunks. The result has a slice for each chunk. The deliveries own
// their bytes.
func (r *run) unpackDeliveries(chunks []chunk) ([][]queuedDelivery, error) {
	unpacked := make([][]queuedDelivery, len(chunks))
	for i, c := range chunks {
		unpacked[i] = make([]queuedDelivery, c.count)
	}
	for rec, err := range unpackSorted(chunks) {
		if err != nil {
			return nil, err
		}
		deliveries := unpacked[rec.chunkIndex]
		if rec.index >= len(deliveries) {
			return nil, record.ErrPacked
		}
		deliveries[rec.index] = queuedDelivery{
			Delivery: Delivery{Change: rec.change}, page: chunks[rec.chunkIndex].page,
			hash: maphash.String(r.p.seed, string(rec.change.Key)), size: int64(len(rec.change.Raw)),
			cloned: true, unplanned: true,
		}
	}
	return unpacked, nil
}

// writeSorted gives a packed batch to the sink. Its error applies to the whole batch.
func (r *route) writeSorted(run *run, b *batch) error {
	if err := run.refuseQuarantined(r, b); err != nil {
		return err
	}
	b.sendCtx, b.endSpan = r.tel.write(b.ctx, b)
	err := guard(r.stage, nil, func() (err error) {
		b.coalesced, err = r.sortedWriter.WriteSorted(b.sendCtx, r.sortedDeliveries(b.chunks))
		return err
	})
	if err != nil {
		return err
	}
	if b.coalesced < 0 || b.coalesced > b.count {
		return errs.Errorf("the sink coalesced %d of %d sorted deliveries", b.coalesced, b.count)
	}
	r.health.update(nil, []error{nil})
	r.denials.partSucceeded()
	return nil
}

// sortedDeliveries plans and yields the deliveries of packed chunks.
func (r *route) sortedDeliveries(chunks []chunk) iter.Seq2[*Delivery, error] {
	return func(yield func(*Delivery, error) bool) {
		for rec, err := range unpackSorted(chunks) {
			delivery := &Delivery{Change: rec.change}
			if err == nil {
				err = r.callPlan(delivery)
			}
			if !yield(delivery, err) || err != nil {
				return
			}
		}
	}
}
