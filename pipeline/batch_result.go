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
	fateDone    fate = iota // written without an error, even if the call was cancelled: it has the sink's outcome
	fateRevoked             // failed, and its partition is revoked: another consumer delivers it
	fatePending             // failed, and the run stops hard: the next run delivers it
	fateUntried             // was not tried, or its batch does not count as an attempt: it keeps its place
	fateRetried             // tried again after a backoff

	// The fates of a permanent failure; see onPermanent.
	fateLettered // becomes a dead letter; also if its key is in quarantine
	fateNacked   // returns to its source
	fateBlocked  // blocks its key, and is tried again after a backoff
)

// fateOf returns the fate of delivery i of a batch. The order of its cases matters: the first that applies decides.
func (s *scheduler) fateOf(b *batch, i int) fate {
	delivery, err := b.deliveries[i], b.errs[i]
	switch {
	case err == nil:
		return fateDone
	case delivery.page.partition.state.isRevoked():
		return fateRevoked
	case s.run.hardCtx.Err() != nil:
		return fatePending
	case b.noAttempt || errors.Is(err, errUntried):
		return fateUntried
	case delivery.fail != nil:
		return fateLettered // its key is in quarantine
	case delivery.lane.hasFailed:
		return fateRetried // an earlier change of its key failed, and can be the cause
	}
	return s.fateOfError(delivery.page, err)
}

// fateOfError returns the fate of a delivery of a page that was tried and failed with err. A panic is permanent,
// whatever its value.
func (s *scheduler) fateOfError(page *inflightPage, err error) fate {
	if isTransient(err) && !isPanic(err) {
		return fateRetried
	}
	return s.onPermanent(page)
}

// onPermanent returns the fate of the deliveries of a page that can never be written. Without dead letters, they return
// to the source if it acknowledges single records. With any other source, they block their keys.
func (s *scheduler) onPermanent(page *inflightPage) fate {
	switch {
	case s.run.p.options.DeadLetters != nil:
		return fateLettered
	case page.tracker != nil:
		return fateNacked
	}
	return fateBlocked
}

// applyResult applies the result of a batch to its deliveries and lanes. If an error is fatal, applyResult first stops
// the run, so that failed deliveries stay pending instead of becoming dead letters. A panic stops no run, even if its
// value is a fatal error.
func (s *scheduler) applyResult(b *batch, now time.Time) {
	for _, err := range b.errs {
		if IsFatal(err) && !isPanic(err) {
			s.run.fail(fmt.Errorf("%s: %w", s.route.stage, err))
		}
	}
	for i := range b.deliveries {
		s.applyFate(s.fateOf(b, i), b, i, now)
	}
	var delays sharedDelays
	for _, lane := range b.lanes {
		lane.batch, lane.quarantined, lane.failedInBatch = nil, false, false
		if lane.retries.first != nil {
			s.retryLater(lane, b.formedAt, &delays, now)
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
	earlierIsRetried := lane.retries.first != nil // an earlier change of the key, in the same batch
	switch f {
	case fateDone:
		s.finishDelivery(delivery, b.sinkDeliveries[i].Outcome, b.sinkDeliveries[i].Reason)
		if !earlierIsRetried {
			lane.attempt, lane.expiresAt = 0, time.Time{}
		}
	case fateRevoked:
		s.finishDelivery(delivery, Revoked, "")
		if !earlierIsRetried {
			lane.attempt, lane.expiresAt = 0, time.Time{} // later changes of the key have not failed
		}
	case fatePending: // it stays in no list: the run ends
	case fateUntried:
		lane.retries.push(delivery)
	case fateNacked:
		s.retryLog.add(s, delivery, err, now)
		lane.enter(nacked)
		s.finishDelivery(delivery, Revoked, "")
	case fateRetried, fateBlocked:
		lane.retry(delivery, err)
		s.retryLog.add(s, delivery, err, now)
	case fateLettered:
		if delivery.fail == nil {
			delivery.fail = &failure{classOf(err), err}
		}
		s.deadLetter(delivery)
	}
}

// sharedDelays has the backoff for each number of attempts. All keys of a batch share it, so that keys which failed
// together are tried again together. Keys with 15 or more attempts have the same delay.
type sharedDelays [16]time.Duration

// retryLater puts the changes of a lane that are tried again before its waiting changes. If one of them failed, the
// lane backs off. tried is when the batch of these changes was formed.
func (s *scheduler) retryLater(lane *lane, tried time.Time, delays *sharedDelays, now time.Time) {
	for delivery := range lane.queue.all() {
		lane.retries.push(delivery)
	}
	lane.queue, lane.retries = lane.retries, deliveryList{}
	if !lane.hasFailed {
		return
	}
	lane.expiresAt = s.deadline(lane, tried)
	delay := delays.get(lane.attempt, s.run.p.options.Backoff)
	s.backOff(lane, max(delay, lane.serverWait), now)
	lane.hasFailed, lane.serverWait = false, 0
}

// get returns the delay after that many attempts. It computes each delay once.
func (delays *sharedDelays) get(attempt int, backoff Backoff) time.Duration {
	delay := &delays[min(attempt, len(delays)-1)]
	if *delay == 0 {
		*delay = max(1, backoff.Delay(attempt, 0))
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
	case lane.retryAt.After(now): // it backs off
		if s.fateOfError(lane.queue.first.page, lane.err) == fateBlocked {
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

// failPermanently handles the first change of a lane's queue, which has failed before the sink or has expired.
func (s *scheduler) failPermanently(lane *lane, now time.Time) {
	delivery := lane.queue.first
	switch s.onPermanent(delivery.page) {
	case fateLettered:
		s.deadLetter(lane.queue.pop())
	case fateNacked:
		s.retryLog.add(s, delivery, delivery.fail.err, now)
		lane.enter(nacked)
	case fateBlocked:
		s.retryLog.add(s, delivery, delivery.fail.err, now)
		lane.err = delivery.fail.err
		s.backOff(lane, s.run.p.options.Backoff.Delay(lane.attempt, 0), now)
	}
	s.setNextState(lane, now)
	s.retryLog.logFailures(s, now)
}

// cloneQueue clones the waiting changes of a lane, so that they do not pin their pages.
func (s *scheduler) cloneQueue(lane *lane) { lane.queue.replaceEach(s.clone) }

// finishDelivery counts a delivery that ends with an outcome, and frees its memory.
func (s *scheduler) finishDelivery(delivery *queuedDelivery, o Outcome, reason string) {
	page := delivery.page
	s.route.ledger.Pending--
	s.route.ledger.addFinished(o, reason, 1)
	if o != Revoked {
		s.route.newest = laterOf(s.route.newest, delivery.Change.Time)
	}
	if o != Revoked && page.tracker != nil {
		page.tracker.finish(int(delivery.Change.Index))
	}

	if delivery.cloned {
		s.run.memory.releaseClones(page.partition.name, cloneMemory(1, delivery.size))
		delivery.Delivery = Delivery{} // the memory can be shared with other deliveries
	} else {
		s.run.unpin(page, 1)
	}
	s.run.finishDeliveries(page, 1)
}

// isPanic reports whether an error is a panic of the sink.
func isPanic(err error) bool {
	_, ok := errors.AsType[*redact.PanicError](err)
	return ok
}

// classOf returns the class of the dead letter for an error of a Write.
func classOf(err error) string {
	if isPanic(err) {
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
