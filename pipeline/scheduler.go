package pipeline

import (
	"container/heap"
	"time"
)

// scheduler writes the deliveries of one sink. It writes them in order per key, in batches, with up to Concurrency
// Writes at once. Its state is part of the run. Each step of the run ends with dispatch, which starts a writer if one
// can start.
type scheduler struct {
	run   *run
	route *route

	ready            queue // deliveries that are in no lane yet
	schedulerScratch       // the lanes, and free lanes and batches
	queuedLanes      []*lane
	parked           laneHeap // parked and blocked lanes
	deadLetters      deadLetterQueue
	writing          []*batch
	starting         bool      // a writer has not taken its first batch yet
	dueCount         int       // the first dueCount deliveries of ready do not wait for a full batch
	nextWriteAt      time.Time // the rate limit allows no Write earlier

	packedBytes   int64   // compressed bytes of packs
	writingPacked bool    // a packed batch is in flight, and no other batch starts
	keptPacked    []chunk // packed chunks of paused partitions, which wait to be unpacked

	retryLog retryLog
}

// accept queues the deliveries of a page, and adds its counts to the ledger. If due is true, the deliveries do not wait
// for a full batch.
func (s *scheduler) accept(p *preparedRoute, at time.Time, due bool) {
	l := &s.route.ledger
	l.Routed += p.routed
	p.dropped.addTo(l.RouteFiltered)
	p.noEffect.addTo(l.NoEffect)
	l.Suppressed += p.suppressed
	l.Pending += int64(len(p.deliveries))
	if len(p.deliveries) > 0 {
		s.ready.push(p.deliveries, at)
		if due {
			s.dueCount = s.ready.n
		}
	}
}

// dispatch starts a writer if one can start. Only one writer at a time may be without a batch. Deliveries that arrive
// before that writer takes its batch join the batch.
func (s *scheduler) dispatch(now time.Time) {
	s.endBackoffs(now)
	s.requeuePacked()
	if !s.starting && len(s.writing) < s.route.Concurrency && s.canStart(now) {
		s.starting = true
		s.run.addMoving(+1)
		s.run.work.Go(s.writer)
	}
}

// canStart reports whether the rate limit and the state of the run let a batch start, and there is something to write.
func (s *scheduler) canStart(now time.Time) bool {
	return !s.run.closed && s.run.hardCtx.Err() == nil && !s.writingPacked && !now.Before(s.nextWriteAt) &&
		(len(s.queuedLanes) > 0 || s.ready.n > 0 && s.isDue(now))
}

// endBackoffs queues the lanes whose backoff is over.
func (s *scheduler) endBackoffs(now time.Time) {
	for len(s.parked) > 0 && !s.parked[0].retryAt.After(now) {
		s.requeueLane(heap.Pop(&s.parked).(*lane))
	}
}

// waitsToFill reports whether batches wait to be full.
func (s *scheduler) waitsToFill() bool { return s.route.Batch.Fill || s.route.Batch.Linger > 0 }

// isDue reports whether the ready deliveries can be written now, or must wait for a full batch. There must be at least
// one ready delivery.
func (s *scheduler) isDue(now time.Time) bool {
	b := &s.route.Batch
	return !s.waitsToFill() || s.dueCount > 0 || s.run.noFilling ||
		s.ready.n >= b.Count || s.ready.bytes >= b.Bytes ||
		b.Linger > 0 && now.Sub(s.ready.oldestAt()) >= b.Linger
}

// nextStartAt returns the next time at which dispatch can start a batch that it cannot start now. It returns zero if no
// start depends on time.
func (s *scheduler) nextStartAt(now time.Time) (at time.Time) {
	if len(s.parked) > 0 {
		at = s.parked[0].retryAt
	}
	if s.ready.n > 0 && len(s.writing) < s.route.Concurrency && s.route.Batch.Linger > 0 && !s.isDue(now) {
		at = earlierOf(at, s.ready.oldestAt().Add(s.route.Batch.Linger))
	}
	if now.Before(s.nextWriteAt) && (s.ready.n > 0 || len(s.queuedLanes) > 0) {
		at = earlierOf(at, s.nextWriteAt)
	}
	return at
}

// nextBatch forms the next batch. It takes changes of queued lanes first, and then ready deliveries in the order of the
// source. It returns nil if nothing can be written.
func (s *scheduler) nextBatch(now time.Time) *batch {
	s.endBackoffs(now)
	if !s.canStart(now) {
		return nil
	}
	b := s.newBatch()
	full := false
	for len(s.queuedLanes) > 0 && !full {
		full = !s.takeLane(b, s.queuedLanes[0], now)
		if !full {
			s.queuedLanes[0] = nil
			s.queuedLanes = s.queuedLanes[1:]
		}
	}
	// If batches wait to be full, only the input decides which changes share a batch. So retries get their own batch.
	if !full && s.ready.n > 0 && s.isDue(now) && (len(b.deliveries) == 0 || !s.waitsToFill()) {
		s.takeReady(b, now)
	}
	n := len(b.deliveries)
	if n == 0 && s.ready.n > 0 && s.ready.chunks[0].packed != nil && s.isDue(now) {
		n = s.takePacked(b)
	}
	if n == 0 {
		s.freeBatches = append(s.freeBatches, b)
		return nil
	}
	b.begin(s, now)
	s.writing = append(s.writing, b)
	if rate := s.route.Rate; rate > 0 {
		s.nextWriteAt = later(s.nextWriteAt, now).Add(time.Duration(float64(n) / rate * float64(time.Second)))
	}
	return b
}

func (s *scheduler) fitsBatch(b *batch, qd *queuedDelivery) bool {
	return len(b.deliveries) == 0 || len(b.deliveries) < s.route.Batch.Count && b.bytes+qd.size <= s.route.Batch.Bytes
}

// takeLane moves changes of a queued lane into the batch. It returns false if the batch is full and none of the lane's
// changes is in it: the lane stays queued. Otherwise it returns true, and the lane is not queued any more.
func (s *scheduler) takeLane(b *batch, l *lane, now time.Time) bool {
	s.expire(l, now)
	for l.queue.first != nil {
		qd := l.queue.first
		if qd.fail != nil {
			if l.batch == b {
				return true // the lane's changes in the batch are written before this failure is handled
			}
			s.failPermanently(l, now)
			return true
		}
		if !s.fitsBatch(b, qd) {
			return l.batch == b
		}
		b.add(l.queue.pop(), l)
		if !s.route.keepsOrder {
			return true
		}
	}
	return true
}

// takeReady fills the batch from the ready deliveries. A change whose key has a busy lane goes to the queue of that
// lane instead.
func (s *scheduler) takeReady(b *batch, now time.Time) {
	left := s.ready.n
	if s.dueCount > 0 {
		left = s.dueCount
	}
	for ; left > 0 && s.ready.chunks[0].packed == nil; left-- {
		qd := s.ready.first()
		l := s.lanes.find(qd.hash, qd.d.Change.Key)
		mustQueue := l != nil && (l.batch != b || !s.route.keepsOrder || l.queue.first != nil || qd.fail != nil)
		switch {
		case l != nil && l.state == nacked:
			s.finishDelivery(s.popReady(), Revoked, "")
		case mustQueue:
			qd = s.popReady()
			qd.lane = l
			if s.waitsLong(l) {
				qd = s.clone(qd)
			}
			l.queue.push(qd)
		case qd.fail != nil:
			l = s.newLane(qd)
			l.queue.push(s.popReady())
			s.failPermanently(l, now)
		case !s.fitsBatch(b, qd):
			return
		default:
			if l == nil {
				l = s.newLane(qd)
			}
			b.add(s.popReady(), l)
		}
	}
}

func (s *scheduler) popReady() *queuedDelivery {
	s.dueCount = max(s.dueCount-1, 0)
	return s.ready.pop()
}

// waitsLong reports whether the changes of a lane wait for a backoff, or for dead letters that cannot be stored now.
func (s *scheduler) waitsLong(l *lane) bool {
	return l.state == parked || l.state == blocked || l.state == deadLettering && s.deadLetters.failing
}

// clone returns a copy of a delivery that does not pin its page. It returns qd itself if qd is a clone.
func (s *scheduler) clone(qd *queuedDelivery) *queuedDelivery {
	if qd.cloned {
		return qd
	}
	copied := *qd
	s.cloneChange(&copied)
	return &copied
}

// cloneChange replaces the change of a delivery by a clone, so that the delivery does not pin its page. The plan is
// dropped, because it uses the memory of the page too. The sink plans the delivery again before its Write.
func (s *scheduler) cloneChange(qd *queuedDelivery) {
	c := qd.d.Change.Clone()
	d := Delivery{Change: c}
	for _, e := range qd.d.Events {
		e.Change, e.Old, e.New = c, e.Old.Clone(), e.New.Clone()
		d.Events = append(d.Events, e)
	}
	qd.d, qd.cloned, qd.unplanned = d, true, qd.fail == nil
	if qd.lane != nil {
		qd.lane.key = c.Key // the old key uses the memory of the page
	}
	s.run.bounds.takeClones(qd.page.partition.name, amount{cloneBytes(qd), 1})
	s.run.unpin(qd.page, 1)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// earlierOf returns the earlier of two times. A zero time means never: if one of them is zero, the other is returned.
func earlierOf(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
