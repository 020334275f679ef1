package pipeline

import (
	"container/heap"
	"log/slog"
	"time"

	"github.com/tablewake/tablewake/pipeline/redact"
)

var _ Control = (*run)(nil)

// Fail implements [Control].
func (r *run) Fail(err error) { r.step(func(time.Time) { r.sourceFailed(err) }) }

// Drain implements [Control].
func (r *run) Drain(partitions ...string) {
	r.step(func(time.Time) {
		for _, name := range partitions {
			r.partition(name).enter(draining)
		}
		for _, s := range r.schedulers {
			s.drain()
		}
	})
}

// Forget implements [Control].
func (r *run) Forget(partitions ...string) {
	r.step(func(time.Time) {
		for _, name := range partitions {
			if part := r.partitions[name]; part != nil {
				part.ended = true
				r.dropFinished(part)
			}
		}
	})
}

// drain makes the ready deliveries due, up to the last delivery of a draining partition. Due deliveries do not wait for
// a full batch.
func (s *scheduler) drain() {
	for i := range s.ready.chunks {
		if s.ready.chunks[i].page.partition.state >= draining {
			s.ready.markDue(i + 1)
		}
	}
}

// RevokeSoft implements [Control].
func (r *run) RevokeSoft(partitions ...string) {
	r.step(func(now time.Time) {
		r.revoke(revokedSoft, nil, partitions, "partitions were revoked softly: their queued deliveries are revoked", now)
	})
}

// Revoke implements [Control].
func (r *run) Revoke(cause error, partitions ...string) {
	r.step(func(now time.Time) {
		r.revoke(revokedHard, cause, partitions,
			"partitions were revoked: their queued deliveries are revoked, and their writes are cancelled", now)
	})
}

// revoke moves partitions to a state, and revokes their queued deliveries. A hard revoke also cancels the calls of
// batches that have deliveries of these partitions. text is the text of the line in the log.
func (r *run) revoke(state partitionState, cause error, partitions []string, text string, now time.Time) {
	parts := r.enterRevoked(state, cause, partitions)
	if len(parts) == 0 {
		return
	}
	var revoked int64
	for _, s := range r.schedulers {
		before := s.route.ledger.Revoked
		s.revoke(cause, now)
		revoked += s.route.ledger.Revoked - before
	}
	for _, part := range parts {
		r.handOver(part, now)
	}
	for _, part := range parts {
		r.dropFinished(part)
	}
	if revoked == 0 {
		return
	}
	r.log(slog.LevelInfo, text, func() []slog.Attr {
		attrs := []slog.Attr{slog.Int("partitions", len(parts)), slog.String("first", parts[0].name),
			slog.Int64("deliveries", revoked)}
		if cause != nil {
			attrs = append(attrs, slog.String("cause", redact.LogText(cause)))
		}
		return attrs
	})
}

// enterRevoked moves partitions to a revoked state, and returns the partitions that were not in this state yet. Nothing
// more of the returned partitions is committed. A hard revoke also cancels the Puts of their undecodable records.
func (r *run) enterRevoked(state partitionState, cause error, names []string) []*partition {
	var entered []*partition
	for _, name := range names {
		part := r.partition(name)
		if !part.enter(state) {
			continue
		}
		entered = append(entered, part)
		part.watermark, part.uncommitted = Watermark{}, false
		if state == revokedHard {
			part.cancelLetters(cause)
		}
	}
	return entered
}

// revoke revokes the queued deliveries of revoked partitions. If a batch has deliveries of a partition that is revoked
// hard, revoke cancels the calls of the batch.
func (s *scheduler) revoke(cause error, now time.Time) {
	if s.run.closed {
		return // the deliveries stay pending
	}
	for _, b := range s.writing {
		if !b.noAttempt && b.isRevokedHard() {
			b.noAttempt = true
			b.cancel(cause)
		}
	}
	s.revokeReady()
	s.revokeLetters(now)
	s.revokeLanes()
}

// revokeReady revokes deliveries that are in no lane yet.
func (s *scheduler) revokeReady() {
	var revoked []chunk
	s.keptPacked, revoked = splitRevoked(s.keptPacked)
	s.revokeChunks(revoked)
	s.ready.chunks, revoked = splitRevoked(s.ready.chunks)
	for i := range revoked {
		s.ready.count -= revoked[i].count
		s.ready.bytes -= revoked[i].bytes
	}
	s.revokeChunks(revoked)
}

// splitRevoked removes the chunks of revoked partitions from chunks, and returns both parts.
func splitRevoked(chunks []chunk) (kept, revoked []chunk) {
	kept = chunks[:0]
	for _, c := range chunks {
		if c.page.partition.state.isRevoked() {
			revoked = append(revoked, c)
		} else {
			kept = append(kept, c)
		}
	}
	clear(chunks[len(kept):])
	return kept, revoked
}

// revokeChunks revokes all deliveries of chunks.
func (s *scheduler) revokeChunks(chunks []chunk) {
	for i := range chunks {
		c := &chunks[i]
		if c.packed != nil {
			s.finishPacked(c, Revoked)
			continue
		}
		for k := range c.deliveries {
			s.finishDelivery(&c.deliveries[k], Revoked, "")
		}
	}
}

// revokeLetters revokes deliveries that wait for a Put of dead letters. A Put in flight may finish.
func (s *scheduler) revokeLetters(now time.Time) {
	waiting := s.deadLetters.deliveries
	s.deadLetters.deliveries = nil // finishLetter can add to it
	for _, delivery := range waiting {
		if delivery.page.partition.state.isRevoked() {
			s.finishLetter(delivery, Revoked, now)
		} else {
			s.deadLetters.deliveries = append(s.deadLetters.deliveries, delivery)
		}
	}
}

// revokeLanes revokes deliveries that wait in lanes. It drops queued and parked lanes that are empty then.
func (s *scheduler) revokeLanes() {
	for lane := range s.lanes.all() {
		s.revokeQueue(lane)
	}
	queuedLanes := s.queuedLanes[:0]
	for _, lane := range s.queuedLanes {
		if lane.queue.first == nil {
			s.dropLane(lane)
		} else {
			queuedLanes = append(queuedLanes, lane)
		}
	}
	clear(s.queuedLanes[len(queuedLanes):])
	s.queuedLanes = queuedLanes
	parked := s.parked[:0]
	for _, lane := range s.parked {
		switch {
		case lane.queue.first == nil:
			s.dropLane(lane)
		case lane.retryAt.IsZero(): // revokeQueue revoked the change that failed
			s.requeueLane(lane)
		default:
			parked = append(parked, lane)
		}
	}
	clear(s.parked[len(parked):])
	s.parked = parked
	heap.Init(&s.parked)
}

// revokeQueue revokes deliveries in the queue of a lane. The first change of a lane that backs off is the change that
// failed. If it is revoked, the later changes have not failed, so the lane does not back off any more.
func (s *scheduler) revokeQueue(lane *lane) {
	first := lane.queue.first
	if first == nil {
		return
	}
	if first.page.partition.state.isRevoked() && lane.state != writing {
		lane.attempt, lane.retryAt, lane.expiresAt, lane.err = 0, time.Time{}, time.Time{}, nil
	}
	lane.queue.replaceEach(func(delivery *queuedDelivery) *queuedDelivery {
		if !delivery.page.partition.state.isRevoked() {
			return delivery
		}
		s.finishDelivery(delivery, Revoked, "")
		return nil
	})
}
