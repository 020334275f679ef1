package scan

import (
	"context"
	"sync"
	"time"
)

// pageUnits is the capacity that a request is expected to cost: a page of 1 MB, read consistently at a unit for 4 KB.
const pageUnits = 256

// limiter keeps the requests of a process to a rate of read capacity units. The cost of a request is known from its
// answer. So a request takes the cost of a whole page in advance, which may exceed what is there, and the next request
// waits until the debt is paid. The answer corrects what was taken. It is safe for concurrent use.
type limiter struct {
	rate float64       // units a second; 0: no limit
	turn chan struct{} // holds a value while a request waits, so that requests pass one by one
	more chan struct{} // an answer has returned units

	mu      sync.Mutex
	balance float64 // units; negative is debt
	at      time.Time
	spent   float64 // units that all requests have cost
}

func newLimiter(rate float64) *limiter {
	return &limiter{rate: rate, turn: make(chan struct{}, 1), more: make(chan struct{}, 1), at: time.Now()}
}

// take blocks until no debt is left, and takes the units of a page. A call that succeeds is followed by correct.
func (l *limiter) take(ctx context.Context) error {
	if l.rate == 0 {
		return nil
	}
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-l.turn }()
	for {
		wait := l.debt()
		if wait <= 0 {
			return nil
		}
		select {
		case <-time.After(wait):
		case <-l.more:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// debt takes the units of a page if there is no debt, and returns the time until there is none.
func (l *limiter) debt() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fill()
	if l.balance < 0 {
		return time.Duration(-l.balance/l.rate*float64(time.Second)) + 1
	}
	l.balance -= pageUnits
	return 0
}

// correct replaces the units of a page by those that the request has cost.
func (l *limiter) correct(units float64) {
	l.mu.Lock()
	l.spent += units
	if l.rate > 0 {
		l.fill()
		l.balance += pageUnits - units
	}
	l.mu.Unlock()
	if units < pageUnits {
		select {
		case l.more <- struct{}{}:
		default:
		}
	}
}

// fill adds the units of the time since the last call. It keeps those of one second at most: what was not used for
// longer is lost.
func (l *limiter) fill() {
	now := time.Now()
	l.balance = min(l.balance+l.rate*now.Sub(l.at).Seconds(), l.rate)
	l.at = now
}

// spentUnits returns the units that all requests have cost.
func (l *limiter) spentUnits() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.spent
}
