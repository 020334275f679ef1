package worker

import (
	"log/slog"
	"slices"
	"time"
)

const month = 30 * 24 * time.Hour

// budget holds the GetRecords calls of this worker to its part of the fleet's.
type budget struct {
	tokens  float64
	at      time.Duration
	begun   bool
	waiting bool
	rescued time.Duration // when shards in danger were last looked for
	passed  time.Duration // when a call was last made for which nothing was left; 0: never

	// The rate of late, in calls a second.
	calls int64
	rate  float64
	since time.Duration
}

// share is how many calls a second this worker may make: its part of the shards.
func (w *Worker) share() float64 {
	mine := len(w.assignments)
	active := max(w.rows.unended, mine)
	if active == 0 {
		return 0
	}
	return float64(w.o.CallsPerMonth) / month.Seconds() * float64(mine) / float64(active)
}

// mayCall takes a call from the budget. When it is used up, a timer asks again. Losing
// records is worse than spending more: a shard that is behind for a quarter of what
// the stream keeps is read whatever the budget says.
func (w *Worker) mayCall(p *assignment) bool {
	b := &w.budget
	if w.o.CallsPerMonth == 0 || w.endCheckWaits(p) {
		return true
	}
	if b.waiting && !w.endangered(p) {
		return false
	}
	rate := w.share()
	most := max(10, rate*60)
	if !b.begun {
		b.begun, b.tokens = true, min(most, 10+float64(len(w.assignments)))
	} else {
		b.tokens = min(most, b.tokens+rate*(w.now-b.at).Seconds())
	}
	b.at = w.now
	switch {
	case b.tokens >= 1:
		b.tokens--
		return true
	case w.endangered(p):
		b.passed = max(1, w.now)
		w.tellOnce("budget", slog.LevelError, "the budget of GetRecords calls is too small: records would be lost, so it is passed",
			slog.Int64("calls_per_month", w.o.CallsPerMonth))
		return true
	}
	wait := time.Second
	if rate > 0 {
		wait = min(time.Hour, time.Duration((1-b.tokens)/rate*float64(time.Second))+time.Millisecond)
	}
	b.waiting = true
	w.after(wait, func() { b.waiting = false })
	return false
}

// endangered tells whether the records that a shard reads now are so old that others may
// soon be dropped.
func (w *Worker) endangered(p *assignment) bool { return p.lag.late(w.now) > w.o.Retention/4 }

// rescue puts the first shard that is in danger before all others that wait, while the
// budget allows no call. It is false where there is none; it looks once a second.
func (w *Worker) rescue() bool {
	if w.now-w.budget.rescued < time.Second {
		return false
	}
	w.budget.rescued = w.now
	for i, p := range w.ready {
		if w.readable(p) && w.endangered(p) {
			w.ready = slices.Insert(slices.Delete(w.ready, i, i+1), 0, p)
			return true
		}
	}
	return false
}

// called counts a call.
func (b *budget) called(w *Worker) {
	b.calls++
	b.settle(w.now)
}

// settle brings the rate up to date.
func (b *budget) settle(now time.Duration) {
	d := (now - b.since).Seconds()
	if d < 10 {
		return
	}
	rate := float64(b.calls) / d
	if b.rate == 0 {
		b.rate = rate
	} else {
		b.rate = b.rate*0.8 + rate*0.2
	}
	b.calls, b.since = 0, now
}

// perMonth is how many calls a month the rate of late makes. What was saved up for a
// start, and is spent then, does not count: over a month the budget holds.
func (w *Worker) perMonth() float64 {
	b := &w.budget
	b.settle(w.now)
	calls := b.rate * month.Seconds()
	if over := b.passed > 0 && w.now-b.passed < time.Minute; w.o.CallsPerMonth > 0 && !over {
		calls = min(calls, w.share()*month.Seconds())
	}
	return calls
}
