package pipeline

import (
	"container/heap"
	"sync"
	"time"
)

// scheduler carries deliveries to one sink: in order per key, at most Concurrency
// Writes at once, in batches. It has no goroutine of its own: whoever brings
// something or finishes something starts a writer where one may start.
//
// Locks are taken in the order Pipeline.mu, scheduler.mu, bounds.mu. What a
// scheduler finishes it reports after it has let go of its lock (unlock).
type scheduler struct {
	run   *run
	route *route

	mu    sync.Mutex
	ready queue
	spare
	awake       []*lane
	parked      parking
	deadLetters deadLetterQueue
	writing     int
	flush       int       // so many of ready are due, full or not
	ended       bool      // nothing more comes: ready is written, full or not
	closed      bool      // nothing starts any more
	next        time.Time // before it the rate allows no Write
	timer       *time.Timer
	done        []progress // what unlock reports
	flying      []*batch   // being written

	packed    int64 // bytes of what is packed
	unpacking bool  // what is packed is being written: nothing else starts

	retries retryLog
}

// progress is what became of some deliveries of a page.
type progress struct {
	page     *inflight
	finished int // deliveries
	unpinned int // deliveries that do not hold the page any more
}

func newScheduler(r *run, rt *route) *scheduler {
	s := &scheduler{run: r, route: rt, spare: rt.spares.take()}
	s.timer = time.AfterFunc(time.Hour, s.tick)
	s.timer.Stop()
	return s
}

// accept takes the deliveries of the next page. Pipeline.mu is held, so that a
// ledger never shows half a page. due says that they wait for no batch to fill.
func (s *scheduler) accept(p *preparedRoute, at time.Time, due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &s.route.ledger
	l.Routed += p.routed
	p.dropped.addTo(l.Dropped)
	p.noEffect.addTo(l.NoEffect)
	l.Suppressed += p.suppressed
	l.Pending += int64(len(p.items))
	if len(p.items) > 0 {
		s.ready.push(p.items, at)
		if due {
			s.flush = s.ready.n
		}
	}
	s.dispatch(at)
}

// end writes what is left, full or not.
func (s *scheduler) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.dispatch(time.Now())
}

// close lets nothing start any more.
func (s *scheduler) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.timer.Stop()
}

// leave closes what has ended, and leaves its lanes and batches to runs to come.
func (s *scheduler) leave() {
	s.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.route.spares.leave(s.spare)
	s.spare = spare{}
}

// tick is the timer's: something may start that could not before.
func (s *scheduler) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dispatch(time.Now())
}

// unlock lets go of the lock and reports what was finished under it.
func (s *scheduler) unlock() {
	done := s.done
	s.done = nil
	s.mu.Unlock()
	if len(done) > 0 {
		s.run.progressed(done)
	}
}

// report adds to what unlock reports; neighbours mostly are of one page.
func (s *scheduler) report(page *inflight, finished, unpinned int) {
	if n := len(s.done); n > 0 && s.done[n-1].page == page {
		s.done[n-1].finished += finished
		s.done[n-1].unpinned += unpinned
		return
	}
	s.done = append(s.done, progress{page, finished, unpinned})
}

// dispatch starts a writer where one may start; that one starts the next. It is
// counted as moving from here on, so that there is no instant between
// a page's arrival and its Write at which nothing seems to move.
func (s *scheduler) dispatch(now time.Time) {
	if s.closed {
		return
	}
	for len(s.parked) > 0 && !s.parked[0].wake.After(now) {
		l := heap.Pop(&s.parked).(*lane)
		l.parked = false
		s.awake = append(s.awake, l)
	}
	if s.writing < s.route.Concurrency && (len(s.awake) > 0 || s.ready.n > 0 && s.due(now)) && !now.Before(s.next) {
		s.writing++
		s.run.bounds.move(+1)
		s.run.work.Go(s.writer)
	}
	s.arm(now)
}

// waits tells whether batches wait to be full.
func (s *scheduler) waits() bool { return s.route.Batch.Fill || s.route.Batch.Linger > 0 }

// due tells whether what is ready may be written. Ready is not empty.
func (s *scheduler) due(now time.Time) bool {
	b := &s.route.Batch
	return !s.waits() || s.flush > 0 || s.ended ||
		s.ready.n >= b.Count || s.ready.bytes >= b.Bytes ||
		b.Linger > 0 && now.Sub(s.ready.since()) >= b.Linger
}

// arm sets the timer for the next thing that time alone lets start.
func (s *scheduler) arm(now time.Time) {
	if s.closed {
		return
	}
	var at time.Time
	sooner := func(t time.Time) {
		if at.IsZero() || t.Before(at) {
			at = t
		}
	}
	if len(s.parked) > 0 {
		sooner(s.parked[0].wake)
	}
	if s.ready.n > 0 && s.writing < s.route.Concurrency && s.route.Batch.Linger > 0 && !s.due(now) {
		sooner(s.ready.since().Add(s.route.Batch.Linger))
	}
	if now.Before(s.next) && (s.ready.n > 0 || len(s.awake) > 0) {
		sooner(s.next)
	}
	if at.IsZero() {
		s.timer.Stop()
		return
	}
	s.timer.Reset(max(at.Sub(now), 0))
}

// writer writes batch after batch while there is one.
func (s *scheduler) writer() {
	s.mu.Lock()
	for {
		b := s.nextBatch(time.Now())
		if b == nil {
			break
		}
		s.dispatch(time.Now())
		s.unlock()
		if b.chunks != nil {
			s.writePacked(b)
			s.run.relievePressure()
			s.mu.Lock()
			continue
		}
		planned := s.route.planAgain(b)
		if planned {
			s.route.write(s.run, b)
		}
		s.mu.Lock()
		b.again = b.again || !planned
		s.applyResult(b, time.Now())
		s.unlock()
		s.run.relievePressure()
		s.mu.Lock()
	}
	s.writing--
	s.arm(time.Now())
	s.unlock()
	s.run.doneMoving()
}
