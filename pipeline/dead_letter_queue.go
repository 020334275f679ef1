package pipeline

import (
	"context"
	"log/slog"
	"time"
)

// deadLetterQueue holds the failed changes of a sink whose dead letters are not durable yet. Later changes of
// their keys wait for that. One goroutine writes them, while there are any.
type deadLetterQueue struct {
	items   []item
	of      []*lane   // of each item
	putting []item    // taken from items: the goroutine stores them now
	since   time.Time // since when
	busy    bool      // the goroutine runs
	blocked bool      // the last Put or Hold failed: waiting changes are detached
	told    deadLetterLog
}

// maxLetters bounds one Put.
const maxLetters = 500

// deadLetter queues an item that failed permanently.
func (s *scheduler) deadLetter(l *lane, it item) {
	l.dead++
	l.expiresAt = time.Time{}
	l.follow = l.follow || s.run.quarantines(s.route, it.fail.class)
	s.deadLetters.items = append(s.deadLetters.items, it)
	s.deadLetters.of = append(s.deadLetters.of, l)
	if s.deadLetters.blocked {
		s.detach(&s.deadLetters.items[len(s.deadLetters.items)-1])
		s.detachQueue(l)
	}
	if !s.deadLetters.busy {
		s.deadLetters.busy = true
		s.run.bounds.move(+1)
		s.run.work.Go(s.writeDeadLetters)
	}
}

// writeDeadLetters writes the queue until it is empty, or until a hard stop.
func (s *scheduler) writeDeadLetters() {
	for {
		s.mu.Lock()
		n := min(len(s.deadLetters.items), maxLetters)
		if n == 0 || s.run.hard.Err() != nil {
			s.deadLetters.busy, s.deadLetters.putting = false, nil
			s.mu.Unlock()
			s.run.doneMoving()
			return
		}
		items, of := s.deadLetters.items[:n:n], s.deadLetters.of[:n:n]
		s.deadLetters.items, s.deadLetters.of = s.deadLetters.items[n:], s.deadLetters.of[n:]
		if len(s.deadLetters.items) == 0 {
			s.deadLetters.items, s.deadLetters.of = nil, nil
		}
		s.deadLetters.putting, s.deadLetters.since = items, time.Now()
		s.mu.Unlock()

		if !s.keep(items, of) {
			continue // stopped hard: they stay pending
		}
		now := time.Now()
		s.mu.Lock()
		s.deadLetters.blocked, s.deadLetters.putting = false, nil
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

// keep stores the dead letters of items, then quarantines their keys. It returns false after a hard stop.
func (s *scheduler) keep(items []item, of []*lane) bool {
	letters := s.letters(items)
	waiting := func() {
		s.mu.Lock()
		defer s.unlock()
		s.deadLetters.blocked = true
		for i := range items {
			s.detach(&items[i])
			s.detachQueue(of[i])
		}
		for i := range s.deadLetters.items {
			s.detach(&s.deadLetters.items[i])
			s.detachQueue(s.deadLetters.of[i])
		}
		clones := s.letters(items) // letters refer to the page too
		for i := range clones {
			clones[i].Time = letters[i].Time // stores name a letter by it: a retry must not make a second one
		}
		copy(letters, clones)
	}
	if !s.run.putLetters(s.run.hard, letters, waiting) {
		return false
	}
	var keys []Key
	for i := range items {
		if s.run.quarantines(s.route, items[i].fail.class) {
			keys = append(keys, letters[i].Key)
		}
	}
	if !s.run.quarantine(s.run.hard, s.route.Name, keys, waiting) {
		return false
	}
	s.deadLetters.told.tell(s, items)
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

// putLetters retries until letters are durable; it returns false if ctx ends first.
func (r *run) putLetters(ctx context.Context, letters []DeadLetter, waiting func()) bool {
	return r.retryUntilDone(ctx, "dead letters are not kept: what waits for them is blocked", len(letters), func() error { return r.put(ctx, letters) }, waiting)
}

// retryUntilDone calls do until it succeeds; it returns false if ctx ends first. It logs blocked at each failure,
// with n, the number of letters or keys. It calls waiting once, after the first failure. The caller counts as moving
// (see bounds.move), except from the first failure until retryUntilDone returns. A fatal error also stops the run.
func (r *run) retryUntilDone(ctx context.Context, blocked string, n int, do func() error, waiting func()) bool {
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

// deadLetterLog logs what was dead-lettered. It logs quarantined changes once per retryLogEvery at most: the line
// of their key's first letter announced them. Only the goroutine of writeDeadLetters uses it.
type deadLetterLog struct {
	quarantined int
	next        time.Time
}

// tell writes a line for each kind of failure.
func (l *deadLetterLog) tell(s *scheduler, items []item) {
	var failed, held []*item
	for i := range items {
		it := &items[i]
		s.route.tel.lettered(s.run.hard, it.fail.class)
		switch it.fail.class {
		case classHeld:
			held = append(held, it)
		case classQuarantined:
			l.quarantined++
		default:
			failed = append(failed, it)
		}
	}
	if len(failed) > 0 {
		attrs := []slog.Attr{}
		if s.run.quarantines(s.route, failed[0].fail.class) {
			attrs = append(attrs, slog.String("hint", "later changes of these keys wait in dead letters too; mend the cause, then redrive"))
		}
		l.line(s, slog.LevelError, "given up to dead letters", failed, attrs...)
	}
	if len(held) > 0 {
		hint := "look at the sink; when it works again, redrive"
		if s.run.p.o.Quarantine != nil {
			hint = "look at the sink; later changes of these keys wait in dead letters too, until a redrive delivers them in order"
		}
		l.line(s, slog.LevelError, "given up to dead letters: max_hold passed", held,
			slog.Duration("max_hold", s.run.p.o.MaxHold), slog.String("hint", hint))
	}
	if now := time.Now(); l.quarantined > 0 && !now.Before(l.next) {
		s.run.p.log.LogAttrs(s.run.hard, slog.LevelWarn, "put behind dead letters of their keys, which are quarantined until a redrive",
			slog.String("sink", s.route.Name), slog.Int("changes", l.quarantined))
		l.quarantined, l.next = 0, now.Add(retryLogEvery)
	}
}

func (l *deadLetterLog) line(s *scheduler, level slog.Level, text string, of []*item, more ...slog.Attr) {
	first := of[0]
	attrs := s.run.p.failed(Failure{Sink: s.route.Name, Letter: true}, first.fail.err,
		slog.String("sink", s.route.Name), slog.Int("changes", len(of)), slog.String("class", first.fail.class),
		slog.String("partition", first.page.part.name), slog.String("sequence", first.d.Change.Sequence))
	s.run.p.log.LogAttrs(s.run.hard, level, text, append(attrs, more...)...)
}
