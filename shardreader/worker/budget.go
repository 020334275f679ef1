package worker

import (
	"log/slog"
	"slices"
	"time"
)

const month = 30 * 24 * time.Hour

// budget limits the GetRecords calls of this consumer to its part of the fleet's.
type budget struct {
	tokens  float64
	at      time.Duration
	begun   bool
	waiting bool
	rescued time.Duration // when endangered shards were last searched
	passed  time.Duration // when the budget was last passed; 0: never

	// The smoothed rate, in calls a second.
	calls int64
	rate  float64
	since time.Duration
}

// share is the number of calls a second that this consumer may make: its part of the shards.
func (w *Worker) share() float64 {
	mine := len(w.assignments)
	active := max(w.rows.unended, mine)
	if active == 0 {
		return 0
	}
	return float64(w.o.CallsPerMonth) / month.Seconds() * float64(mine) / float64(active)
}

// mayCall takes a call from the budget. When it is used up, a timer tries again. Losing
// records is worse than spending more: a shard that is behind by a quarter of the retention
// is read although the budget is used up.
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
		w.tellOnce("budget", slog.LevelError,
			"the budget of GetRecords calls is too small: records would be lost, so it is passed",
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

// endangered reports whether a shard is read so late that the stream may soon drop unread records.
func (w *Worker) endangered(p *assignment) bool { return p.lag.late(w.now) > w.o.Retention/4 }

// rescue queues the first endangered shard before all others while the budget allows no call, and reports whether there
// is one. It searches once a second.
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

// settle updates the rate.
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

// perMonth is the number of calls a month at the smoothed rate. It is at most this consumer's share of the budget,
// unless the budget was passed: calls that were saved up and are spent at the start do not count.
func (w *Worker) perMonth() float64 {
	b := &w.budget
	b.settle(w.now)
	calls := b.rate * month.Seconds()
	if over := b.passed > 0 && w.now-b.passed < time.Minute; w.o.CallsPerMonth > 0 && !over {
		calls = min(calls, w.share()*month.Seconds())
	}
	return calls
}
