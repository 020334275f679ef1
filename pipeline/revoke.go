package pipeline

import (
	"container/heap"
	"log/slog"
	"slices"
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
				r.forget(part)
			}
		}
	})
}

// drain makes the ready deliveries due, up to the last delivery of a draining partition. Due deliveries do not wait for
// a full batch.
func (s *scheduler) drain() {
	n := 0
	for i := range s.ready.chunks {
		c := &s.ready.chunks[i]
		n += c.n
		if c.page.partition.state >= draining {
			s.dueCount = max(s.dueCount, n)
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
	var parts []*partition
	for _, name := range partitions {
		part := r.partition(name)
		if !part.enter(state) {
			continue
		}
		parts = append(parts, part)
		part.watermark, part.uncommitted = Watermark{}, false
		if state == revokedHard {
			part.cancelLetters(cause)
		}
	}
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
		r.forget(part)
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

// revoke revokes the queued deliveries of revoked partitions. It cancels the calls of batches that have deliveries of
// partitions that are revoked hard.
func (s *scheduler) revoke(cause error, now time.Time) {
	if s.run.closed {
		return // the deliveries stay pending
	}
	for _, b := range s.writing {
		if !b.noTry && b.revokedHard() {
			b.noTry = true
			b.cancel(cause)
		}
	}
	s.revokeReady()
	s.revokeLetters(now)
	s.revokeLanes()
}

// revokeReady revokes deliveries that are in no lane yet.
func (s *scheduler) revokeReady() {
	s.keptPacked = slices.DeleteFunc(s.keptPacked, func(c chunk) bool {
		if !c.page.partition.state.isRevoked() {
			return false
		}
		s.finishPacked(&c, Revoked)
		return true
	})
	q, n := &s.ready, 0
	due := s.dueCount
	q.chunks = slices.DeleteFunc(q.chunks, func(c chunk) bool {
		n += c.n
		if !c.page.partition.state.isRevoked() {
			return false
		}
		s.dueCount -= max(0, min(c.n, due-(n-c.n)))
		q.n -= c.n
		q.bytes -= c.bytes
		if c.packed != nil {
			s.finishPacked(&c, Revoked)
			return true
		}
		for i := range c.deliveries {
			s.finishDelivery(&c.deliveries[i], Revoked, "")
		}
		return true
	})
}

// revokeLetters revokes deliveries that wait for a Put of dead letters. A Put in flight may finish.
func (s *scheduler) revokeLetters(now time.Time) {
	deliveries := s.deadLetters.deliveries
	s.deadLetters.deliveries = nil
	for _, qd := range deliveries {
		if qd.page.partition.state.isRevoked() {
			s.finishLetter(qd, Revoked, now)
		} else {
			s.deadLetters.deliveries = append(s.deadLetters.deliveries, qd)
		}
	}
}

// revokeLanes revokes deliveries that wait in lanes. The first change of a lane that backs off is the change that
// failed. If it is revoked, the later changes have not failed, so the lane does not back off any more.
func (s *scheduler) revokeLanes() {
	for l := range s.lanes.all() {
		if l.queue.first == nil {
			continue
		}
		if l.queue.first.page.partition.state.isRevoked() && l.state != writing {
			l.attempt, l.retryAt, l.expiresAt, l.err = 0, time.Time{}, time.Time{}, nil
		}
		l.queue.replaceEach(func(qd *queuedDelivery) *queuedDelivery {
			if !qd.page.partition.state.isRevoked() {
				return qd
			}
			s.finishDelivery(qd, Revoked, "")
			return nil
		})
	}
	s.queuedLanes = slices.DeleteFunc(s.queuedLanes, s.dropEmpty)
	s.parked = slices.DeleteFunc(s.parked, func(l *lane) bool {
		if s.dropEmpty(l) {
			return true
		}
		if l.retryAt.IsZero() {
			s.requeueLane(l)
		}
		return l.state == queued
	})
	heap.Init(&s.parked)
}

// dropEmpty drops a lane if its queue is empty, and reports whether it did.
func (s *scheduler) dropEmpty(l *lane) bool {
	if l.queue.first != nil {
		return false
	}
	s.dropLane(l)
	return true
}
