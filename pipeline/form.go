package pipeline

import (
	"context"
	"slices"
	"time"
)

// batch is one Write.
type batch struct {
	items []item
	of    []*lane // of each item
	lanes []*lane // each once
	bytes int64
	at    time.Time               // when it was formed
	ctx   context.Context         // of the Write
	parts []*partition            // of the items, each once
	end   context.CancelCauseFunc // ends ctx; nil where no partition can be revoked
	again bool                    // it counts as no try: a partition was revoked and ctx cancelled, or a plan failed
	ds    []Delivery
	errs  []error

	chunks []chunk // packed; then there are no items

	keys          []Key  // of lanes
	quarantined   []item // taken out of items: their keys are in quarantine
	quarantinedOf []*lane
}

func (b *batch) reset() {
	clear(b.items)
	clear(b.of)
	clear(b.lanes)
	clear(b.ds)
	clear(b.errs)
	clear(b.keys)
	clear(b.quarantined)
	clear(b.quarantinedOf)
	clear(b.parts)
	b.ctx, b.parts, b.end, b.again, b.chunks = nil, b.parts[:0], nil, false, nil
	b.keys, b.quarantined, b.quarantinedOf = b.keys[:0], b.quarantined[:0], b.quarantinedOf[:0]
	b.items, b.of, b.lanes, b.ds, b.errs, b.bytes = b.items[:0], b.of[:0], b.lanes[:0], b.ds[:0], b.errs[:0], 0
}

func (b *batch) add(it item, l *lane) {
	b.items = append(b.items, it)
	b.of = append(b.of, l)
	b.bytes += it.size
	if l.batch != b {
		l.batch = b
		b.lanes = append(b.lanes, l)
	}
}

// nextBatch takes the next batch: first lanes that are awake, then what is ready, in the
// order of the source. nil: there is nothing to write.
func (s *scheduler) nextBatch(now time.Time) *batch {
	if s.closed || s.unpacking || s.run.hard.Err() != nil || now.Before(s.next) {
		return nil
	}
	b := s.newBatch()
	full := false
	for len(s.awake) > 0 && !full {
		full = !s.takeLane(b, s.awake[0], now)
		if !full {
			s.awake[0] = nil
			s.awake = s.awake[1:]
		}
	}
	if !full && s.ready.n > 0 && s.due(now) && (len(b.items) == 0 || !s.waits()) {
		s.takeReady(b, now)
	}
	n := len(b.items)
	if n == 0 && s.ready.n > 0 && s.ready.chunks[0].packed != nil && s.due(now) {
		n = s.takePacked(b)
	}
	if n == 0 {
		s.batches = append(s.batches, b)
		return nil
	}
	b.at, b.ctx = now, s.run.hard
	if s.run.controlled != nil {
		b.ctx, b.end = context.WithCancelCause(s.run.hard)
	}
	for i := range b.items {
		b.addPart(b.items[i].page.part)
	}
	for i := range b.chunks {
		b.addPart(b.chunks[i].page.part)
	}
	s.flying = append(s.flying, b)
	if rate := s.route.Rate; rate > 0 {
		s.next = later(s.next, now).Add(time.Duration(float64(n) / rate * float64(time.Second)))
	}
	return b
}

func (b *batch) addPart(part *partition) {
	if !slices.Contains(b.parts, part) {
		b.parts = append(b.parts, part)
	}
}

// endWrite ends the context of a batch that was written, and drops it from flying.
func (s *scheduler) endWrite(b *batch) {
	if b.end != nil {
		b.end(nil)
	}
	i := slices.Index(s.flying, b)
	s.flying = slices.Delete(s.flying, i, i+1)
}

func (s *scheduler) newBatch() *batch {
	if n := len(s.batches); n > 0 {
		b := s.batches[n-1]
		s.batches = s.batches[:n-1]
		return b
	}
	return &batch{}
}

func (s *scheduler) fits(b *batch, it *item) bool {
	return len(b.items) == 0 || len(b.items) < s.route.Batch.Count && b.bytes+it.size <= s.route.Batch.Bytes
}

// takeLane moves what it can of an awake lane into the batch. It is false when
// the batch is full and the lane still awake.
func (s *scheduler) takeLane(b *batch, l *lane, now time.Time) bool {
	s.expire(l, now)
	for len(l.queue) > 0 {
		it := &l.queue[0]
		if it.fail != nil {
			if l.batch == b {
				return true // after those of the batch
			}
			s.failPermanently(l, now)
			return true
		}
		if !s.fits(b, it) {
			return l.batch == b
		}
		b.add(l.pop(), l)
		if !s.route.keepsOrder {
			return true
		}
	}
	return true
}

// takeReady fills the batch from what is ready. A change whose key has a lane that is busy
// joins the lane's queue; the changes after it go on.
func (s *scheduler) takeReady(b *batch, now time.Time) {
	left := s.ready.n
	if s.flush > 0 {
		left = s.flush
	}
	for ; left > 0 && s.ready.chunks[0].packed == nil; left-- {
		it := s.ready.first()
		l := s.lanes.of(it.hash, it.d.Change.Key)
		switch {
		case l != nil && l.nacked:
			given := s.popReady()
			s.finish(&given, Revoked, "")
		case l != nil && (l.batch != b || !s.route.keepsOrder || len(l.queue) > 0 || it.fail != nil):
			l.queue = append(l.queue, s.popReady())
			if l.parked || l.dead > 0 && s.deadLetters.blocked {
				s.detach(&l.queue[len(l.queue)-1])
			}
		case it.fail != nil:
			l = s.newLane(it)
			l.queue = append(l.queue, s.popReady())
			s.failPermanently(l, now)
		case !s.fits(b, it):
			return
		default:
			if l == nil {
				l = s.newLane(it)
			}
			b.add(s.popReady(), l)
		}
	}
}

func (s *scheduler) popReady() item {
	s.flush = max(s.flush-1, 0)
	it, done := s.ready.pop()
	if done != nil {
		s.route.slabs.put(done)
	}
	return it
}

func (s *scheduler) newLane(it *item) *lane {
	var l *lane
	if n := len(s.idle); n > 0 {
		l, s.idle = s.idle[n-1], s.idle[:n-1]
	} else {
		l = new(lane)
	}
	l.key, l.hash = it.d.Change.Key, it.hash
	s.lanes.add(l)
	return l
}

// maxIdle bounds the lanes kept for the next keys: enough for the batches in
// flight, and no memory of a backlog that is over.
const maxIdle = 4096

func (s *scheduler) dropLane(l *lane) {
	s.lanes.drop(l)
	if len(s.idle) < maxIdle {
		*l = lane{}
		s.idle = append(s.idle, l)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
