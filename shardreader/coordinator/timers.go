package coordinator

import (
	"container/heap"
	"time"
)

// timers holds the timers in a heap, ordered by time and then by number.
type timers struct {
	pending    []*timer
	lastNumber uint64
}

// timer calls a function once.
type timer struct {
	dueAt  time.Duration
	number uint64
	call   func()
}

var _ heap.Interface = (*timers)(nil)

// Len is part of heap.Interface.
func (t *timers) Len() int { return len(t.pending) }

// Less is part of heap.Interface.
func (t *timers) Less(i, j int) bool {
	a, b := t.pending[i], t.pending[j]
	return a.dueAt < b.dueAt || a.dueAt == b.dueAt && a.number < b.number
}

// Swap is part of heap.Interface.
func (t *timers) Swap(i, j int) { t.pending[i], t.pending[j] = t.pending[j], t.pending[i] }

// Push is part of heap.Interface.
func (t *timers) Push(x any) { t.pending = append(t.pending, x.(*timer)) }

// Pop is part of heap.Interface.
func (t *timers) Pop() any {
	last := len(t.pending) - 1
	x := t.pending[last]
	t.pending[last] = nil
	t.pending = t.pending[:last]
	return x
}

// runTimers runs the timers that are due, also timers that become due meanwhile.
func (c *Coordinator) runTimers() {
	t := &c.timers
	for len(t.pending) > 0 && t.pending[0].dueAt <= c.now {
		heap.Pop(t).(*timer).call()
	}
}

// pollNow queues an assignment for its next call, and does not wait for the assignment's timer.
func (c *Coordinator) pollNow(a *assignment) {
	if a.poll == pollScheduled {
		a.poll = pollIdle
	}
	c.queueCall(a)
}

// resettableTimer is a timer that can be set again before it is due.
type resettableTimer struct{ generation int }

// reset calls f once d has passed, unless the timer is reset again before.
func (t *resettableTimer) reset(c *Coordinator, d time.Duration, f func()) {
	t.cancel()
	generation := t.generation
	c.after(d, func() {
		if t.generation == generation {
			f()
		}
	})
}

// cancel stops the timer.
func (t *resettableTimer) cancel() { t.generation++ }

// after calls f once d has passed. It calls f in a later step, or in the present step if d is 0.
func (c *Coordinator) after(d time.Duration, f func()) {
	c.timers.lastNumber++
	heap.Push(&c.timers, &timer{c.now + d, c.timers.lastNumber, f})
}

// jitter returns a random time between d/2 and d.
func (c *Coordinator) jitter(d time.Duration) time.Duration {
	if d <= 1 {
		return d
	}
	return d/2 + time.Duration(c.options.Rand.Int64N(int64(d/2)+1))
}

// backoff returns the pause after attempt failures in a row. The pause is up to longest, but at least requested, the
// time that the server requests.
func (c *Coordinator) backoff(attempt int, longest, requested time.Duration) time.Duration {
	pause := longest
	if attempt < 16 {
		pause = min(longest, 100*time.Millisecond<<attempt)
	}
	return max(requested, c.jitter(pause))
}
