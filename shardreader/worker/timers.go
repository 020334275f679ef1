package worker

import "time"

// timers are what is to be done later, in the order of time, then of arrival: due is a heap.
type timers struct {
	due  []timer
	made uint64
}

// timer is one of them. Each shard that is idle has one for its next poll, so that is no func of
// its own.
type timer struct {
	at   time.Duration
	no   uint64
	do   func() // nil: poll
	poll *part
}

func (t *timer) before(u *timer) bool { return t.at < u.at || t.at == u.at && t.no < u.no }

// push adds a timer.
func (t *timers) push(x timer) {
	t.due = append(t.due, x)
	for i := len(t.due) - 1; i > 0; {
		up := (i - 1) / 2
		if !x.before(&t.due[up]) {
			break
		}
		t.due[i], t.due[up] = t.due[up], x
		i = up
	}
}

// pop takes out the first.
func (t *timers) pop() timer {
	first, end := t.due[0], len(t.due)-1
	x := t.due[end]
	t.due[end] = timer{}
	t.due = t.due[:end]
	for i := 0; end > 0; {
		down := 2*i + 1
		if down+1 < end && t.due[down+1].before(&t.due[down]) {
			down++
		}
		if down >= end || !t.due[down].before(&x) {
			t.due[i] = x
			break
		}
		t.due[i] = t.due[down]
		i = down
	}
	return first
}

// runTimers does what is due now, also what comes due meanwhile.
func (w *Worker) runTimers() {
	for t := &w.timers; len(t.due) > 0 && t.due[0].at <= w.now; {
		if next := t.pop(); next.do != nil {
			next.do()
		} else {
			next.poll.waiting = false
			w.want(next.poll)
		}
	}
}

// after does f once d has passed: in a later step, or in this one if d is 0.
func (w *Worker) after(d time.Duration, f func()) { w.later(d, timer{do: f}) }

func (w *Worker) later(d time.Duration, t timer) {
	w.timers.made++
	t.at, t.no = w.now+d, w.timers.made
	w.timers.push(t)
}

// jitter is a time between d/2 and d.
func (w *Worker) jitter(d time.Duration) time.Duration {
	if d <= 1 {
		return d
	}
	return d/2 + time.Duration(w.o.Rand.Int64N(int64(d/2)+1))
}

// backoff is the pause behind a failure: of the attempts that failed in a row, and at
// least what the server asks for.
func (w *Worker) backoff(attempt int, most, server time.Duration) time.Duration {
	d := most
	if attempt < 16 {
		d = min(most, 100*time.Millisecond<<attempt)
	}
	return max(server, w.jitter(d))
}
