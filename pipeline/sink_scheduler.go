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
	starting         bool      // a writer was started, and has not taken its first batch yet
	nextWriteAt      time.Time // the rate limit allows no Write earlier

	packedBytes   int64   // compressed bytes of packs
	writingPacked bool    // a packed batch is in flight, and no other batch starts
	keptPacked    []chunk // packed chunks of paused partitions, which wait to be unpacked

	retryLog retryLog
}

// enqueue queues the deliveries of a page, and adds its counts to the ledger.
func (s *scheduler) enqueue(p *preparedRoute, now time.Time) {
	l := &s.route.ledger
	l.Routed += p.routed
	p.dropped.addTo(l.RouteFiltered)
	p.noEffect.addTo(l.NoEffect)
	l.Suppressed += p.suppressed
	l.Pending += int64(len(p.deliveries))
	if len(p.deliveries) == 0 {
		return
	}
	s.ready.push(p.deliveries, now)
	if p.deliveries[0].page.partition.state == draining {
		s.ready.markDue(len(s.ready.chunks))
	}
}

// dispatch starts a writer if one can start. Only one writer at a time may be without a batch. Deliveries that arrive
// before that writer takes its batch join the batch.
func (s *scheduler) dispatch(now time.Time) {
	s.endBackoffs(now)
	s.requeuePacked()
	hasFreeWriter := !s.starting && len(s.writing) < s.route.Concurrency
	if hasFreeWriter && s.canStart(now) {
		s.starting = true
		s.run.addMoving(+1)
		s.run.work.Go(s.writer)
	}
}

// canStart reports whether the rate limit and the state of the run let a batch start, and there is something to write.
func (s *scheduler) canStart(now time.Time) bool {
	isStopped := s.run.closed || s.run.hardCtx.Err() != nil
	isRateLimited := now.Before(s.nextWriteAt)
	if isStopped || isRateLimited || s.writingPacked {
		return false
	}
	return len(s.queuedLanes) > 0 || s.hasDue(now)
}

// endBackoffs queues the lanes whose backoff is over.
func (s *scheduler) endBackoffs(now time.Time) {
	for len(s.parked) > 0 && !s.parked[0].retryAt.After(now) {
		s.requeueLane(heap.Pop(&s.parked).(*lane))
	}
}

// waitsToFill reports whether batches wait to be full.
func (s *scheduler) waitsToFill() bool { return s.route.Batch.Fill || s.route.Batch.Linger > 0 }

// hasDue reports whether there are ready deliveries that can be written now.
func (s *scheduler) hasDue(now time.Time) bool { return s.ready.count > 0 && !s.isFilling(now) }

// isFilling reports whether there are ready deliveries, and all of them must wait for a full batch.
func (s *scheduler) isFilling(now time.Time) bool {
	if s.ready.count == 0 || !s.waitsToFill() || s.ready.startsDue() || s.run.noFilling {
		return false
	}
	limits := &s.route.Batch
	isFull := s.ready.count >= limits.Count || s.ready.bytes >= limits.Bytes
	hasLingered := limits.Linger > 0 && now.Sub(s.ready.oldestAt()) >= limits.Linger
	return !isFull && !hasLingered
}

// nextStartAt returns the next time at which dispatch can start a batch that it cannot start now. It returns zero if no
// start depends on time.
func (s *scheduler) nextStartAt(now time.Time) (at time.Time) {
	if len(s.parked) > 0 {
		at = s.parked[0].retryAt
	}
	linger := s.route.Batch.Linger
	if linger > 0 && len(s.writing) < s.route.Concurrency && s.isFilling(now) {
		at = earlierOf(at, s.ready.oldestAt().Add(linger))
	}
	if now.Before(s.nextWriteAt) && (s.ready.count > 0 || len(s.queuedLanes) > 0) {
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
	b := takeFree(&s.freeBatches)
	hasSpace := s.takeLanes(b, now)
	// If batches wait to be full, only the input decides which changes share a batch. So retries get their own batch.
	canAddReady := hasSpace && (len(b.deliveries) == 0 || !s.waitsToFill())
	if canAddReady && s.hasDue(now) {
		s.takeReady(b, now)
	}
	n := len(b.deliveries)
	if n == 0 && s.ready.startsPacked() && s.hasDue(now) {
		n = s.takePacked(b)
	}
	if n == 0 {
		s.freeBatches = append(s.freeBatches, b)
		return nil
	}

	b.begin(s, now)
	s.writing = append(s.writing, b)
	if rate := s.route.Rate; rate > 0 {
		s.nextWriteAt = laterOf(s.nextWriteAt, now).Add(time.Duration(float64(n) / rate * float64(time.Second)))
	}
	return b
}

// fitsBatch reports whether a delivery can join a batch. A delivery that is larger than a batch is written alone.
func (s *scheduler) fitsBatch(b *batch, delivery *queuedDelivery) bool {
	limits := &s.route.Batch
	fits := len(b.deliveries) < limits.Count && b.bytes+delivery.size <= limits.Bytes
	return fits || len(b.deliveries) == 0
}

// takeLanes moves changes of the queued lanes into a batch. It returns false if the batch is full.
func (s *scheduler) takeLanes(b *batch, now time.Time) bool {
	for len(s.queuedLanes) > 0 {
		lane := s.queuedLanes[0]
		s.expire(lane, now)
		first := lane.queue.first
		if first.fail == nil && !s.fitsBatch(b, first) {
			return false
		}
		s.queuedLanes[0] = nil
		s.queuedLanes = s.queuedLanes[1:]
		if first.fail != nil {
			s.failPermanently(lane, now)
		} else {
			s.takeLane(b, lane)
		}
	}
	return true
}

// takeLane moves the first change of a lane into the batch, and the next ones that may follow it and fit. It leaves a
// change that failed: the changes before it are written first.
func (s *scheduler) takeLane(b *batch, lane *lane) {
	b.add(lane.queue.pop(), lane)
	for s.route.keepsOrder {
		next := lane.queue.first
		if next == nil || next.fail != nil || !s.fitsBatch(b, next) {
			return
		}
		b.add(lane.queue.pop(), lane)
	}
}

// takeReady fills the batch from the ready deliveries, up to the first packed chunk. If some are due, it takes no
// others.
func (s *scheduler) takeReady(b *batch, now time.Time) {
	takesDue := s.ready.startsDue()
	for s.ready.startsUnpacked() && s.ready.startsDue() == takesDue {
		if !s.takeFirstReady(b, now) {
			return
		}
	}
}

// takeFirstReady moves the first ready delivery into the batch. A change whose key has a busy lane goes to the queue of
// that lane instead. takeFirstReady returns false if the batch is full.
func (s *scheduler) takeFirstReady(b *batch, now time.Time) bool {
	delivery := s.ready.first()
	keyLane := s.lanes.find(delivery.hash, delivery.Change.Key)
	switch {
	case keyLane != nil && !s.canFollow(b, keyLane, delivery):
		s.queueBehind(keyLane, s.ready.pop())
	case delivery.fail != nil:
		keyLane = s.newLane(delivery)
		keyLane.queue.push(s.ready.pop())
		s.failPermanently(keyLane, now)
	case !s.fitsBatch(b, delivery):
		return false
	case keyLane != nil:
		b.add(s.ready.pop(), keyLane)
	default:
		b.add(s.ready.pop(), s.newLane(delivery))
	}
	return true
}

// canFollow reports whether a delivery can join the batch that has the earlier changes of its key.
func (s *scheduler) canFollow(b *batch, lane *lane, delivery *queuedDelivery) bool {
	isNext := lane.batch == b && lane.queue.first == nil
	return isNext && s.route.keepsOrder && delivery.fail == nil
}

// queueBehind puts a delivery into the queue of its key's lane, which is busy. If the lane is nacked, it returns the
// delivery to its source.
func (s *scheduler) queueBehind(lane *lane, delivery *queuedDelivery) {
	if lane.state == nacked {
		s.finishDelivery(delivery, Revoked, "")
		return
	}
	delivery.lane = lane
	if s.waitsLong(lane) {
		delivery = s.clone(delivery)
	}
	lane.queue.push(delivery)
}

// waitsLong reports whether the changes of a lane wait for a backoff, or for dead letters that cannot be stored now.
func (s *scheduler) waitsLong(lane *lane) bool {
	switch lane.state {
	case parked, blocked:
		return true
	case deadLettering:
		return s.deadLetters.failing
	}
	return false
}

// clone returns a copy of a delivery that does not pin its page. It returns delivery itself if delivery is a clone.
func (s *scheduler) clone(delivery *queuedDelivery) *queuedDelivery {
	if delivery.cloned {
		return delivery
	}
	copied := *delivery
	s.cloneChange(&copied)
	return &copied
}

// cloneChange replaces the change of a delivery by a clone, so that the delivery does not pin its page. The plan is
// dropped, because it uses the memory of the page too. The sink plans the delivery again before its Write.
func (s *scheduler) cloneChange(delivery *queuedDelivery) {
	change := delivery.Change.Clone()
	clone := Delivery{Change: change}
	for _, e := range delivery.Events {
		e.Change, e.Old, e.New = change, e.Old.Clone(), e.New.Clone()
		clone.Events = append(clone.Events, e)
	}
	delivery.Delivery, delivery.cloned, delivery.unplanned = clone, true, delivery.fail == nil
	if delivery.lane != nil {
		delivery.lane.key = change.Key // the old key uses the memory of the page
	}
	s.run.memory.takeClones(delivery.page.partition.name, cloneMemory(1, delivery.size))
	s.run.unpin(delivery.page, 1)
}

// laterOf returns the later of two times.
func laterOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// earlierOf returns the earlier of two times. A zero time means never: if one time is zero, earlierOf returns the
// other.
func earlierOf(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
