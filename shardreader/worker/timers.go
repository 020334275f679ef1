package worker

import (
	"container/heap"
	"time"
)

// timers are what is to be done later, in the order of time, then of arrival.
type timers struct {
	due  []timer
	made uint64
}

type timer struct {
	at time.Duration
	no uint64
	do func()
}

func (t *timers) Len() int { return len(t.due) }
func (t *timers) Less(i, j int) bool {
	return t.due[i].at < t.due[j].at || t.due[i].at == t.due[j].at && t.due[i].no < t.due[j].no
}
func (t *timers) Swap(i, j int) { t.due[i], t.due[j] = t.due[j], t.due[i] }
func (t *timers) Push(x any)    { t.due = append(t.due, x.(timer)) }

func (t *timers) Pop() any {
	last := len(t.due) - 1
	x := t.due[last]
	t.due[last] = timer{}
	t.due = t.due[:last]
	return x
}

// run does what is due at now, also what comes due meanwhile.
func (t *timers) run(now time.Duration) {
	for len(t.due) > 0 && t.due[0].at <= now {
		heap.Pop(t).(timer).do()
	}
}

// after does f once d has passed: in a later step, or in this one if d is 0.
func (w *Worker) after(d time.Duration, f func()) {
	w.timers.made++
	heap.Push(&w.timers, timer{w.now + d, w.timers.made, f})
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
