package pipeline

import (
	"context"
	"log/slog"
	"time"
)

// burial is what a sink gave up and dead letters do not hold yet. Their keys
// wait until it is durable; one goroutine works while there is something.
type burial struct {
	items   []item
	of      []*lane
	putting []item    // of them, those that a Put has been given
	since   time.Time // when it was given them
	busy    bool
	blocked bool // the last Put failed: what waits for it holds its own bytes
	told    burialLog
}

// maxLetters bounds one Put.
const maxLetters = 500

// bury hands an item that can never be written to dead letters.
func (s *scheduler) bury(l *lane, it item) {
	l.dead++
	l.giveUp = time.Time{}
	l.follow = l.follow || s.run.holds(s.route, it.fail.class)
	s.buried.items = append(s.buried.items, it)
	s.buried.of = append(s.buried.of, l)
	if s.buried.blocked {
		s.detach(&s.buried.items[len(s.buried.items)-1])
		s.detachQueue(l)
	}
	if !s.buried.busy {
		s.buried.busy = true
		s.run.bounds.move(+1)
		s.run.work.Go(s.buryAll)
	}
}

func (s *scheduler) buryAll() {
	for {
		s.mu.Lock()
		n := min(len(s.buried.items), maxLetters)
		if n == 0 || s.run.hard.Err() != nil {
			s.buried.busy, s.buried.putting = false, nil
			s.mu.Unlock()
			s.run.doneMoving()
			return
		}
		items, of := s.buried.items[:n:n], s.buried.of[:n:n]
		s.buried.items, s.buried.of = s.buried.items[n:], s.buried.of[n:]
		if len(s.buried.items) == 0 {
			s.buried.items, s.buried.of = nil, nil
		}
		s.buried.putting, s.buried.since = items, time.Now()
		s.mu.Unlock()

		if !s.keep(items, of) {
			continue // stopped hard: they stay pending
		}
		now := time.Now()
		s.mu.Lock()
		s.buried.blocked, s.buried.putting = false, nil
		for i := range items {
			outcome := DeadLettered
			if items[i].fail.class == classQuarantined {
				outcome = Quarantined
			}
			s.finish(&items[i], outcome, "")
			of[i].dead--
			if of[i].dead == 0 {
				s.requeueLane(of[i], now)
			}
		}
		s.dispatch(now)
		s.unlock()
	}
}

// keep makes items durable as letters, and then the marks of their keys; false after
// a hard stop.
func (s *scheduler) keep(items []item, of []*lane) bool {
	letters := s.letters(items)
	waiting := func() {
		s.mu.Lock()
		defer s.unlock()
		s.buried.blocked = true
		for i := range items {
			s.detach(&items[i])
			s.detachQueue(of[i])
		}
		for i := range s.buried.items {
			s.detach(&s.buried.items[i])
			s.detachQueue(s.buried.of[i])
		}
		clones := s.letters(items) // a letter is a range of the page too
		for i := range clones {
			clones[i].Time = letters[i].Time // what a store that was given some of them knows them by
		}
		copy(letters, clones)
	}
	if !s.run.putLetters(s.run.hard, letters, waiting) {
		return false
	}
	var keys []Key
	for i := range items {
		if s.run.holds(s.route, items[i].fail.class) {
			keys = append(keys, letters[i].Key)
		}
	}
	if !s.run.hold(s.run.hard, s.route.Name, keys, waiting) {
		return false
	}
	s.buried.told.tell(s, items)
	return true
}

func (s *scheduler) letters(items []item) []DeadLetter {
	now := time.Now().UTC()
	letters := make([]DeadLetter, len(items))
	for i := range items {
		it := &items[i]
		c := it.d.Change
		letters[i] = DeadLetter{
			Pipeline: s.run.p.o.Name, Sink: s.route.Name,
			Key: c.Key, Version: c.Version, Sequence: c.Sequence,
			StreamARN: c.StreamARN, Table: c.Table,
			Partition: it.page.part.name, Index: int(c.Index),
			Class: it.fail.class, Error: errorText(it.fail.err), Raw: c.Raw, Time: now,
		}
	}
	return letters
}

// putLetters keeps letters, trying until they are durable; false when ctx is done before.
func (r *run) putLetters(ctx context.Context, letters []DeadLetter, waiting func()) bool {
	return r.insist(ctx, "dead letters are not kept: what waits for them is blocked", len(letters), func() error { return r.put(ctx, letters) }, waiting)
}

// insist tries until do works; false when ctx is done before. It counts as moving up to
// the first failure, of which waiting is told; blocked says for the log what
// n letters or keys are then.
func (r *run) insist(ctx context.Context, blocked string, n int, do func() error, waiting func()) bool {
	start := time.Now()
	for attempt := 0; ; attempt++ {
		err := do()
		if err == nil {
			if attempt > 0 {
				r.p.log.LogAttrs(r.hard, slog.LevelInfo, "it works again, and what waited goes on", slog.Int("waited", n), slog.Duration("down", down(start)))
				r.bounds.move(+1)
			}
			return true
		}
		r.p.log.LogAttrs(r.hard, slog.LevelError, blocked, r.p.failed(Failure{}, err, slog.Int("waiting", n), slog.Int("attempt", attempt+1))...)
		if attempt == 0 {
			waiting()
			r.doneMoving()
		}
		after, _ := Retryable(err)
		if IsFatal(err) {
			r.fail(err)
		}
		if !sleep(ctx, r.p.o.Backoff.delay(attempt, after)) {
			r.bounds.move(+1)
			return false
		}
	}
}

func (r *run) put(ctx context.Context, letters []DeadLetter) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = recovered("dead letters", v)
		}
		err = r.p.patience.letters.Take(err)
	}()
	return r.p.o.DeadLetters.Put(ctx, letters)
}
