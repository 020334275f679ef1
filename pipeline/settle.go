package pipeline

import (
	"container/heap"
	"fmt"
	"time"
)

// fate is what the result of a Write means for one delivery.
type fate uint8

const (
	isDone     fate = iota // it has the outcome that the sink says
	isRevoked              // it failed, and its partition is revoked: another reader delivers it
	isPending              // it failed, and the run stops hard: the next run delivers it
	isUntried              // it was not tried, and is tried again at once
	isNacked               // it failed permanently, and returns to its source
	isRetried              // it is tried again after a backoff
	isLettered             // it failed permanently, and becomes a dead letter
)

// fateOf turns the result of delivery i of a batch into its fate.
func (s *scheduler) fateOf(b *batch, i int) fate {
	err := b.errs[i]
	if err == nil {
		return isDone
	}
	it := b.items[i]
	_, transient := Retryable(err)
	switch {
	case it.page.part.state.revoked():
		return isRevoked
	case s.run.hard.Err() != nil:
		return isPending
	case b.again:
		return isUntried
	case it.fail != nil:
		return isLettered // its key is in quarantine
	case s.nacks(it) && !transient:
		return isNacked
	case s.route.retried(err) || it.lane.retry.first != nil:
		return isRetried
	}
	return isLettered
}

// settle applies the result of a batch to its deliveries, and moves each of its lanes on.
func (s *scheduler) settle(b *batch, now time.Time) {
	for _, err := range b.errs {
		if IsFatal(err) && classOf(err) != classPanic {
			s.run.fail(fmt.Errorf("%s: %w", s.route.stage, err))
		}
	}
	wrote := false
	for i := range b.items {
		f := s.fateOf(b, i)
		s.meet(f, b, i, now)
		wrote = wrote || f == isDone
	}
	var delays sharedDelays
	for _, l := range b.lanes {
		l.batch, l.skipped = nil, false
		if l.retry.first != nil {
			s.tryAgain(l, b, &delays, now)
		}
		s.moveOn(l, now)
	}
	s.retries.flush(s, now)
	if wrote {
		s.retries.recover(s, now)
	}
}

// meet has delivery i of a batch meet its fate.
func (s *scheduler) meet(f fate, b *batch, i int, now time.Time) {
	it, err := b.items[i], b.errs[i]
	l := it.lane
	switch f {
	case isDone:
		s.finish(it, b.ds[i].Outcome, b.ds[i].Reason)
		l.attempt = 0
		if l.retry.first == nil {
			l.expiresAt = time.Time{}
		}
	case isRevoked:
		s.finish(it, Revoked, "")
		if l.retry.first == nil {
			l.attempt, l.expiresAt = 0, time.Time{} // the later changes of the key have not failed
		}
	case isPending: // it stays pending
	case isUntried:
		l.retry.push(it)
	case isNacked:
		s.retries.add(s, it, err, now)
		l.state = nacked
		s.finish(it, Revoked, "")
	case isRetried:
		after, _ := Retryable(err)
		l.server = max(l.server, after)
		l.retry.push(it)
		l.err = err
		s.retries.add(s, it, err, now)
	case isLettered:
		if it.fail == nil {
			it.fail = &failure{classOf(err), err}
		}
		s.deadLetter(it)
	}
}

// sharedDelays are those of the keys of one batch, by their attempts: keys that failed together are tried again
// together, so that a batch that failed as a whole does not become one Write for each key. Later attempts share
// the last: the backoff has reached its maximum.
type sharedDelays [16]time.Duration

// tryAgain puts the failed changes of a lane before the others, and has it back off if they count as tried.
func (s *scheduler) tryAgain(l *lane, b *batch, delays *sharedDelays, now time.Time) {
	for it := range l.queue.all() {
		l.retry.push(it)
	}
	l.queue, l.retry = l.retry, itemList{}
	if b.again {
		return
	}
	l.expiresAt = s.deadline(l, b.at)
	d := &delays[min(l.attempt, len(delays)-1)]
	if *d == 0 {
		*d = max(1, s.run.p.o.Backoff.delay(l.attempt, 0))
	}
	s.backOff(l, max(*d, l.server), now)
	l.server = 0
}

// backOff has a lane wait for d before the next try of its first change, or until that change expires.
func (s *scheduler) backOff(l *lane, d time.Duration, now time.Time) {
	l.attempt++
	l.wake = now.Add(max(1, d))
	if !l.expiresAt.IsZero() && l.expiresAt.Before(l.wake) {
		l.wake = l.expiresAt
	}
}

// moveOn gives a lane that is in no batch any more, or whose letters are durable, its next state; see laneState.
func (s *scheduler) moveOn(l *lane, now time.Time) {
	if l.follow {
		s.quarantineRest(l)
	}
	switch {
	case l.state == nacked: // it stays, for later changes of the key in this run
		s.nackQueue(l)
	case l.letters > 0:
		l.state = deadLettering
		if s.deadLetters.down {
			s.detachQueue(l)
		}
	case l.queue.first == nil:
		s.dropLane(l)
	case l.wake.After(now):
		l.state = parked
		if s.blocks(l.queue.first, l.err) {
			l.state = blocked
		}
		s.detachQueue(l)
		heap.Push(&s.parked, l)
	default:
		s.awaken(l)
	}
}

// awaken lets the queue of a lane be written.
func (s *scheduler) awaken(l *lane) {
	l.state = queued
	s.awake = append(s.awake, l)
}

// failPermanently dead-letters the first change of the lane's queue, whose turn it is. If there are no dead letters,
// the change returns to a source that acknowledges each record, and blocks its key with any other source.
func (s *scheduler) failPermanently(l *lane, now time.Time) {
	if s.run.p.o.DeadLetters != nil {
		s.deadLetter(l.queue.pop())
	} else {
		it := l.queue.first
		s.retries.add(s, it, it.fail.err, now)
		if s.nacks(it) {
			l.state = nacked
		} else {
			s.backOff(l, s.run.p.o.Backoff.delay(l.attempt, 0), now)
		}
	}
	s.moveOn(l, now)
	s.retries.flush(s, now)
}

// detachQueue detaches the waiting changes of a lane.
func (s *scheduler) detachQueue(l *lane) { l.queue.each(s.detach) }

// nacks reports whether a permanent failure returns to the source: there are no dead letters, and the source
// acknowledges each record.
func (s *scheduler) nacks(it *item) bool {
	return s.run.p.o.DeadLetters == nil && it.page.tracker != nil
}

// nackQueue returns the changes that wait in a lane to their source.
func (s *scheduler) nackQueue(l *lane) {
	for it := range l.queue.all() {
		s.finish(it, Revoked, "")
	}
	l.queue = itemList{}
}

// blocks reports whether an item that failed with err blocks its key: it can never be written, and there
// are neither dead letters nor a source that takes it back.
func (s *scheduler) blocks(it *item, err error) bool {
	if s.run.p.o.DeadLetters != nil || s.nacks(it) {
		return false
	}
	if it.fail != nil {
		err = it.fail.err
	}
	_, again := Retryable(err)
	return err != nil && !again
}
