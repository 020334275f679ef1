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
	pace *Pace
	turn chan struct{} // holds a value while a request waits, so that requests pass one by one
	more chan struct{} // an answer has returned units

	mu      sync.Mutex
	balance float64 // units; negative is debt
	at      time.Time
	spent   float64 // units that all requests have cost
}

func newLimiter(pace *Pace) *limiter {
	return &limiter{pace: pace, turn: make(chan struct{}, 1), more: make(chan struct{}, 1), at: time.Now()}
}

// take blocks until no debt is left, and takes the units of a page; none without a limit. A call that succeeds is
// followed by correct, with what it took.
func (l *limiter) take(ctx context.Context) (taken float64, err error) {
	if l.pace.Rate() == 0 {
		return 0, nil
	}
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	defer func() { <-l.turn }()
	for {
		wait := l.debt()
		if wait <= 0 {
			return pageUnits, nil
		}
		select {
		case <-time.After(min(wait, time.Second)): // the rate may rise
		case <-l.more:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

// debt takes the units of a page if there is no debt, and returns the time until there is none.
func (l *limiter) debt() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	rate := l.fill()
	if l.balance < 0 {
		return time.Duration(-l.balance/rate*float64(time.Second)) + 1
	}
	l.balance -= pageUnits
	return 0
}

// correct replaces the units that a request took by those that it has cost.
func (l *limiter) correct(taken, units float64) {
	l.pace.Used(units)
	l.mu.Lock()
	l.spent += units
	if taken > 0 {
		l.fill()
		l.balance += taken - units
	}
	l.mu.Unlock()
	if units < taken {
		select {
		case l.more <- struct{}{}:
		default:
		}
	}
}

// fill adds the units of the time since the last call. It keeps those of one second at most: what was not used for
// longer is lost. It returns the rate.
func (l *limiter) fill() float64 {
	now, rate := time.Now(), l.pace.Rate()
	l.balance = min(l.balance+rate*now.Sub(l.at).Seconds(), rate)
	l.at = now
	return rate
}

// spentUnits returns the units that all requests have cost.
func (l *limiter) spentUnits() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.spent
}
