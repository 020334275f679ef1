package pipeline

import (
	"container/heap"
	"errors"
	"fmt"
	"slices"
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
	delivery, err := b.deliveries[i], b.errs[i]
	if err == nil {
		return fateDone
	}
	earlierIsRetried := delivery.lane.retries.first != nil
	switch {
	case delivery.page.partition.state.isRevoked():
		return fateRevoked
	case s.run.hardCtx.Err() != nil:
		return fatePending
	case b.noAttempt:
		return fateUntried
	case delivery.fail != nil:
		return fateLettered // its key is in quarantine
	case s.nacks(delivery) && !isTransient(err):
		return fateNacked
	case s.route.willRetry(err) || earlierIsRetried:
		return fateRetried
	}
	return fateLettered
}

// applyResult applies the result of a batch to its deliveries and lanes. If an error is fatal, applyResult first stops
// the run, so that failed deliveries stay pending instead of becoming dead letters.
func (s *scheduler) applyResult(b *batch, now time.Time) {
	for _, err := range b.errs {
		if IsFatal(err) && classOf(err) != classPanic {
			s.run.fail(fmt.Errorf("%s: %w", s.route.stage, err))
		}
	}
	for i := range b.deliveries {
		s.applyFate(s.fateOf(b, i), b, i, now)
	}
	var delays sharedDelays
	for _, lane := range b.lanes {
		lane.batch, lane.skipped = nil, false
		if lane.retries.first != nil {
			s.retryLater(lane, b, &delays, now)
		}
		s.setNextState(lane, now)
	}
	s.retryLog.logFailures(s, now)
	if slices.Contains(b.errs, nil) {
		s.retryLog.logRecovery(s, now)
	}
}

// applyFate applies the fate of delivery i of a batch.
func (s *scheduler) applyFate(f fate, b *batch, i int, now time.Time) {
	delivery, err := b.deliveries[i], b.errs[i]
	lane := delivery.lane
	switch f {
	case fateDone:
		s.finishDelivery(delivery, b.sinkDeliveries[i].Outcome, b.sinkDeliveries[i].Reason)
		lane.attempt = 0
		if lane.retries.first == nil {
			lane.expiresAt = time.Time{}
		}
	case fateRevoked:
		s.finishDelivery(delivery, Revoked, "")
		if lane.retries.first == nil {
			lane.attempt, lane.expiresAt = 0, time.Time{} // later changes of the key have not failed
		}
	case fatePending:
	case fateUntried:
		lane.retries.push(delivery)
	case fateNacked:
		s.retryLog.add(s, delivery, err, now)
		lane.enter(nacked)
		s.finishDelivery(delivery, Revoked, "")
	case fateRetried:
		after, _ := Retryable(err)
		lane.serverWait = max(lane.serverWait, after)
		lane.retries.push(delivery)
		lane.err = err
		s.retryLog.add(s, delivery, err, now)
	case fateLettered:
		if delivery.fail == nil {
			delivery.fail = &failure{classOf(err), err}
		}
		s.deadLetter(delivery)
	}
}

// sharedDelays has the backoff for each number of attempts. All keys of a batch share it, so that keys which failed
// together are tried again together. The last delay is for all higher numbers too: by then the backoff has reached its
// maximum.
type sharedDelays [16]time.Duration

// retryLater puts the failed changes of a lane before its waiting changes. If the batch counts as an attempt, the lane
// backs off.
func (s *scheduler) retryLater(lane *lane, b *batch, delays *sharedDelays, now time.Time) {
	for delivery := range lane.queue.all() {
		lane.retries.push(delivery)
	}
	lane.queue, lane.retries = lane.retries, deliveryList{}
	if b.noAttempt {
		return
	}
	lane.expiresAt = s.deadline(lane, b.formedAt)
	delay := delays.get(lane.attempt, s.run.p.options.Backoff)
	s.backOff(lane, max(delay, lane.serverWait), now)
	lane.serverWait = 0
}

// get returns the delay after that many attempts. It computes each delay once.
func (delays *sharedDelays) get(attempt int, backoff Backoff) time.Duration {
	delay := &delays[min(attempt, len(delays)-1)]
	if *delay == 0 {
		*delay = max(1, backoff.delay(attempt, 0))
	}
	return *delay
}

// backOff delays the next try of a lane, but not beyond the time when its first change expires.
func (s *scheduler) backOff(lane *lane, delay time.Duration, now time.Time) {
	lane.attempt++
	lane.retryAt = earlierOf(now.Add(max(1, delay)), lane.expiresAt)
}

// setNextState moves a lane to its next state, after it has left its batch or its dead letters are durable. See
// laneState for the states.
func (s *scheduler) setNextState(lane *lane, now time.Time) {
	if lane.quarantinesRest {
		s.quarantineRest(lane)
	}
	switch {
	case lane.state == nacked: // its queue returns to the source; the lane stays, for later changes of the key
		for delivery := range lane.queue.all() {
			s.finishDelivery(delivery, Revoked, "")
		}
		lane.queue = deliveryList{}
	case lane.letters > 0:
		lane.enter(deadLettering)
		if s.deadLetters.failing {
			s.cloneQueue(lane)
		}
	case lane.queue.first == nil:
		s.dropLane(lane)
	case lane.retryAt.After(now):
		if s.blocks(lane.queue.first, lane.err) {
			lane.enter(blocked)
		} else {
			lane.enter(parked)
		}
		s.cloneQueue(lane)
		heap.Push(&s.parked, lane)
	default:
		s.requeueLane(lane)
	}
}

// requeueLane makes the queue of a lane writable.
func (s *scheduler) requeueLane(lane *lane) {
	lane.enter(queued)
	s.queuedLanes = append(s.queuedLanes, lane)
}

// failPermanently dead-letters the first change of a lane's queue. Without dead letters, the change returns to its
// source if the source acknowledges single records. If the source does not, the change blocks its key.
func (s *scheduler) failPermanently(lane *lane, now time.Time) {
	delivery := lane.queue.first
	if s.run.p.options.DeadLetters != nil {
		s.deadLetter(lane.queue.pop())
	} else {
		s.retryLog.add(s, delivery, delivery.fail.err, now)
		if s.nacks(delivery) {
			lane.enter(nacked)
		} else {
			s.backOff(lane, s.run.p.options.Backoff.delay(lane.attempt, 0), now)
		}
	}
	s.setNextState(lane, now)
	s.retryLog.logFailures(s, now)
}

// cloneQueue clones the waiting changes of a lane, so that they do not pin their pages.
func (s *scheduler) cloneQueue(lane *lane) { lane.queue.replaceEach(s.clone) }

// nacks reports whether a delivery that failed permanently returns to its source. It does if there are no dead letters
// and the source acknowledges single records.
func (s *scheduler) nacks(delivery *queuedDelivery) bool {
	return s.run.p.options.DeadLetters == nil && delivery.page.tracker != nil
}

// blocks reports whether a delivery that failed with err blocks its key. It does if it can never be written, there are
// no dead letters, and the source does not acknowledge single records.
func (s *scheduler) blocks(delivery *queuedDelivery, err error) bool {
	if s.run.p.options.DeadLetters != nil || s.nacks(delivery) {
		return false
	}
	if delivery.fail != nil {
		err = delivery.fail.err
	}
	return err != nil && !isTransient(err)
}

// finishDelivery counts a delivery that ends with an outcome, and frees its memory.
func (s *scheduler) finishDelivery(delivery *queuedDelivery, o Outcome, reason string) {
	page := delivery.page
	s.route.ledger.Pending--
	s.route.ledger.addFinished(o, reason, 1)
	if o != Revoked {
		s.route.newest = later(s.route.newest, delivery.Change.Time)
	}
	if o != Revoked && page.tracker != nil {
		page.tracker.finish(int(delivery.Change.Index))
	}

	if delivery.cloned {
		s.run.bounds.releaseClones(page.partition.name, cloneMemory(1, delivery.size))
		delivery.Delivery = Delivery{} // the memory can be shared with other deliveries
	} else {
		s.run.unpin(page, 1)
	}
	s.run.finishDeliveries(page, 1)
}

// willRetry reports whether a delivery that failed with err is tried again. Without dead letters, every failed delivery
// is tried again.
func (r *route) willRetry(err error) bool {
	if !r.hasDeadLetters {
		return true
	}
	if _, panicked := errors.AsType[*redact.PanicError](err); panicked {
		return false
	}
	return isTransient(err)
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

// letterClasser is an error of a Write that chooses the class of its dead letter.
type letterClasser interface {
	error
	LetterClass() string
}
