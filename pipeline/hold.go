package pipeline

import (
	"context"
	"fmt"
	"time"
)

// behindLetters is the failure of a change whose key is held.
var behindLetters = &failure{classQuarantined, errs.New("its key is quarantined: an earlier change of it lies in dead letters; redrive delivers both, in order")}

// holds tells whether a change given up with that class holds its key: where
// versions decide, a change that failed for good does no harm by coming after later
// ones, and only what waited too long is kept in line.
func (r *run) holds(rt *route, class string) bool {
	return r.p.o.Quarantine != nil && rt.Suppress == "" && (!rt.guarded || class == classHeld || class == classQuarantined)
}

// takeOutQuarantined takes the changes whose keys are in quarantine out of a batch. An error
// fails the whole batch.
func (r *run) takeOutQuarantined(rt *route, b *batch) error {
	if r.p.o.Quarantine == nil {
		return nil
	}
	for _, l := range b.lanes {
		b.keys = append(b.keys, l.key)
	}
	held, err := r.callQuarantine(b.ctx, rt.Name, b.keys)
	if err == nil && len(held) != len(b.keys) {
		err = errs.Errorf("it answered %d of %d keys", len(held), len(b.keys))
	}
	if err != nil {
		if IsFatal(err) {
			return fmt.Errorf("quarantine: %w", err)
		}
		after, _ := Retryable(err)
		return RetryAfter(&quarantineError{err}, after)
	}
	some := false
	for i, h := range held {
		b.lanes[i].skipped = h
		some = some || h
	}
	if !some {
		return nil
	}
	kept := 0
	for i, l := range b.of {
		if l.skipped {
			b.quarantined, b.quarantinedOf = append(b.quarantined, b.items[i]), append(b.quarantinedOf, l)
			continue
		}
		b.items[kept], b.of[kept] = b.items[i], l
		kept++
	}
	clear(b.items[kept:])
	clear(b.of[kept:])
	b.items, b.of = b.items[:kept], b.of[:kept]
	for _, l := range b.lanes {
		l.skipped = false
	}
	return nil
}

func (r *run) callQuarantine(ctx context.Context, sink string, keys []Key) (held []bool, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = recovered("quarantine", v)
		}
		err = r.p.patience.held.Take(err)
	}()
	return r.p.o.Quarantine.Held(ctx, sink, keys)
}

// hold marks keys as held, trying until that is durable; false when ctx is done before.
func (r *run) hold(ctx context.Context, sink string, keys []Key, waiting func()) bool {
	if len(keys) == 0 {
		return true
	}
	return r.insist(ctx, "the quarantine of keys is not kept: what waits for it is blocked", len(keys), func() (err error) {
		defer func() {
			if v := recover(); v != nil {
				err = recovered("quarantine", v)
			}
			err = r.p.patience.hold.Take(err)
		}()
		return r.p.o.Quarantine.Hold(ctx, sink, keys)
	}, waiting)
}

// quarantineError is the failure of a Quarantine, whose kind is no delivery's: a
// panic of it is tried again as any error of it is.
type quarantineError struct{ err error }

var _ Redacted = (*quarantineError)(nil)

func (e *quarantineError) Error() string    { return "quarantine: " + e.err.Error() }
func (e *quarantineError) Redacted() string { return "quarantine: " + SafeText(e.err) }

// followLetter takes all that waits in a lane to dead letters, where the change
// before it went and holds the key.
func (s *scheduler) followLetter(l *lane) {
	if !l.follow {
		return
	}
	l.attempt, l.wake = 0, time.Time{}
	for len(l.queue) > 0 {
		it := l.pop()
		if it.fail == nil {
			it.fail = behindLetters
		}
		s.bury(l, it)
	}
	l.follow = false // they hold the key too, and nothing is left behind them
}

// deadline is when the first of a lane is given up, which was tried and failed.
func (s *scheduler) deadline(l *lane, tried time.Time) time.Time {
	o := &s.run.p.o
	created := l.queue[0].d.Change.Time
	switch {
	case o.MaxHold == 0:
		return time.Time{}
	case o.Live && !created.IsZero():
		return created.Add(o.MaxHold)
	case !l.giveUp.IsZero():
		return l.giveUp
	}
	return tried.Add(o.MaxHold)
}

// expire gives up on the first of an awake lane when its time is over.
func (s *scheduler) expire(l *lane, now time.Time) {
	if l.giveUp.IsZero() || now.Before(l.giveUp) {
		return
	}
	l.giveUp = time.Time{}
	l.queue[0].fail = &failure{classHeld, &holdError{s.run.p.o.MaxHold, l.err}}
}

// holdError says that MaxHold passed.
type holdError struct {
	hold time.Duration
	last error
}

func (e *holdError) Error() string {
	return fmt.Sprintf("it failed for longer than max_hold (%v) and was given up; the last error was: %v", e.hold, e.last)
}

func (e *holdError) Unwrap() error { return e.last }
