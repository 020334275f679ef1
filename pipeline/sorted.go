package pipeline

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"time"
)

// pack compresses what waits to fill a batch, so that it does not hold its pages. It is false
// when there was nothing to pack. Pages are read while no lock is held: what has left the
// queue meanwhile is not packed.
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

// packables are the pages of chunks that are not packed, in groups of a pack each.
func packables(chunks []chunk) [][]packable {
	var groups [][]packable
	size := int64(packSize)
	for i := range chunks {
		c := &chunks[i]
		if !c.mayPack() {
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

// mayPack tells whether all of a chunk can be made again of its changes, and is its page's.
func (c *chunk) mayPack() bool {
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

// replace puts a pack in the place of the chunks that it was made of; false where none of them
// is there any more. The lock is held, here and below.
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

// unpacked notes that a chunk needs its pack no more.
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

// takePacked makes a batch of the chunks at the front of ready, of which the first is packed:
// pages are not divided, but where a single one is more than a batch.
func (s *scheduler) takePacked(b *batch) (n int) {
	most := s.ready.n
	if s.flush > 0 {
		most = s.flush
	}
	taken := 0
	for taken < len(s.ready.chunks) {
		c := &s.ready.chunks[taken]
		more := n+c.n > s.route.Batch.Count || b.bytes+c.bytes > s.route.Batch.Bytes // than a batch
		if c.packed == nil && !c.mayPack() || n >= most || n > 0 && more {
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

// writePacked writes a batch that is packed. What cannot be written so, because a key of it
// is held up, or the sink says no, goes the way of all others. No lock is held.
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
			slog.String("sink", s.route.Name), slog.Int("deliveries", n), slog.String("cause", logText(err)))
		if items, err = s.unpackItems(b.chunks); err != nil { // memory is broken
			s.run.fail(fmt.Errorf("%s: %w", s.route.stage, err))
		} else {
			err = errNotWhole
		}
	}
	s.mu.Lock()
	defer s.unlock()
	s.settlePacked(b, items, coalesced, err)
	s.dispatch(time.Now())
}

// errNotWhole says that a batch has to be looked at change by change.
var errNotWhole = errors.New("keys of it are held up")

// settlePacked books a batch that was packed, or puts it back.
func (s *scheduler) settlePacked(b *batch, items [][]item, coalesced int64, err error) {
	cut := b.cut
	s.land(b)
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
				s.run.bounds.park(c.page.part.name, ownBytes(&c.items[k]))
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

// unpackItems makes the deliveries of packed chunks again. They hold their own bytes.
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
			it.d.Change, it.size, it.owned = c, int64(len(c.Raw)), true
			it.fail = s.route.plan(&it.d)
		}
		out[i] = items
	}
	return out, nil
}

// writeSorted gives a batch that is packed to the sink. Its error fails all of it.
func (r *route) writeSorted(n *run, b *batch, deliveries int) (coalesced int64, err error) {
	if err := n.askHeldSorted(r, b); err != nil {
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
				unsound = fmt.Errorf("the sink set the outcome %s of a sorted delivery", d.Outcome)
			}
		}
	})
	if err == nil {
		err = unsound
	}
	return coalesced, err
}

// askHeldSorted is askHeld of a batch that is packed: an error where a key of it is held.
func (r *run) askHeldSorted(rt *route, b *batch) error {
	if r.p.o.Quarantine == nil {
		return nil
	}
	var keys []Key
	ask := func() error {
		held, err := r.callHeld(b.ctx, rt.Name, keys)
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
