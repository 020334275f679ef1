package pipeline

import (
	"container/heap"
	"errors"
	"fmt"
	"time"

	"github.com/tablewake/tablewake/pipeline/redact"
)

// fate is what the result of a batch means for one delivery.
type fate uint8

const (
	fateDone     fate = iota // written without an error, even if the call was cancelled: it has the sink's outcome
	fateRevoked              // failed, and its partition is revoked: another consumer delivers it
	fatePending              // failed, and the run stops hard: the next run delivers it
	fateUntried              // its batch does not count as an attempt: it is tried again at once
	fateNacked               // failed permanently, and returns to its source
	fateRetried              // tried again after a backoff
	fateLettered             // failed permanently or its key is in quarantine: it becomes a dead letter
)

// fateOf returns the fate of delivery i of a batch. The order of its cases matters: the first that applies decides.
func (s *scheduler) fateOf(b *batch, i int) fate {
	err := b.errs[i]
	if err == nil {
		return fateDone
	}
	qd := b.deliveries[i]
	_, transient := Retryable(err)
	switch {
	case qd.page.partition.state.isRevoked():
		return fateRevoked
	case s.run.hardCtx.Err() != nil:
		return fatePending
	case b.noTry:
		return fateUntried
	case qd.fail != nil:
		return fateLettered // its key is in quarantine
	case s.nacks(qd) && !transient:
		return fateNacked
	case s.route.willRetry(err) || qd.lane.retries.first != nil:
		return fateRetried
	}
	return fateLettered
}

// applyResult applies the result of a batch to its deliveries and lanes. A fatal error stops the run before that, so
// that failed deliveries stay pending instead of becoming dead letters.
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
	s.retryLog.flush(s, now)
	if wrote {
		s.retryLog.recover(s, now)
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
			l.attempt, l.expiresAt = 0, time.Time{} // later changes of the key have not failed
		}
	case fatePending:
	case fateUntried:
		l.retries.push(qd)
	case fateNacked:
		s.retryLog.add(s, qd, err, now)
		l.enter(nacked)
		s.finishDelivery(qd, Revoked, "")
	case fateRetried:
		after, _ := Retryable(err)
		l.serverWait = max(l.serverWait, after)
		l.retries.push(qd)
		l.err = err
		s.retryLog.add(s, qd, err, now)
	case fateLettered:
		if qd.fail == nil {
			qd.fail = &failure{classOf(err), err}
		}
		s.deadLetter(qd)
	}
}

// sharedDelays has the backoff for each number of attempts. All keys of a batch share it, so that keys which failed
// together are tried again together. The last delay is for all higher numbers too: by then the backoff has reached its
// maximum.
type sharedDelays [16]time.Duration

// retryLater puts the failed changes of a lane before its waiting changes. If the batch counts as an attempt, the lane
// backs off.
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

// backOff delays the next try of a lane by d, but not beyond the time when its first change expires.
func (s *scheduler) backOff(l *lane, d time.Duration, now time.Time) {
	l.attempt++
	l.retryAt = now.Add(max(1, d))
	if !l.expiresAt.IsZero() && l.expiresAt.Before(l.retryAt) {
		l.retryAt = l.expiresAt
	}
}

// setNextState moves a lane to its next state, after it has left its batch or its dead letters are durable. See
// laneState for the states.
func (s *scheduler) setNextState(l *lane, now time.Time) {
	if l.quarantinesRest {
		s.quarantineRest(l)
	}
	switch {
	case l.state == nacked: // the lane stays, for later changes of the key
		s.nackQueue(l)
	case l.letters > 0:
		l.enter(deadLettering)
		if s.deadLetters.failing {
			s.cloneQueue(l)
		}
	case l.queue.first == nil:
		s.dropLane(l)
	case l.retryAt.After(now):
		if s.blocks(l.queue.first, l.err) {
			l.enter(blocked)
		} else {
			l.enter(parked)
		}
		s.cloneQueue(l)
		heap.Push(&s.parked, l)
	default:
		s.requeueLane(l)
	}
}

// requeueLane makes the queue of a lane writable.
func (s *scheduler) requeueLane(l *lane) {
	l.enter(queued)
	s.queuedLanes = append(s.queuedLanes, l)
}

// failPermanently dead-letters the first change of a lane's queue. Without dead letters, the change returns to its
// source if the source acknowledges single records. If the source does not, the change blocks its key.
func (s *scheduler) failPermanently(l *lane, now time.Time) {
	if s.run.p.o.DeadLetters != nil {
		s.deadLetter(l.queue.pop())
	} else {
		qd := l.queue.first
		s.retryLog.add(s, qd, qd.fail.err, now)
		if s.nacks(qd) {
			l.enter(nacked)
		} else {
			s.backOff(l, s.run.p.o.Backoff.delay(l.attempt, 0), now)
		}
	}
	s.setNextState(l, now)
	s.retryLog.flush(s, now)
}

// cloneQueue clones the waiting changes of a lane, so that they do not pin their pages.
func (s *scheduler) cloneQueue(l *lane) { l.queue.replaceEach(s.clone) }

// nacks reports whether a delivery that failed permanently returns to its source. It does if there are no dead letters
// and the source acknowledges single records.
func (s *scheduler) nacks(qd *queuedDelivery) bool {
	return s.run.p.o.DeadLetters == nil && qd.page.tracker != nil
}

// nackQueue returns the waiting changes of a lane to their source.
func (s *scheduler) nackQueue(l *lane) {
	for qd := range l.queue.all() {
		s.finishDelivery(qd, Revoked, "")
	}
	l.queue = deliveryList{}
}

// blocks reports whether a delivery that failed with err blocks its key. It does if it can never be written, there are
// no dead letters, and the source does not acknowledge single records.
func (s *scheduler) blocks(qd *queuedDelivery, err error) bool {
	if s.run.p.o.DeadLetters != nil || s.nacks(qd) {
		return false
	}
	if qd.fail != nil {
		err = qd.fail.err
	}
	_, transient := Retryable(err)
	return err != nil && !transient
}

// finishDelivery counts a delivery that ends with an outcome, and frees its memory.
func (s *scheduler) finishDelivery(qd *queuedDelivery, o Outcome, reason string) {
	l := &s.route.ledger
	l.Pending--
	l.addFinished(o, reason, 1)
	if o != Revoked {
		s.route.newest.update(qd.d.Change.Time)
		if qd.page.tracker != nil {
			qd.page.tracker.finish(int(qd.d.Change.Index))
		}
	}
	if qd.cloned {
		s.run.bounds.releaseClones(qd.page.partition.name, amount{cloneBytes(qd), 1})
		qd.d = Delivery{} // the memory can be shared with other deliveries
	} else {
		s.run.unpin(qd.page, 1)
	}
	s.run.finishDeliveries(qd.page, 1)
}

// willRetry reports whether a delivery that failed with err is tried again. Without dead letters, every failed delivery
// is.
func (r *route) willRetry(err error) bool {
	if !r.hasDeadLetters {
		return true
	}
	if _, panicked := errors.AsType[*redact.PanicError](err); panicked {
		return false
	}
	_, ok := Retryable(err)
	return ok
}

// classOf returns the class of the dead letter for an error of a Write.
func classOf(err error) string {
	if _, ok := errors.AsType[*redact.PanicError](err); ok {
		return classPanic
	}
	if e, ok := errors.AsType[letterClasser](err); ok {
		return e.LetterClass()
	}
	return classWrite
}

// letterClasser is an error of a Write whose dead letter has a class of its own.
type letterClasser interface {
	error
	LetterClass() string
}
