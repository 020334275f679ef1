package pipeline

import (
	"context"
	"log/slog"
	"time"
)

// A run is a state machine. Each event (a page was read, a Write has returned, time has passed) is one step: on
// takes Pipeline.mu, which guards all state of the run, and gives the step the time. No code of the user runs in a
// step. What a step wants done outside of the lock is an effect: goroutines that call the sink, the dead letters, the
// quarantine or the committer, and whose results are steps again; and those of effects, which on performs itself.

// effects are what a step wants done once the lock is free.
type effects struct {
	logs       []func()        // lines of the log
	endedPages []*inflightPage // finished pages: their spans end
	freedPages []*inflightPage // pages whose arenas no delivery needs any more
	callPause  bool            // there are calls of Pause, and this goroutine makes them
}

// step runs one step, starts what may start after it, and performs its effects.
func (r *run) step(f func(now time.Time)) {
	r.p.mu.Lock()
	now := time.Now()
	f(now)
	r.dispatch(now)
	if r.checkPressure {
		r.checkPressure = false
		r.relievePressure(now)
		r.dispatch(now)
	}
	r.setTimer(now)
	if len(r.bounds.pauseCalls) > 0 && !r.pausing {
		r.pausing, r.effects.callPause = true, true
	}
	fx := r.effects
	r.effects = effects{}
	r.p.mu.Unlock()
	r.perform(&fx)
}

func (r *run) perform(fx *effects) {
	for _, in := range fx.endedPages {
		in.span.End()
	}
	for _, in := range fx.freedPages {
		for i, arena := range in.arenas {
			if arena != nil {
				r.p.routes[i].arenas.put(arena)
			}
		}
		in.arenas = nil
	}
	for _, log := range fx.logs {
		log()
	}
	if fx.callPause {
		r.callPause()
	}
}

// callPause makes the calls of Pause in order, also those that are added meanwhile. One goroutine at a time does so.
func (r *run) callPause() {
	for {
		r.p.mu.Lock()
		pauses := r.bounds.pauseCalls
		r.bounds.pauseCalls = nil
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

// log adds a line of the log to the effects of a step. attrs is called without the lock.
func (r *run) log(level slog.Level, text string, attrs func() []slog.Attr) {
	r.effects.logs = append(r.effects.logs, func() { r.p.log.LogAttrs(r.hard, level, text, attrs()...) })
}

// addMoving notes that n pages, writers or writers of dead letters began or, below 0, ended. Nothing moves if none is left.
func (r *run) addMoving(n int) {
	r.moving += n
	r.checkPressure = r.checkPressure || n < 0
}

// dispatch starts what can start now.
func (r *run) dispatch(now time.Time) {
	r.checkEnd()
	for _, s := range r.schedulers {
		s.dispatch(now)
	}
	r.checkEnd()
}

// setTimer sets the timer for the earliest of all times at which something starts or ends by itself.
func (r *run) setTimer(now time.Time) {
	at := earlier(r.heldBackAt, r.hardStopAt)
	if !r.closed {
		for _, s := range r.schedulers {
			at = earlier(at, s.nextStartAt(now))
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

// retry calls do until it succeeds, ctx ends, or failed returns false; it returns the last error. failed learns of each
// failure, before the backoff.
func (r *run) retry(ctx context.Context, do func() error, failed func(attempt int, err error) bool) error {
	for attempt := 0; ; attempt++ {
		err := do()
		if err == nil {
			return nil
		}
		after, _ := Retryable(err)
		if !failed(attempt, err) || Sleep(ctx, r.p.o.Backoff.delay(attempt, after)) != nil {
			return err
		}
	}
}

// clock makes the steps that time alone causes, until the run returns.
func (r *run) clock(returned <-chan struct{}) {
	heldLog := heldBackLog{r: r, groups: make(map[heldGroup]*loggedGroup)}
	soft := r.soft.Done()
	for {
		select {
		case <-soft:
			soft = nil
			r.p.log.LogAttrs(r.hard, slog.LevelInfo, "stopping: reading has ended, what was read is delivered")
			r.step(func(now time.Time) { r.hardStopAt = now.Add(r.p.o.StopTimeout) })
		case <-r.timer.C:
			r.tick(&heldLog)
		case <-returned:
			r.timer.Stop()
			return
		}
	}
}

// tick is the step of the timer.
func (r *run) tick(heldLog *heldBackLog) {
	var held []HeldBack
	var at time.Time
	r.step(func(now time.Time) {
		r.timerAt = time.Time{}
		if !r.hardStopAt.IsZero() && !now.Before(r.hardStopAt) {
			r.hardStopAt = time.Time{}
			r.cancelHard(errStopTimeout)
		}
		if !r.heldBackAt.IsZero() && !now.Before(r.heldBackAt) {
			at, held = now, r.heldBack(now)
			r.heldBackAt = time.Time{}
			if r.unfinished > 0 || len(heldLog.groups) > 0 {
				r.heldBackAt = now.Add(heldBackInterval)
			}
		}
	})
	if !at.IsZero() {
		heldLog.update(at, held)
	}
}
