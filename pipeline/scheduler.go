package pipeline

import (
	"container/heap"
	"context"
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

	mu      sync.Mutex
	ready   queue
	lanes   map[Key]*lane
	awake   []*lane
	parked  parking
	buried  burial
	writing int
	flush   int       // so many of ready are due, full or not
	ended   bool      // nothing more comes: ready is written, full or not
	closed  bool      // nothing starts any more
	next    time.Time // before it the rate allows no Write
	timer   *time.Timer
	done    []progress // what unlock reports
	spare   []*batch
	idle    []*lane
	retries retryLog
}

// progress is what became of some deliveries of a page.
type progress struct {
	page     *inflight
	finished int // deliveries
	unpinned int // deliveries that do not hold the page any more
}

// batch is one Write.
type batch struct {
	items []item
	of    []*lane // of each item
	lanes []*lane // each once
	bytes int64
	ds    []Delivery
	errs  []error
}

func (b *batch) reset() {
	clear(b.items)
	clear(b.of)
	clear(b.lanes)
	clear(b.ds)
	clear(b.errs)
	b.items, b.of, b.lanes, b.ds, b.errs, b.bytes = b.items[:0], b.of[:0], b.lanes[:0], b.ds[:0], b.errs[:0], 0
}

func (b *batch) add(it item, l *lane) {
	b.items = append(b.items, it)
	b.of = append(b.of, l)
	b.bytes += it.size
	if l.batch != b {
		l.batch = b
		b.lanes = append(b.lanes, l)
	}
}

func newScheduler(r *run, rt *route) *scheduler {
	s := &scheduler{run: r, route: rt, lanes: map[Key]*lane{}}
	s.timer = time.AfterFunc(time.Hour, s.tick)
	s.timer.Stop()
	return s
}

// accept takes the deliveries of the next page. Pipeline.mu is held, so that a
// ledger never shows half a page.
func (s *scheduler) accept(p *preparedRoute, at time.Time) {
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
		b := s.form(time.Now())
		if b == nil {
			break
		}
		s.dispatch(time.Now())
		s.unlock()
		s.route.write(s.run, b)
		s.mu.Lock()
		s.settle(b, time.Now())
		s.unlock()
		s.mu.Lock()
	}
	s.writing--
	s.arm(time.Now())
	s.unlock()
	s.run.stopped()
}

// form takes the next batch: first keys that were held up, then what is ready in
// the order of the source. nil: there is nothing to write.
func (s *scheduler) form(now time.Time) *batch {
	if s.closed || s.run.hard.Err() != nil || now.Before(s.next) {
		return nil
	}
	b := s.newBatch()
	full := false
	for len(s.awake) > 0 && !full {
		full = !s.takeLane(b, s.awake[0], now)
		if !full {
			s.awake[0] = nil
			s.awake = s.awake[1:]
		}
	}
	if !full && s.ready.n > 0 && s.due(now) && (len(b.items) == 0 || !s.waits()) {
		s.takeReady(b, now)
	}
	if len(b.items) == 0 {
		s.spare = append(s.spare, b)
		return nil
	}
	if rate := s.route.Rate; rate > 0 {
		s.next = later(s.next, now).Add(time.Duration(float64(len(b.items)) / rate * float64(time.Second)))
	}
	return b
}

func (s *scheduler) newBatch() *batch {
	if n := len(s.spare); n > 0 {
		b := s.spare[n-1]
		s.spare = s.spare[:n-1]
		return b
	}
	return &batch{}
}

func (s *scheduler) fits(b *batch, it *item) bool {
	return len(b.items) == 0 || len(b.items) < s.route.Batch.Count && b.bytes+it.size <= s.route.Batch.Bytes
}

// takeLane moves what it can of an awake lane into the batch. It is false when
// the batch is full and the lane still awake.
func (s *scheduler) takeLane(b *batch, l *lane, now time.Time) bool {
	for len(l.queue) > 0 {
		it := &l.queue[0]
		if it.fail != nil {
			if l.batch == b {
				return true // after those of the batch
			}
			s.giveUp(l, now)
			return true
		}
		if !s.fits(b, it) {
			return l.batch == b
		}
		b.add(l.pop(), l)
		if !s.route.keepsOrder {
			return true
		}
	}
	return true
}

// takeReady fills the batch from what is ready. A change whose key is held up
// goes to wait behind it; those behind the change go on.
func (s *scheduler) takeReady(b *batch, now time.Time) {
	left := s.ready.n
	if s.flush > 0 {
		left = s.flush
	}
	for ; left > 0; left-- {
		it := s.ready.first()
		l := s.lanes[it.d.Change.Key]
		switch {
		case l != nil && (l.batch != b || !s.route.keepsOrder || len(l.queue) > 0 || it.fail != nil):
			l.queue = append(l.queue, s.popReady())
			if l.parked {
				s.own(&l.queue[len(l.queue)-1])
			}
		case it.fail != nil:
			l = s.newLane(it.d.Change.Key)
			l.queue = append(l.queue, s.popReady())
			s.giveUp(l, now)
		case !s.fits(b, it):
			return
		default:
			if l == nil {
				l = s.newLane(it.d.Change.Key)
			}
			b.add(s.popReady(), l)
		}
	}
}

func (s *scheduler) popReady() item {
	s.flush = max(s.flush-1, 0)
	it, done := s.ready.pop()
	if done != nil {
		s.route.slabs.put(done)
	}
	return it
}

func (s *scheduler) newLane(k Key) *lane {
	var l *lane
	if n := len(s.idle); n > 0 {
		l, s.idle = s.idle[n-1], s.idle[:n-1]
	} else {
		l = new(lane)
	}
	l.key = k
	s.lanes[k] = l
	return l
}

// maxIdle bounds the lanes kept for the next keys: enough for the batches in
// flight, and no memory of a backlog that is over.
const maxIdle = 4096

func (s *scheduler) dropLane(l *lane) {
	delete(s.lanes, l.key)
	if len(s.idle) < maxIdle {
		*l = lane{}
		s.idle = append(s.idle, l)
	}
}

// settle books what became of a batch and sends each of its lanes on.
func (s *scheduler) settle(b *batch, now time.Time) {
	hard := s.run.hard.Err() != nil
	for i := range b.items {
		it, l, err := &b.items[i], b.of[i], b.errs[i]
		switch {
		case err == nil:
			s.finish(it, b.ds[i].Outcome, b.ds[i].Reason)
			l.attempt = 0
		case hard:
			// It stays pending: the next run delivers it.
		case s.route.retried(err) || len(l.retry) > 0:
			after, _ := Retryable(err)
			l.server = max(l.server, after)
			l.retry = append(l.retry, *it)
			s.retries.add(s, err)
		default:
			it.fail = &failure{classOf(err), err}
			s.bury(l, *it)
		}
	}
	// Keys that failed together come back together: a batch that failed as a
	// whole is not torn into one Write for each key.
	var delays [maxSharedDelays]time.Duration
	for _, l := range b.lanes {
		l.batch = nil
		if len(l.retry) > 0 {
			l.queue = append(l.retry, l.queue...)
			l.retry = nil
			d := &delays[min(l.attempt, maxSharedDelays-1)]
			if *d == 0 {
				*d = max(1, s.run.p.o.Backoff.delay(l.attempt, 0))
			}
			l.wake = now.Add(max(*d, l.server))
			l.attempt++
			l.server = 0
		}
		s.release(l, now)
	}
	b.reset()
	s.spare = append(s.spare, b)
	s.retries.flush(s, now)
}

// Attempts from here on share a delay: the backoff has long reached its maximum.
const maxSharedDelays = 16

// release sends a lane where it belongs when nothing of it is under way.
func (s *scheduler) release(l *lane, now time.Time) {
	switch {
	case l.dead > 0 || l.batch != nil:
	case len(l.queue) == 0:
		s.dropLane(l)
	case l.wake.After(now):
		for i := range l.queue {
			s.own(&l.queue[i])
		}
		l.parked = true
		heap.Push(&s.parked, l)
	default:
		s.awake = append(s.awake, l)
	}
}

// giveUp takes the first of the lane's queue, which can never be written, to
// dead letters, or blocks the key where there are none.
func (s *scheduler) giveUp(l *lane, now time.Time) {
	if s.run.p.o.DeadLetters != nil {
		s.bury(l, l.pop())
		return
	}
	s.retries.add(s, l.queue[0].fail.err)
	l.wake = now.Add(max(1, s.run.p.o.Backoff.delay(l.attempt, 0)))
	l.attempt++
	s.release(l, now)
	s.retries.flush(s, now)
}

// finish books the end of one delivery.
func (s *scheduler) finish(it *item, o Outcome, reason string) {
	l := &s.route.ledger
	l.Pending--
	l.count(o, reason, 1)
	s.route.newest.see(it.d.Change.Time)
	if it.owned {
		s.run.bounds.release(it.page.part.name, ownBytes(it), 1)
		s.report(it.page, 1, 0)
		return
	}
	s.report(it.page, 1, 1)
}

// own clones what waits beyond its batch, so that it holds its own bytes and not its page's.
// What the sink planned is ranges of the page too: it plans again.
func (s *scheduler) own(it *item) {
	if it.owned {
		return
	}
	c := it.d.Change.Clone()
	d := Delivery{Change: c}
	for _, e := range it.d.Events {
		e.Change, e.Old, e.New = c, e.Old.Clone(), e.New.Clone()
		d.Events = append(d.Events, e)
	}
	if it.fail == nil {
		it.fail = s.route.plan(&d)
	}
	it.d, it.owned = d, true
	s.run.bounds.take(it.page.part.name, ownBytes(it), 1)
	s.report(it.page, 0, 1)
}

// compact clones what waits to fill a batch, where that frees at least twice
// what it costs.
func (s *scheduler) compact() {
	s.mu.Lock()
	defer s.unlock()
	if !s.waits() {
		return
	}
	var own, pinned int64
	var last *inflight
	s.each(func(it *item) {
		if it.owned {
			return
		}
		own += ownBytes(it)
		if it.page != last {
			last = it.page
			pinned += it.page.bytes
		}
	})
	if own*2 <= pinned {
		s.each(s.own)
	}
}

func (s *scheduler) each(f func(*item)) {
	for _, c := range s.ready.chunks {
		for i := range c.items {
			f(&c.items[i])
		}
	}
}

// relieve makes what is ready due although it is not full: exactly that, and not
// what comes meanwhile, so that the cut does not depend on time.
func (s *scheduler) relieve() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush = s.ready.n
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// sleep waits for d, or less when ctx is done; it is false then.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
