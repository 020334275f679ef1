package pipeline

import (
	"context"
	"log/slog"
	"time"
)

// A run is a state machine. Each event (a page was read, a Write has returned, time has passed) is one step under
// Pipeline.mu, which guards all state of the run. No code of the user runs in a step. Calls of the sink, the dead
// letters, the quarantine and the committer run in goroutines, and the result of each call is a step again. All other
// work that must not hold the lock is an effect.

// step takes the lock, runs f, starts the calls that can start after f, frees the lock, and performs the effects.
func (r *run) step(f func(now time.Time)) {
	r.p.mu.Lock()
	now := time.Now()
	f(now)
	r.dispatch(now)
	for r.pressureDue {
		r.pressureDue = false
		r.relievePressure(now)
		r.dispatch(now)
	}
	r.setTimer(now)
	if len(r.memory.pauseCalls) > 0 && !r.pausing {
		r.pausing = true
		r.addEffect(r.callPause)
	}
	effects := r.effects
	r.effects = nil
	r.p.mu.Unlock()
	for _, effect := range effects {
		effect()
	}
}

// addEffect leaves work for later: the same goroutine does it after the lock is free.
func (r *run) addEffect(effect func()) { r.effects = append(r.effects, effect) }

// callPause makes the calls of Pause in order, including calls that are added meanwhile. Only one goroutine at a time
// runs it.
func (r *run) callPause() {
	for {
		r.p.mu.Lock()
		pauses := r.memory.pauseCalls
		r.memory.pauseCalls = nil
		r.pausing = len(pauses) > 0
		r.p.mu.Unlock()
		if len(pauses) == 0 {
			return
		}
		for _, p := range pauses {
			r.pauser.Pause(p.partition, p.paused)
		}
	}
}

// log adds a line of the log to the effects. attrs is called without the lock.
func (r *run) log(level slog.Level, text string, attrs func() []slog.Attr) {
	r.addEffect(func() { r.p.log.LogAttrs(r.hardCtx, level, text, attrs()...) })
}

// addMoving adds n to moving. When moving is 0, only the passing of time, a retry or relievePressure can make progress.
func (r *run) addMoving(n int) {
	r.moving += n
	r.pressureDue = r.pressureDue || n < 0
}

// dispatch checks whether the run has reached its end, and starts a writer at each sink if one can start.
func (r *run) dispatch(now time.Time) {
	r.checkEnd()
	for _, s := range r.schedulers {
		s.dispatch(now)
	}
}

// setTimer sets the timer to the time of the next step that no other event causes.
func (r *run) setTimer(now time.Time) {
	at := earlierOf(r.heldBackAt, r.hardStopAt)
	if !r.closed {
		for _, s := range r.schedulers {
			at = earlierOf(at, s.nextStartAt(now))
		}
	}
	switch {
	case at.Equal(r.timerAt):
	case at.IsZero():
		r.timer.Stop()
	default:
		r.timer.Reset(max(at.Sub(now), 0))
	}
	r.timerAt = at
}

// waitToRetry waits for the backoff after a try that failed with err. attempt is 0 after the first try. It returns
// false if ctx ends first.
func (r *run) waitToRetry(ctx context.Context, attempt int, err error) bool {
	after, _ := Retryable(err)
	return Sleep(ctx, r.p.options.Backoff.Delay(attempt, after)) == nil
}

// clock makes the steps that time or a stop causes, until stop is closed.
func (r *run) clock(stop <-chan struct{}) {
	heldLog := heldBackLog{r: r, groups: make(map[heldGroup]*loggedGroup)}
	softStop := r.softCtx.Done()
	for {
		select {
		case <-softStop:
			softStop = nil // a nil channel is never ready
			r.p.log.LogAttrs(r.hardCtx, slog.LevelInfo, "stopping: reading has ended, and what was read is delivered")
			r.step(func(now time.Time) { r.hardStopAt = now.Add(r.p.options.StopTimeout) })
		case <-r.timer.C:
			r.onTimer(&heldLog)
		case <-stop:
			r.timer.Stop()
			return
		}
	}
}

// onTimer makes the step that is due when the timer fires.
func (r *run) onTimer(heldLog *heldBackLog) {
	var held []HeldBack
	var checkedAt time.Time // zero: heldBack was not due
	r.step(func(now time.Time) {
		r.timerAt = time.Time{}
		if isDue(r.hardStopAt, now) {
			r.hardStopAt = time.Time{}
			r.cancelHard(errStopTimeout)
		}
		if isDue(r.heldBackAt, now) {
			held, checkedAt = r.heldBack(now), now
			r.heldBackAt = time.Time{}
			if r.unfinished > 0 || len(heldLog.groups) > 0 {
				r.heldBackAt = now.Add(heldBackInterval)
			}
		}
	})
	if !checkedAt.IsZero() {
		heldLog.update(checkedAt, held)
	}
}

// isDue reports whether the time at has come. A zero time never comes.
func isDue(at, now time.Time) bool { return !at.IsZero() && !now.Before(at) }
