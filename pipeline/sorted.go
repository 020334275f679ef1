package pipeline

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"time"
)

// pack compresses what waits to fill a batch, so that it does not hold its pages. It reports
// whether it packed anything. Compression runs without the lock: chunks that leave the queue
// meanwhile are left out.
func (s *scheduler) pack() bool {
	s.mu.Lock()
	groups := packables(s.ready.chunks)
	s.mu.Unlock()
	packedSome := false
	for _, group := range groups {
		p := packPages(group)
		s.mu.Lock()
		packedSome = s.replace(s.ready.chunks, group, p) || packedSome
		s.unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.packed > s.run.packRoom {
		s.flush = s.ready.n
		s.dispatch(time.Now())
	}
	return packedSome
}

// packables are the pages of chunks that can be packed, one group for each pack.
func packables(chunks []chunk) [][]packable {
	var groups [][]packable
	size := int64(packSize)
	for i := range chunks {
		c := &chunks[i]
		if !c.canPack() {
			continue
		}
		p := packable{page: c.page, bytes: c.bytes, changes: make([]*Change, c.n)}
		for k := range c.items {
			p.changes[k] = c.items[k].d.Change
		}
		if size += p.bytes; size > packSize {
			groups, size = append(groups, nil), p.bytes
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], p)
	}
	return groups
}

// canPack reports whether the changes of a chunk are enough to make its items again: none has
// failed or was cloned, and nobody asks which of its records are finished.
func (c *chunk) canPack() bool {
	if c.packed != nil || c.page.tracker != nil {
		return false
	}
	for i := range c.items {
		if c.items[i].owned || c.items[i].fail != nil {
			return false
		}
	}
	return true
}

// replace puts a pack in the place of the chunks that it was made of. It reports whether any of
// them is still there. The lock is held, here and below.
func (s *scheduler) replace(chunks []chunk, group []packable, p *pack) bool {
	p.pages = 0
	of := make(map[*inflight]int, len(group))
	for n := range group {
		of[group[n].page] = n
	}
	for i := range chunks {
		c := &chunks[i]
		n, ok := of[c.page]
		if !ok || c.packed != nil || c.n != len(group[n].changes) || c.items[0].owned {
			continue
		}
		c.packed = &packed{pack: p, page: n}
		for k := range c.items {
			if t := c.items[k].d.Change.Time; t.After(c.packed.newest) {
				c.packed.newest = t
			}
		}
		clear(c.items)
		s.route.slabs.put(c.slab)
		c.items, c.slab = nil, nil
		s.report(c.page, 0, c.n)
		p.pages++
	}
	if p.pages > 0 {
		s.packed += p.bytes
	}
	return p.pages > 0
}

// unpacked notes that a chunk does not need its pack any more.
func (s *scheduler) unpacked(c *chunk) {
	p := c.packed.pack
	if p.pages--; p.pages == 0 {
		s.packed -= p.bytes
	}
}

// finishPacked books the end of all of a packed chunk.
func (s *scheduler) finishPacked(c *chunk, o Outcome) {
	s.route.ledger.Pending -= int64(c.n)
	s.route.ledger.count(o, "", int64(c.n))
	if o != Revoked {
		s.route.newest.see(c.packed.newest)
	}
	s.report(c.page, c.n, 0)
	s.unpacked(c)
}

// takePacked moves chunks from the front of ready into a batch; the first of them is packed. It
// takes whole chunks: one that is larger than a batch is taken alone.
func (s *scheduler) takePacked(b *batch) (n int) {
	most := s.ready.n
	if s.flush > 0 {
		most = s.flush
	}
	taken := 0
	for taken < len(s.ready.chunks) {
		c := &s.ready.chunks[taken]
		more := n+c.n > s.route.Batch.Count || b.bytes+c.bytes > s.route.Batch.Bytes // than a batch
		if c.packed == nil && !c.canPack() || n >= most || n > 0 && more {
			break
		}
		n += c.n
		b.bytes += c.bytes
		taken++
	}
	b.chunks = s.ready.cut(taken)
	s.flush = max(s.flush-n, 0)
	s.unpacking = true
	return n
}

// writePacked gives a packed batch to WriteSorted. If a key of it has a lane or is in quarantine,
// or if WriteSorted fails, the batch is unpacked and put back, for Write. No lock is held.
func (s *scheduler) writePacked(b *batch) {
	n := 0
	for i := range b.chunks {
		n += b.chunks[i].n
	}
	for _, group := range packables(b.chunks) {
		p := packPages(group)
		s.mu.Lock()
		s.replace(b.chunks, group, p)
		s.unlock()
	}
	s.mu.Lock()
	whole := s.lanes.n == 0 && n <= s.route.Batch.Count && b.bytes <= s.route.Batch.Bytes
	s.mu.Unlock()
	coalesced := int64(0)
	err := errNotWhole
	if whole {
		coalesced, err = s.route.writeSorted(s.run, b, n)
	}
	var items [][]item
	if err != nil && s.run.hard.Err() == nil {
		s.run.p.log.LogAttrs(b.ctx, slog.LevelDebug, "a batch that was packed is unpacked and written",
			slog.String("sink", s.route.Name), slog.Int("deliveries", n), slog.String("cause", LogText(err)))
		if items, err = s.unpackItems(b.chunks); err != nil { // memory is broken
			s.run.fail(fmt.Errorf("%s: %w", s.route.stage, err))
		} else {
			err = errNotWhole
		}
	}
	s.mu.Lock()
	defer s.unlock()
	s.applyPackedResult(b, items, coalesced, err)
	s.dispatch(time.Now())
}

// errNotWhole means that a packed batch has to be written change by change.
var errNotWhole = errs.New("some of its keys wait or are quarantined")

// applyPackedResult books a packed batch that was written, or puts it back.
func (s *scheduler) applyPackedResult(b *batch, items [][]item, coalesced int64, err error) {
	cut := b.again
	s.endWrite(b)
	s.unpacking = false
	var back []chunk
	n := 0
	for i := range b.chunks {
		c := &b.chunks[i]
		switch {
		case err == nil:
			s.finishPacked(c, Written)
			continue
		case s.run.hard.Err() != nil:
			continue // it stays pending: the next run delivers it
		case c.page.part.revoked:
			s.finishPacked(c, Revoked)
			continue
		case !cut:
			s.unpacked(c)
			at := c.at
			*c = chunkOf(items[i], at)
			for k := range c.items {
				s.run.bounds.park(c.page.part.name, cloneBytes(&c.items[k]))
			}
		}
		n += c.n
		back = append(back, *c)
	}
	s.route.ledger.Written -= coalesced
	s.route.ledger.Coalesced += coalesced
	if len(back) > 0 {
		s.ready.putBack(back)
		s.flush += n
	}
	b.reset()
	s.batches = append(s.batches, b)
}

// unpackItems makes the deliveries of packed chunks again, by chunk. They hold their own bytes.
func (s *scheduler) unpackItems(chunks []chunk) ([][]item, error) {
	pages, err := unpackPages(chunks)
	if err != nil {
		return nil, err
	}
	out := make([][]item, len(chunks))
	for i, changes := range pages {
		items := s.route.slabs.get(len(changes))[:len(changes)]
		for k := range changes {
			c, it := &changes[k], &items[k]
			it.page, it.hash = chunks[i].page, maphash.String(s.run.p.seed, string(c.Key))
			it.d.Change, it.size, it.owned, it.unplanned = c, int64(len(c.Raw)), true, true
		}
		out[i] = items
	}
	return out, nil
}

// writeSorted gives a batch that is packed to the sink. Its error fails all of it.
func (r *route) writeSorted(n *run, b *batch, deliveries int) (coalesced int64, err error) {
	if err := n.refuseQuarantined(r, b); err != nil {
		return 0, err
	}
	ctx, done := r.tel.write(b.ctx, b)
	start := time.Now()
	coalesced, err = r.callSorted(ctx, b)
	failed := 0
	if err != nil {
		failed = deliveries
	}
	done(time.Since(start), failed)
	return coalesced, err
}

func (r *route) callSorted(ctx context.Context, b *batch) (coalesced int64, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = recovered(r.stage, v)
		}
		if err == nil {
			r.health.see(nil, []error{nil})
			r.patience.took()
		}
	}()
	var unsound error
	err = r.sorted.WriteSorted(ctx, func(yield func(*Delivery, error) bool) {
		for c, err := range unpackSorted(b.chunks) {
			d := &Delivery{Change: c}
			if err == nil {
				err = r.callPlan(d)
			}
			if !yield(d, err) || err != nil {
				return
			}
			switch d.Outcome {
			case Written:
			case Coalesced:
				coalesced++
			default:
				unsound = errs.Errorf("the sink set the outcome %s of a sorted delivery", d.Outcome)
			}
		}
	})
	if err == nil {
		err = unsound
	}
	return coalesced, err
}

// refuseQuarantined is an error if a key of a packed batch is in quarantine.
func (r *run) refuseQuarantined(rt *route, b *batch) error {
	if r.p.o.Quarantine == nil {
		return nil
	}
	var keys []Key
	ask := func() error {
		held, err := r.callQuarantine(b.ctx, rt.Name, keys)
		if err != nil || len(held) != len(keys) {
			return &quarantineError{errors.Join(err, errNotWhole)}
		}
		for _, h := range held {
			if h {
				return errNotWhole
			}
		}
		keys = keys[:0]
		return nil
	}
	for c, err := range unpackSorted(b.chunks) {
		if err != nil {
			return err
		}
		if n := len(keys); n > 0 && keys[n-1] == c.Key {
			continue
		}
		if keys = append(keys, c.Key); len(keys) == 500 {
			if err := ask(); err != nil {
				return err
			}
		}
	}
	return ask()
}
