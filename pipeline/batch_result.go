package pipeline

import (
	"container/heap"
	"errors"
	"fmt"
	"time"

	"github.com/tablewake/tablewake/pipeline/redact"
)

// fate is what the result of a Write means for one delivery.
type fate uint8

const (
	fateDone     fate = iota // it has the outcome that the sink says, also if the call was cancelled
	fateRevoked              // it failed, and its partition is revoked: another reader delivers it
	fatePending              // it failed, and the run stops hard: the next run delivers it
	fateUntried              // its batch was no attempt, and it is tried again at once
	fateNacked               // it failed permanently, and returns to its source
	fateRetried              // it is tried again after a backoff
	fateLettered             // it failed permanently or its key is in quarantine, and it becomes a dead letter
)

// fateOf turns the result of delivery i of a batch into its fate. The first case that applies decides.
func (s *scheduler) fateOf(b *batch, i int) fate {
	err := b.errs[i]
	if err == nil {
		return fateDone
	}
	qd := b.deliveries[i]
	_, transient := Retryable(err)
	switch {
	case qd.page.partition.state.revoked():
		return fateRevoked
	case s.run.hard.Err() != nil:
		return fatePending
	case b.noTry:
		return fateUntried
	case qd.fail != nil:
		return fateLettered // its key is in quarantine
	case s.nacks(qd) && !transient:
		return fateNacked
	case s.route.retries(err) || qd.lane.retries.first != nil:
		return fateRetried
	}
	return fateLettered
}

// applyResult applies the result of a batch to its deliveries, and moves each of its lanes on. A fatal error stops the run
// before the fates are chosen, so that what failed is pending.
func (s *scheduler) applyResult(b *batch, now time.Time) {
	for _, err := range b.errs {
		if IsFatal(err) && classOf(err) != classPanic {
			s.run.fail(fmt.Errorf("%s: %w", s.route.stage, err))
		}
	}
	wrote := false
	for i := range b.deliveries {
		f := s.fateOf(b, i)
		s.applyFate(f, b, i, now)
		wrote = wrote || f == fateDone
	}
	var delays sharedDelays
	for _, l := range b.lanes {
		l.batch, l.skipped = nil, false
		if l.retries.first != nil {
			s.retryLater(l, b, &delays, now)
		}
		s.setNextState(l, now)
	}
	s.retries.flush(s, now)
	if wrote {
		s.retries.recover(s, now)
	}
}

// applyFate applies the fate of delivery i of a batch.
func (s *scheduler) applyFate(f fate, b *batch, i int, now time.Time) {
	qd, err := b.deliveries[i], b.errs[i]
	l := qd.lane
	switch f {
	case fateDone:
		s.finishDelivery(qd, b.sinkDeliveries[i].Outcome, b.sinkDeliveries[i].Reason)
		l.attempt = 0
		if l.retries.first == nil {
			l.expiresAt = time.Time{}
		}
	case fateRevoked:
		s.finishDelivery(qd, Revoked, "")
		if l.retries.first == nil {
			l.attempt, l.expiresAt = 0, time.Time{} // the later changes of the key have not failed
		}
	case fatePending: // it stays pending
	case fateUntried:
		l.retries.push(qd)
	case fateNacked:
		s.retries.add(s, qd, err, now)
		l.state = nacked
		s.finishDelivery(qd, Revoked, "")
	case fateRetried:
		after, _ := Retryable(err)
		l.serverWait = max(l.serverWait, after)
		l.retries.push(qd)
		l.err = err
		s.retries.add(s, qd, err, now)
	case fateLettered:
		if qd.fail == nil {
			qd.fail = &failure{classOf(err), err}
		}
		s.deadLetter(qd)
	}
}

// sharedDelays holds one backoff for all keys of a batch with the same number of attempts, so that keys that failed
// together are tried again together. Later attempts share the last: the backoff has reached its maximum.
type sharedDelays [16]time.Duration

// retryLater puts the failed changes of a lane before the others, and has it back off if they count as tried.
func (s *scheduler) retryLater(l *lane, b *batch, delays *sharedDelays, now time.Time) {
	for qd := range l.queue.all() {
		l.retries.push(qd)
	}
	l.queue, l.retries = l.retries, deliveryList{}
	if b.noTry {
		return
	}
	l.expiresAt = s.deadline(l, b.formedAt)
	d := &delays[min(l.attempt, len(delays)-1)]
	if *d == 0 {
		*d = max(1, s.run.p.o.Backoff.delay(l.attempt, 0))
	}
	s.backOff(l, max(*d, l.serverWait), now)
	l.serverWait = 0
}

// backOff has a lane wait for d before the next try of its first change, or until that change expires.
func (s *scheduler) backOff(l *lane, d time.Duration, now time.Time) {
	l.attempt++
	l.retryAt = now.Add(max(1, d))
	if !l.expiresAt.IsZero() && l.expiresAt.Before(l.retryAt) {
		l.retryAt = l.expiresAt
	}
}

// setNextState gives a lane that is in no batch any more, or whose letters are durable, its next state; see laneState.
func (s *scheduler) setNextState(l *lane, now time.Time) {
	if l.quarantinesRest {
		s.quarantineRest(l)
	}
	switch {
	case l.state == nacked: // it stays, for later changes of the key in this run
		s.nackQueue(l)
	case l.letters > 0:
		l.state = deadLettering
		if s.deadLetters.failing {
			s.cloneQueue(l)
		}
	case l.queue.first == nil:
		s.dropLane(l)
	case l.retryAt.After(now):
		l.state = parked
		if s.blocks(l.queue.first, l.err) {
			l.state = blocked
		}
		s.cloneQueue(l)
		heap.Push(&s.parked, l)
	default:
		s.requeueLane(l)
	}
}

// requeueLane lets the queue of a lane be written.
func (s *scheduler) requeueLane(l *lane) {
	l.state = queued
	s.queuedLanes = append(s.queuedLanes, l)
}

// failPermanently dead-letters the first change of the lane's queue, whose turn it is. If there are no dead letters,
// the change returns to a source that acknowledges each record; otherwise it blocks its key.
func (s *scheduler) failPermanently(l *lane, now time.Time) {
	if s.run.p.o.DeadLetters != nil {
		s.deadLetter(l.queue.pop())
	} else {
		qd := l.queue.first
		s.retries.add(s, qd, qd.fail.err, now)
		if s.nacks(qd) {
			l.state = nacked
		} else {
			s.backOff(l, s.run.p.o.Backoff.delay(l.attempt, 0), now)
		}
	}
	s.setNextState(l, now)
	s.retries.flush(s, now)
}

// cloneQueue clones the waiting changes of a lane out of their pages.
func (s *scheduler) cloneQueue(l *lane) { l.queue.replaceEach(s.clone) }

// nacks reports whether a permanent failure returns to the source: there are no dead letters, and the source
// acknowledges each record.
func (s *scheduler) nacks(qd *queuedDelivery) bool {
	return s.run.p.o.DeadLetters == nil && qd.page.tracker != nil
}

// nackQueue returns the changes that wait in a lane to their source.
func (s *scheduler) nackQueue(l *lane) {
	for qd := range l.queue.all() {
		s.finishDelivery(qd, Revoked, "")
	}
	l.queue = deliveryList{}
}

// blocks reports whether an item that failed with err blocks its key: it can never be written, and there
// are neither dead letters nor a source that takes it back.
func (s *scheduler) blocks(qd *queuedDelivery, err error) bool {
	if s.run.p.o.DeadLetters != nil || s.nacks(qd) {
		return false
	}
	if qd.fail != nil {
		err = qd.fail.err
	}
	_, again := Retryable(err)
	return err != nil && !again
}

// finishDelivery books the end of one delivery.
func (s *scheduler) finishDelivery(qd *queuedDelivery, o Outcome, reason string) {
	l := &s.route.ledger
	l.Pending--
	l.count(o, reason, 1)
	if o != Revoked {
		s.route.newest.update(qd.d.Change.Time)
		if qd.page.tracker != nil {
			qd.page.tracker.finish(int(qd.d.Change.Index))
		}
	}
	if qd.cloned {
		s.run.bounds.releaseClone(qd.page.partition.name, cloneBytes(qd))
		qd.d = Delivery{} // it may stand in memory with others
	} else {
		s.run.unpin(qd.page, 1)
	}
	s.run.finishDeliveries(qd.page, 1)
}

// retries tells whether a delivery that failed with err is tried again.
func (r *route) retries(err error) bool {
	if !r.hasDeadLetters {
		return true
	}
	if _, panicked := errors.AsType[*redact.PanicError](err); panicked {
		return false
	}
	_, ok := Retryable(err)
	return ok
}

// classOf is the dead-letter class of a Write's error.
func classOf(err error) string {
	if _, ok := errors.AsType[*redact.PanicError](err); ok {
		return classPanic
	}
	return classWrite
}
