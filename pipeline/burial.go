package pipeline

import (
	"log/slog"
	"time"
)

// burial is what a sink gave up and dead letters do not hold yet. Their keys
// wait until it is durable; one goroutine works while there is something.
type burial struct {
	items   []item
	of      []*lane
	busy    bool
	blocked bool // the last Put failed: what waits for it holds its own bytes
}

// maxLetters bounds one Put.
const maxLetters = 500

// bury hands an item that can never be written to dead letters.
func (s *scheduler) bury(l *lane, it item) {
	l.dead++
	s.buried.items = append(s.buried.items, it)
	s.buried.of = append(s.buried.of, l)
	if s.buried.blocked {
		s.own(&s.buried.items[len(s.buried.items)-1])
		s.ownQueue(l)
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
			s.buried.busy = false
			s.mu.Unlock()
			s.run.stopped()
			return
		}
		items, of := s.buried.items[:n:n], s.buried.of[:n:n]
		s.buried.items, s.buried.of = s.buried.items[n:], s.buried.of[n:]
		if len(s.buried.items) == 0 {
			s.buried.items, s.buried.of = nil, nil
		}
		s.mu.Unlock()

		letters := s.letters(items)
		durable := s.run.putLetters(letters, func() {
			s.mu.Lock()
			defer s.unlock()
			s.buried.blocked = true
			for i := range items {
				s.own(&items[i])
				s.ownQueue(of[i])
			}
			for i := range s.buried.items {
				s.own(&s.buried.items[i])
				s.ownQueue(s.buried.of[i])
			}
			copy(letters, s.letters(items)) // of the clones: a letter is a range of the page too
		})
		if !durable {
			continue // stopped hard: they stay pending
		}
		first := &items[0]
		s.run.p.log.LogAttrs(s.run.hard, slog.LevelError, "given up to dead letters",
			slog.String("sink", s.route.Name), slog.Int("changes", len(items)), slog.String("class", first.fail.class),
			slog.String("partition", first.page.part.name), slog.String("sequence", first.d.Change.Sequence),
			slog.String("error", logText(first.fail.err)), stackOf(first.fail.err))
		now := time.Now()
		s.mu.Lock()
		s.buried.blocked = false
		for i := range items {
			s.finish(&items[i], DeadLettered, "")
			of[i].dead--
			if of[i].dead == 0 {
				s.release(of[i], now)
			}
		}
		s.dispatch(now)
		s.unlock()
	}
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
			Partition: it.page.part.name, Index: c.Index,
			Class: it.fail.class, Error: errorText(it.fail.err), Raw: c.Raw, Time: now,
		}
	}
	return letters
}

// putLetters keeps letters, trying until they are durable; false after a hard
// stop. It counts as moving up to the first failure, of which waiting is told.
func (r *run) putLetters(letters []DeadLetter, waiting func()) bool {
	for attempt := 0; ; attempt++ {
		err := r.put(letters)
		if err == nil {
			if attempt > 0 {
				r.bounds.move(+1)
			}
			return true
		}
		r.p.log.LogAttrs(r.hard, slog.LevelError, "dead letters are not kept: what waits for them is blocked",
			slog.Int("letters", len(letters)), slog.Int("attempt", attempt+1), slog.String("error", logText(err)))
		if attempt == 0 {
			waiting()
			r.stopped()
		}
		after, _ := Retryable(err)
		if IsFatal(err) {
			r.fail(err)
		}
		if !sleep(r.hard, r.p.o.Backoff.delay(attempt, after)) {
			r.bounds.move(+1)
			return false
		}
	}
}

func (r *run) put(letters []DeadLetter) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = recovered("dead letters", v)
		}
	}()
	return r.p.o.DeadLetters.Put(r.hard, letters)
}
