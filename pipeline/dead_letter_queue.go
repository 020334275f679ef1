package pipeline

import (
	"context"
	"log/slog"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
)

// deadLetterQueue holds the failed changes of a sink whose dead letters are not durable yet. Later changes of
// their keys wait for that. One goroutine writes them, while there are any.
type deadLetterQueue struct {
	items   []*queuedDelivery
	putting []*queuedDelivery // taken from items: the goroutine stores them now
	since   time.Time         // since when
	busy    bool              // the goroutine runs
	down    bool              // the last Put or Hold failed: waiting changes are cloned
	told    deadLetterLog
}

// maxLetters bounds one Put.
const maxLetters = 500

// deadLetter queues an item that failed permanently.
func (s *scheduler) deadLetter(it *queuedDelivery) {
	l := it.lane
	l.letters++
	l.expiresAt = time.Time{}
	l.quarantinesRest = l.quarantinesRest || s.run.quarantines(s.route, it.fail.class)
	if s.deadLetters.down {
		it = s.clone(it)
	}
	s.deadLetters.items = append(s.deadLetters.items, it)
	if !s.deadLetters.busy {
		s.deadLetters.busy = true
		s.run.move(+1)
		s.run.work.Go(s.writeDeadLetters)
	}
}

// writeDeadLetters writes the queue until it is empty, or until a hard stop.
func (s *scheduler) writeDeadLetters() {
	var items []*queuedDelivery
	kept := false
	for {
		s.run.on(func(now time.Time) {
			if kept {
				s.lettersKept(items, now)
			}
			items = s.nextLetters(now)
		})
		if len(items) == 0 {
			return
		}
		kept = s.keep(items)
	}
}

// nextLetters takes the items whose letters are stored next. If there are none, the goroutine ends.
func (s *scheduler) nextLetters(now time.Time) []*queuedDelivery {
	q := &s.deadLetters
	n := min(len(q.items), maxLetters)
	if n == 0 || s.run.hard.Err() != nil {
		q.busy, q.putting = false, nil
		s.run.move(-1)
		return nil
	}
	q.putting, q.since = q.items[:n:n], now
	if q.items = q.items[n:]; len(q.items) == 0 {
		q.items = nil
	}
	return q.putting
}

// lettersKept books items whose letters are durable, and moves their lanes on.
func (s *scheduler) lettersKept(items []*queuedDelivery, now time.Time) {
	s.deadLetters.down = false
	for _, it := range items {
		outcome := DeadLettered
		if it.fail.class == classQuarantined {
			outcome = Quarantined
		}
		s.letterDone(it, outcome, now)
	}
}

// letterDone ends the wait for one letter.
func (s *scheduler) letterDone(it *queuedDelivery, o Outcome, now time.Time) {
	s.finishDelivery(it, o, "")
	if it.lane.letters--; it.lane.letters == 0 {
		s.moveOn(it.lane, now)
	}
}

// lettersDown clones what waits for letters out of its pages, as they cannot be stored now.
func (s *scheduler) lettersDown() {
	s.deadLetters.down = true
	for _, items := range [][]*queuedDelivery{s.deadLetters.putting, s.deadLetters.items} {
		for i, it := range items {
			items[i] = s.clone(it)
			s.cloneQueue(it.lane)
		}
	}
}

// keep stores the dead letters of items, then quarantines their keys. It returns false after a hard stop.
func (s *scheduler) keep(items []*queuedDelivery) bool {
	letters := s.letters(items)
	var keys []item.Key
	for i, it := range items {
		if s.run.quarantines(s.route, it.fail.class) {
			keys = append(keys, letters[i].Key)
		}
	}
	failed := func() {
		s.lettersDown()
		clones := s.letters(items) // letters refer to the page too
		for i := range clones {
			clones[i].Time = letters[i].Time // stores name a letter by it: a retry must not make a second one
		}
		copy(letters, clones)
	}
	if !s.run.putLetters(s.run.hard, letters, failed) || !s.run.quarantine(s.run.hard, s.route.Name, keys, failed) {
		return false
	}
	s.deadLetters.told.tell(s, items)
	return true
}

func (s *scheduler) letters(items []*queuedDelivery) []DeadLetter {
	now := time.Now().UTC()
	letters := make([]DeadLetter, len(items))
	for i, it := range items {
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
func (r *run) putLetters(ctx context.Context, letters []DeadLetter, failed func()) bool {
	return r.retryUntilDone(ctx, "dead letters are not kept: what waits for them is blocked", len(letters),
		func() error {
			return guard("dead letters", &r.p.patience.letters, func() error { return r.p.o.DeadLetters.Put(ctx, letters) })
		}, failed)
}

// retryUntilDone calls do until it succeeds; it returns false if ctx ends first. It logs text at each failure,
// with n, the number of letters or keys. The first failure is a step of failed. The caller counts as moving
// (see run.move), except from the first failure until retryUntilDone returns. A fatal error also stops the run.
func (r *run) retryUntilDone(ctx context.Context, text string, n int, do func() error, failed func()) bool {
	start, waits := time.Now(), false
	err := r.retry(ctx, do, func(attempt int, err error) bool {
		r.p.log.LogAttrs(r.hard, slog.LevelError, text, r.p.failed(Failure{}, err, slog.Int("waiting", n), slog.Int("attempt", attempt+1))...)
		r.on(func(time.Time) {
			if !waits {
				waits = true
				failed()
				r.move(-1)
			}
			r.failIfFatal(err)
		})
		return true
	})
	if waits {
		r.on(func(time.Time) { r.move(+1) })
	}
	if waits && err == nil {
		r.p.log.LogAttrs(r.hard, slog.LevelInfo, "it works again, and what waited goes on", slog.Int("waited", n), slog.Duration("down", down(start)))
	}
	return err == nil
}

// deadLetterLog logs what was dead-lettered. It logs quarantined changes once per retryLogEvery at most: the line
// of their key's first letter announced them. Only the goroutine of writeDeadLetters uses it.
type deadLetterLog struct {
	quarantined int
	next        time.Time
}

// tell writes a line for each kind of failure.
func (l *deadLetterLog) tell(s *scheduler, items []*queuedDelivery) {
	var failed, held []*queuedDelivery
	for _, it := range items {
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

func (l *deadLetterLog) line(s *scheduler, level slog.Level, text string, of []*queuedDelivery, more ...slog.Attr) {
	first := of[0]
	attrs := s.run.p.failed(Failure{Sink: s.route.Name, Letter: true}, first.fail.err,
		slog.String("sink", s.route.Name), slog.Int("changes", len(of)), slog.String("class", first.fail.class),
		slog.String("partition", first.page.part.name), slog.String("sequence", first.d.Change.Sequence))
	s.run.p.log.LogAttrs(s.run.hard, level, text, append(attrs, more...)...)
}
