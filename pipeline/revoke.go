package pipeline

import (
	"container/heap"
	"log/slog"
	"slices"
	"time"
)

var _ Control = (*run)(nil)

// Fail implements [Control].
func (r *run) Fail(err error) { r.sourceFailed(err) }

// Drain implements [Control].
func (r *run) Drain(partitions ...string) {
	r.p.mu.Lock()
	defer r.p.mu.Unlock()
	for _, name := range partitions {
		r.part(name).drain = true
	}
	for _, s := range r.scheds {
		s.drain()
	}
}

// Forget implements [Control].
func (r *run) Forget(partitions ...string) {
	r.p.mu.Lock()
	defer r.p.mu.Unlock()
	for _, name := range partitions {
		if part := r.parts[name]; part != nil {
			part.ended = true
			r.forget(part)
		}
	}
}

// drain makes what is ready due up to the last delivery of partitions that are
// drained. Pipeline.mu is held.
func (s *scheduler) drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for i := range s.ready.chunks {
		c := &s.ready.chunks[i]
		n += c.n
		if c.page.part.drain {
			s.flush = max(s.flush, n)
		}
	}
	s.dispatch(time.Now())
}

// Recall implements [Control].
func (r *run) Recall(partitions ...string) {
	r.giveBack(nil, partitions, "partitions were called back: what is queued of them is given back")
}

// Revoke implements [Control].
func (r *run) Revoke(cause error, partitions ...string) {
	r.giveBack(cause, partitions, "partitions were taken away: what is queued of them is given up")
}

// giveBack gives up what is queued of partitions and, where there is a cause, cancels what
// is under way. All locks are held at once: nothing is given up while something behind it
// in its key's order could still start.
func (r *run) giveBack(cause error, partitions []string, text string) {
	r.p.mu.Lock()
	defer r.unlock()
	var parts []*partition
	for _, name := range partitions {
		if part := r.part(name); !part.revoked || cause != nil && !part.cut {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return
	}
	for _, s := range r.scheds {
		s.mu.Lock()
	}
	for _, part := range parts {
		part.revoked = true
		part.over.Store(true)
		part.wm, part.dirty = Watermark{}, false
		if cause != nil {
			part.cut = true
			part.cancel(cause)
		}
	}
	var done []progress
	var n int64
	for _, s := range r.scheds {
		n -= s.route.ledger.Revoked
		s.revoke(cause)
		n += s.route.ledger.Revoked
		done, s.done = append(done, s.done...), nil
	}
	for _, s := range r.scheds {
		s.mu.Unlock()
	}
	for _, part := range parts {
		r.handOver(part)
	}
	r.progress(done)
	for _, part := range parts {
		r.forget(part)
	}
	if n == 0 {
		return
	}
	attrs := []slog.Attr{slog.Int("partitions", len(parts)), slog.String("first", parts[0].name), slog.Int64("deliveries", n)}
	if cause != nil {
		attrs = append(attrs, slog.String("cause", LogText(cause)))
	}
	r.p.log.LogAttrs(r.hard, slog.LevelInfo, text, attrs...)
}

// revoke gives up what is queued of revoked partitions, and cancels the Writes that hold
// some of those that are cut. The lock is held, here and below.
func (s *scheduler) revoke(cause error) {
	if s.closed {
		return // what is left stays pending
	}
	now := time.Now()
	for _, b := range s.flying {
		if !b.again && slices.ContainsFunc(b.parts, func(part *partition) bool { return part.cut }) {
			b.again = true
			b.end(cause)
		}
	}
	s.revokeReady()
	s.revokeBuried(now)
	s.revokeLanes()
	s.dispatch(now)
}

// revokeReady gives up what no lane holds yet.
func (s *scheduler) revokeReady() {
	q, n := &s.ready, 0
	due := s.flush
	q.chunks = slices.DeleteFunc(q.chunks, func(c chunk) bool {
		n += c.n
		if !c.page.part.revoked {
			return false
		}
		s.flush -= max(0, min(c.n, due-(n-c.n)))
		q.n -= c.n
		q.bytes -= c.bytes
		if c.packed != nil {
			s.finishPacked(&c, Revoked)
			return true
		}
		for i := range c.items {
			s.finish(&c.items[i], Revoked, "")
		}
		clear(c.items)
		s.route.slabs.put(c.slab)
		return true
	})
}

// revokeBuried gives up what waits for a Put of dead letters; one that is under way may finish.
func (s *scheduler) revokeBuried(now time.Time) {
	items, of := s.deadLetters.items, s.deadLetters.of
	s.deadLetters.items, s.deadLetters.of = nil, nil
	for i := range items {
		if !items[i].page.part.revoked {
			s.deadLetters.items, s.deadLetters.of = append(s.deadLetters.items, items[i]), append(s.deadLetters.of, of[i])
			continue
		}
		s.finish(&items[i], Revoked, "")
		if of[i].dead--; of[i].dead == 0 {
			s.requeueLane(of[i], now)
		}
	}
}

// revokeLanes gives up what waits for its turn in its key's order. What stood
// behind that has not failed, and waits no longer.
func (s *scheduler) revokeLanes() {
	for l := range s.lanes.all() {
		if len(l.queue) == 0 {
			continue
		}
		if l.queue[0].page.part.revoked && l.batch == nil {
			l.attempt, l.wake, l.expiresAt, l.err = 0, time.Time{}, time.Time{}, nil
		}
		l.queue = slices.DeleteFunc(l.queue, func(it item) bool {
			gone := it.page.part.revoked
			if gone {
				s.finish(&it, Revoked, "")
			}
			return gone
		})
	}
	s.awake = slices.DeleteFunc(s.awake, s.dropEmpty)
	s.parked = slices.DeleteFunc(s.parked, func(l *lane) bool {
		if s.dropEmpty(l) {
			return true
		}
		if l.parked = !l.wake.IsZero(); !l.parked {
			s.awake = append(s.awake, l)
		}
		return !l.parked
	})
	heap.Init(&s.parked)
}

// dropEmpty drops a lane that waits for nothing any more.
func (s *scheduler) dropEmpty(l *lane) bool {
	if len(l.queue) > 0 {
		return false
	}
	s.dropLane(l)
	return true
}
