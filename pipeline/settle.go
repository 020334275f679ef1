package pipeline

import (
	"container/heap"
	"time"
)

// applyResult books what a Write returned for a batch, and requeues each of its lanes.
func (s *scheduler) applyResult(b *batch, now time.Time) {
	hard := s.run.hard.Err() != nil
	s.endWrite(b)
	wrote := false
	for i := range b.quarantined {
		switch it := &b.quarantined[i]; {
		case it.page.part.revoked:
			s.finish(it, Revoked, "")
		case !hard:
			it.fail = errQuarantined
			s.deadLetter(b.quarantinedOf[i], *it)
		}
	}
	for i := range b.items {
		it, l, err := &b.items[i], b.of[i], b.errs[i]
		after, again := Retryable(err)
		switch {
		case err == nil:
			s.finish(it, b.ds[i].Outcome, b.ds[i].Reason)
			wrote = true
			l.attempt = 0
			if len(l.retry) == 0 {
				l.expiresAt = time.Time{}
			}
		case it.page.part.revoked:
			s.finish(it, Revoked, "")
			if len(l.retry) == 0 {
				l.attempt, l.expiresAt = 0, time.Time{} // the later changes of the key have not failed
			}
		case hard:
			// It stays pending: the next run delivers it.
		case b.again:
			l.retry = append(l.retry, *it)
		case s.nacks(it) && !again:
			s.retries.add(s, it, err)
			l.nacked = true
			s.finish(it, Revoked, "")
		case s.route.retried(err) || len(l.retry) > 0:
			l.server = max(l.server, after)
			l.retry = append(l.retry, *it)
			l.err = err
			s.retries.add(s, it, err)
		default:
			it.fail = &failure{classOf(err), err}
			s.deadLetter(l, *it)
		}
	}
	// Keys that failed together are tried again together: a batch that failed as a whole does not become one
	// Write for each key.
	var delays [maxSharedDelays]time.Duration
	for _, l := range b.lanes {
		l.batch = nil
		if l.nacked {
			s.nackQueue(l)
		}
		if len(l.retry) > 0 {
			l.queue = append(l.retry, l.queue...)
			l.retry = nil
			if !b.again { // it is tried again at once
				l.expiresAt = s.deadline(l, b.at)
				d := &delays[min(l.attempt, maxSharedDelays-1)]
				if *d == 0 {
					*d = max(1, s.run.p.o.Backoff.delay(l.attempt, 0))
				}
				l.wake = now.Add(max(*d, l.server))
				if !l.expiresAt.IsZero() && l.expiresAt.Before(l.wake) {
					l.wake = l.expiresAt
				}
				l.attempt++
				l.server = 0
			}
		}
		s.quarantineRest(l)
		s.requeueLane(l, now)
	}
	b.reset()
	s.batches = append(s.batches, b)
	s.retries.flush(s, now)
	if wrote {
		s.retries.recover(s, now)
	}
}

// Later attempts share a delay: the backoff has reached its maximum.
const maxSharedDelays = 16

// requeueLane parks, awakes or drops a lane, unless some of it is in flight.
func (s *scheduler) requeueLane(l *lane, now time.Time) {
	switch {
	case l.dead > 0 && s.deadLetters.blocked:
		s.detachQueue(l)
	case l.dead > 0 || l.batch != nil:
	case l.nacked: // it stays, for later changes of the key in this run
	case len(l.queue) == 0:
		s.dropLane(l)
	case l.wake.After(now):
		s.detachQueue(l)
		l.parked = true
		heap.Push(&s.parked, l)
	default:
		s.awake = append(s.awake, l)
	}
}

// failPermanently dead-letters the first change of the lane's queue. If there are no dead letters, the change
// returns to a source that acknowledges each record, and blocks its key with any other source.
func (s *scheduler) failPermanently(l *lane, now time.Time) {
	if s.run.p.o.DeadLetters != nil {
		s.deadLetter(l, l.pop())
		s.quarantineRest(l)
		return
	}
	if s.nacks(&l.queue[0]) {
		s.retries.add(s, &l.queue[0], l.queue[0].fail.err)
		s.retries.flush(s, now)
		l.nacked = true
		s.nackQueue(l)
		return
	}
	s.retries.add(s, &l.queue[0], l.queue[0].fail.err)
	l.wake = now.Add(max(1, s.run.p.o.Backoff.delay(l.attempt, 0)))
	l.attempt++
	s.requeueLane(l, now)
	s.retries.flush(s, now)
}

// finish books the end of one delivery.
func (s *scheduler) finish(it *item, o Outcome, reason string) {
	l := &s.route.ledger
	l.Pending--
	l.count(o, reason, 1)
	if o != Revoked {
		s.route.newest.see(it.d.Change.Time)
		if it.page.tracker != nil {
			it.page.tracker.finish(int(it.d.Change.Index))
		}
	}
	if it.owned {
		s.run.bounds.unpark(it.page.part.name, cloneBytes(it))
		s.report(it.page, 1, 0)
		return
	}
	s.report(it.page, 1, 1)
}

// detach clones a change that waits after its batch, so that it does not pin its page. The sink plans it again,
// before its Write, since the plan refers to the page, too.
func (s *scheduler) detach(it *item) {
	if it.owned {
		return
	}
	c := it.d.Change.Clone()
	d := Delivery{Change: c}
	for _, e := range it.d.Events {
		e.Change, e.Old, e.New = c, e.Old.Clone(), e.New.Clone()
		d.Events = append(d.Events, e)
	}
	it.d, it.owned, it.unplanned = d, true, it.fail == nil
	if l := s.lanes.of(it.hash, c.Key); l != nil {
		l.key = c.Key // which was a range of the page's keys
	}
	s.run.bounds.park(it.page.part.name, cloneBytes(it))
	s.report(it.page, 0, 1)
}

// detachQueue detaches the waiting changes of a lane.
func (s *scheduler) detachQueue(l *lane) {
	for i := range l.queue {
		s.detach(&l.queue[i])
	}
}

// nacks reports whether a permanent failure returns to the source: there are no dead letters, and the source
// acknowledges each record.
func (s *scheduler) nacks(it *item) bool {
	return s.run.p.o.DeadLetters == nil && it.page.tracker != nil
}

// nackQueue returns the changes that wait in a lane to their source.
func (s *scheduler) nackQueue(l *lane) {
	for _, items := range [][]item{l.retry, l.queue} {
		for i := range items {
			s.finish(&items[i], Revoked, "")
		}
	}
	l.retry, l.queue = nil, nil
}
