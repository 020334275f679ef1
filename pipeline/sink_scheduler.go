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
	dueCount         int       // the first dueCount deliveries of ready do not wait for a full batch
	nextWriteAt      time.Time // the rate limit allows no Write earlier

	packedBytes   int64   // compressed bytes of packs
	writingPacked bool    // a packed batch is in flight, and no other batch starts
	keptPacked    []chunk // packed chunks of paused partitions, which wait to be unpacked

	retryLog retryLog
}

// accept queues the deliveries of a page, and adds its counts to the ledger.
func (s *scheduler) accept(p *preparedRoute, now time.Time) {
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
		s.dueCount = s.ready.n
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
func (s *scheduler) hasDue(now time.Time) bool { return s.ready.n > 0 && !s.isFilling(now) }

// isFilling reports whether there are ready deliveries, and all of them must wait for a full batch.
func (s *scheduler) isFilling(now time.Time) bool {
	if s.ready.n == 0 || !s.waitsToFill() || s.dueCount > 0 || s.run.noFilling {
		return false
	}
	limits := &s.route.Batch
	isFull := s.ready.n >= limits.Count || s.ready.bytes >= limits.Bytes
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
	b := takeFree(&s.freeBatches)
	hasSpace := s.takeLanes(b, now)
	// If batches wait to be full, only the input decides which changes share a batch. So retries get their own batch.
	onlyRetries := s.waitsToFill() && len(b.deliveries) > 0
	if hasSpace && !onlyRetries && s.hasDue(now) {
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
		s.nextWriteAt = later(s.nextWriteAt, now).Add(time.Duration(float64(n) / rate * float64(time.Second)))
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
		if !s.takeLane(b, s.queuedLanes[0], now) {
			return false
		}
		s.queuedLanes[0] = nil
		s.queuedLanes = s.queuedLanes[1:]
	}
	return true
}

// takeLane moves changes of a queued lane into the batch. It returns false if the batch is full and none of the lane's
// changes is in it: the lane stays queued. Otherwise it returns true, and the lane is not queued any more.
func (s *scheduler) takeLane(b *batch, lane *lane, now time.Time) bool {
	s.expire(lane, now)
	for lane.queue.first != nil {
		delivery := lane.queue.first
		isTaken := lane.batch == b
		if delivery.fail != nil {
			if !isTaken { // else the changes in the batch are written before this failure is handled
				s.failPermanently(lane, now)
			}
			return true
		}
		if !s.fitsBatch(b, delivery) {
			return isTaken
		}
		b.add(lane.queue.pop(), lane)
		if !s.route.keepsOrder {
			return true
		}
	}
	return true
}

// takeReady fills the batch from the ready deliveries, up to the first packed chunk.
func (s *scheduler) takeReady(b *batch, now time.Time) {
	for left := s.takeLimit(); left > 0 && !s.ready.startsPacked(); left-- {
		if !s.takeFirstReady(b, now) {
			return
		}
	}
}

// takeLimit returns how many ready deliveries a batch may have: all, or only the due ones if there are some.
func (s *scheduler) takeLimit() int {
	if s.dueCount > 0 {
		return s.dueCount
	}
	return s.ready.n
}

// takeFirstReady moves the first ready delivery into the batch. A change whose key has a busy lane goes to the queue of
// that lane instead. takeFirstReady returns false if the batch is full.
func (s *scheduler) takeFirstReady(b *batch, now time.Time) bool {
	delivery := s.ready.first()
	keyLane := s.lanes.find(delivery.hash, delivery.Change.Key)
	if keyLane == nil && delivery.fail != nil {
		keyLane = s.newLane(delivery)
		keyLane.queue.push(s.popReady())
		s.failPermanently(keyLane, now)
		return true
	}
	if keyLane != nil && !s.canFollow(b, keyLane, delivery) {
		s.queueBehind(keyLane, s.popReady())
		return true
	}
	if !s.fitsBatch(b, delivery) {
		return false
	}
	if keyLane == nil {
		keyLane = s.newLane(delivery)
	}
	b.add(s.popReady(), keyLane)
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

func (s *scheduler) popReady() *queuedDelivery {
	s.dueCount = max(s.dueCount-1, 0)
	return s.ready.pop()
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
	s.run.bounds.takeClones(delivery.page.partition.name, cloneMemory(1, delivery.size))
	s.run.unpin(delivery.page, 1)
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
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
