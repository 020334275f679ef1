package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"log/slog"
	"slices"
	"time"
	"unsafe"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// packWork is a pack that is made for a scheduler, and the pages whose changes it gets.
type packWork struct {
	s     *scheduler
	group []packablePage
	pack  *pack
}

// pack compresses changes that wait for a batch to fill, so that they do not pin their pages. It runs in its own
// goroutine, and ignores chunks that leave the queue meanwhile. Schedulers in waiting write incomplete batches if their
// packs exceed MaxPacked. They also do if pack compressed nothing and cloned is false, because then no memory was
// freed.
func (r *run) pack(waiting []*scheduler, work []packWork, cloned bool) {
	for i := range work {
		work[i].pack = packPages(work[i].group)
	}
	r.step(func(time.Time) {
		r.packing, r.checkPressure = false, true
		for _, w := range work {
			cloned = w.s.replaceWithPack(w.s.ready.chunks, w.group, w.pack) || cloned
		}
		for _, s := range waiting {
			if s.packedBytes > r.packedLimit {
				s.dueCount = s.ready.n
			} else if !cloned {
				s.flushReady()
			}
		}
	})
}

// groupPackable returns the pages of those chunks that can be packed. The pages of one group go into one pack.
func groupPackable(chunks []chunk) [][]packablePage {
	var groups [][]packablePage
	size := int64(packSize)
	for i := range chunks {
		c := &chunks[i]
		if !c.canPack() {
			continue
		}
		p := packablePage{page: c.page, bytes: c.bytes, changes: make([]*record.Change, c.n)}
		for k := range c.deliveries {
			p.changes[k] = c.deliveries[k].d.Change
		}
		if size += p.bytes; size > packSize {
			groups, size = append(groups, nil), p.bytes
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], p)
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
func (s *scheduler) replaceWithPack(chunks []chunk, group []packablePage, p *pack) bool {
	p.pages = 0
	pageNumbers := make(map[*inflightPage]int, len(group))
	for n := range group {
		pageNumbers[group[n].page] = n
	}
	for i := range chunks {
		c := &chunks[i]
		n, ok := pageNumbers[c.page]
		if !ok || !c.pinsPage() || c.n != len(group[n].changes) {
			continue
		}
		c.packed = &packed{pack: p, page: n}
		for k := range c.deliveries {
			if t := c.deliveries[k].d.Change.Time; t.After(c.packed.newest) {
				c.packed.newest = t
			}
		}
		c.deliveries = nil
		s.run.unpin(c.page, c.n)
		p.pages++
	}
	if p.pages > 0 {
		s.packedBytes += p.bytes
	}
	return p.pages > 0
}

// releasePack notes that a chunk does not need its pack any more.
func (s *scheduler) releasePack(c *chunk) {
	p := c.packed.pack
	if p.pages--; p.pages == 0 {
		s.packedBytes -= p.bytes
	}
}

// finishPacked finishes all deliveries of a packed chunk.
func (s *scheduler) finishPacked(c *chunk, o Outcome) {
	s.route.ledger.Pending -= int64(c.n)
	s.route.ledger.addFinished(o, "", int64(c.n))
	if o != Revoked {
		s.route.newest.update(c.packed.newest)
	}
	s.run.finishDeliveries(c.page, c.n)
	s.releasePack(c)
}

// takePacked moves whole chunks from the front of ready into a batch, and returns the number of their deliveries. The
// first chunk is packed. A chunk that is larger than a batch is taken alone.
func (s *scheduler) takePacked(b *batch) (n int) {
	limit := s.ready.n
	if s.dueCount > 0 {
		limit = s.dueCount
	}
	taken := 0
	for taken < len(s.ready.chunks) {
		c := &s.ready.chunks[taken]
		exceeds := n+c.n > s.route.Batch.Count || b.bytes+c.bytes > s.route.Batch.Bytes
		if c.packed == nil && !c.canPack() || n >= limit || n > 0 && exceeds {
			break
		}
		n += c.n
		b.bytes += c.bytes
		taken++
	}
	b.chunks = s.ready.takeChunks(taken)
	s.dueCount = max(s.dueCount-n, 0)
	s.writingPacked = true
	return n
}

// pack packs the chunks of a batch that are not packed yet.
func (b *batch) pack() {
	for _, group := range groupPackable(b.chunks) {
		b.packs = append(b.packs, packWork{group: group, pack: packPages(group)})
	}
}

// afterPackedCall handles the result of a call for a packed batch. The batch is unpacked if a lane exists, one of its
// keys is in quarantine, it has become too large, or WriteSorted failed. Its deliveries are then ready again, for
// Write. The chunks of paused partitions stay packed. A batch that was cancelled for a revoked partition becomes ready
// again as it is, still packed.
func (s *scheduler) afterPackedCall(b *batch) {
	switch b.phase {
	case packing:
		for _, w := range b.packs {
			s.replaceWithPack(b.chunks, w.group, w.pack)
		}
		b.phase = sorting
		if !b.noTry && s.lanes.n == 0 && b.n <= s.route.Batch.Count && b.bytes <= s.route.Batch.Bytes {
			return
		}
		b.err = errMustUnpack
	case unpacking:
		b.phase = settled
		if b.err != nil { // the memory of the pack is corrupt
			s.run.fail(fmt.Errorf("%s: %w", s.route.stage, b.err))
		}
		b.err = errMustUnpack
		return
	}
	if b.err == nil || b.noTry || s.run.hardCtx.Err() != nil {
		b.phase = settled
		return
	}
	if s.keepPacked(b); len(b.chunks) == 0 {
		b.phase = settled
		return
	}
	b.phase = unpacking
	n, cause := b.n, b.err
	s.run.log(slog.LevelDebug, "a packed batch is unpacked and written", func() []slog.Attr {
		return []slog.Attr{slog.String("sink", s.route.Name), slog.Int("deliveries", n),
			slog.String("cause", redact.LogText(cause))}
	})
}

// keepPacked moves the chunks of paused partitions out of a batch that must be unpacked. It reserves memory for the
// clones of the other chunks. The reason is that a batch can be larger than the limit on memory. If all of it were
// unpacked and one of its keys failed, the clones would use all memory, and no partition would be read.
func (s *scheduler) keepPacked(b *batch) {
	b.chunks = slices.DeleteFunc(b.chunks, func(c chunk) bool {
		if name := c.page.partition.name; !s.run.bounds.isPaused(name) {
			s.run.bounds.takeClones(name, c.unpackedMemory())
			return false
		}
		s.keptPacked = append(s.keptPacked, c)
		return true
	})
}

// requeuePacked makes the chunks that keepPacked moved ready again once their partition is resumed. Changes that were
// read later may be written already. That is safe, because a [SortedWriter] is [Guarded]: it compares versions.
func (s *scheduler) requeuePacked() {
	var readyAgain []chunk
	s.keptPacked = slices.DeleteFunc(s.keptPacked, func(c chunk) bool {
		if s.run.bounds.isPaused(c.page.partition.name) {
			return false
		}
		readyAgain = append(readyAgain, c)
		return true
	})
	s.pushDue(readyAgain)
}

// pushDue inserts chunks at the front of ready. They are due: they do not wait for a full batch.
func (s *scheduler) pushDue(chunks []chunk) {
	if len(chunks) == 0 {
		return
	}
	before := s.ready.n
	s.ready.pushFront(chunks)
	s.dueCount += s.ready.n - before
}

// unpackedMemory returns the memory of the clones that unpackDeliveries makes of a packed chunk.
func (c *chunk) unpackedMemory() amount {
	return amount{2*c.bytes + int64(c.n)*int64(unsafe.Sizeof(record.Change{})), int64(c.n)}
}

// errMustUnpack means that the deliveries of a packed batch must be written by Write.
var errMustUnpack = errs.New("some of its keys wait or are quarantined")

// applyPackedResult finishes a packed batch that was written, or makes it ready again.
func (s *scheduler) applyPackedResult(b *batch) {
	s.writingPacked = false
	var readyAgain []chunk
	for i := range b.chunks {
		c := &b.chunks[i]
		switch {
		case b.err == nil:
			s.finishPacked(c, Written)
			continue
		case s.run.hardCtx.Err() != nil:
			continue // the chunk stays pending
		case c.page.partition.state.isRevoked():
			if b.unpacked != nil {
				s.run.bounds.releaseClones(c.page.partition.name, c.unpackedMemory())
			}
			s.finishPacked(c, Revoked)
			continue
		case b.unpacked != nil:
			s.releasePack(c)
			at := c.addedAt
			*c = newChunk(b.unpacked[i], at)
		}
		readyAgain = append(readyAgain, *c)
	}
	if b.err == nil {
		s.route.ledger.Written -= b.coalesced
		s.route.ledger.Coalesced += b.coalesced
	}
	s.pushDue(readyAgain)
}

// unpackDeliveries recreates the deliveries of packed chunks. The result has a slice for each chunk. The deliveries own
// their bytes.
func (r *run) unpackDeliveries(rt *route, chunks []chunk) ([][]queuedDelivery, error) {
	out := make([][]queuedDelivery, len(chunks))
	for i, c := range chunks {
		out[i] = make([]queuedDelivery, c.n)
	}
	for u, err := range unpackSorted(chunks) {
		if err != nil || u.pos >= len(out[u.page]) {
			return nil, cmp.Or(err, record.ErrPacked)
		}
		qd := &out[u.page][u.pos]
		qd.page, qd.hash = chunks[u.page].page, maphash.String(r.p.seed, string(u.c.Key))
		qd.d.Change, qd.size, qd.cloned, qd.unplanned = u.c, int64(len(u.c.Raw)), true, true
	}
	return out, nil
}

// writeSorted gives a packed batch to the sink. Its error applies to the whole batch.
func (r *route) writeSorted(run *run, b *batch) error {
	if err := run.refuseQuarantined(r, b); err != nil {
		return err
	}
	b.send(r)
	var outcomeErr error
	err := guard(r.stage, nil, func() error {
		return r.sortedWriter.WriteSorted(b.sendCtx, r.sortedDeliveries(b, &outcomeErr))
	})
	if err = cmp.Or(err, outcomeErr); err == nil {
		r.health.update(nil, []error{nil})
		r.patience.partSucceeded()
	}
	return err
}

// sortedDeliveries plans and yields the deliveries of a packed batch, and counts those that the sink coalesces. It sets
// outcomeErr if the sink sets an outcome that it must not.
func (r *route) sortedDeliveries(b *batch, outcomeErr *error) iter.Seq2[*Delivery, error] {
	return func(yield func(*Delivery, error) bool) {
		for u, err := range unpackSorted(b.chunks) {
			d := &Delivery{Change: u.c}
			if err == nil {
				err = r.callPlan(d)
			}
			if !yield(d, err) || err != nil {
				return
			}
			switch d.Outcome {
			case Written:
			case Coalesced:
				b.coalesced++
			default:
				*outcomeErr = errs.Errorf("the sink set the outcome %s of a sorted delivery", redact.Safe(d.Outcome.String()))
			}
		}
	}
}

// refuseQuarantined returns an error if a key of a packed batch is in quarantine.
func (r *run) refuseQuarantined(rt *route, b *batch) error {
	if r.p.o.Quarantine == nil {
		return nil
	}
	var keys []item.Key
	for u, err := range unpackSorted(b.chunks) {
		if err != nil {
			return err
		}
		if n := len(keys); n > 0 && keys[n-1] == u.c.Key {
			continue
		}
		if keys = append(keys, u.c.Key); len(keys) < 500 {
			continue
		}
		if err := r.refuseQuarantinedKeys(b.ctx, rt.Name, keys); err != nil {
			return err
		}
		keys = keys[:0]
	}
	return r.refuseQuarantinedKeys(b.ctx, rt.Name, keys)
}

// refuseQuarantinedKeys returns an error if one of the keys is in quarantine.
func (r *run) refuseQuarantinedKeys(ctx context.Context, sink string, keys []item.Key) error {
	held, err := r.readQuarantine(ctx, sink, keys)
	if err != nil || len(held) != len(keys) {
		return &quarantineError{errors.Join(err, errMustUnpack)}
	}
	if slices.Contains(held, true) {
		return errMustUnpack
	}
	return nil
}
