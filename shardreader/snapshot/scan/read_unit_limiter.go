package scan

import (
	"context"
	"sync"
	"time"
)

// pageUnits is the expected cost of a request, in read units. A request reads a page of 1 MB, and a consistent read
// costs one unit per 4 KB.
const pageUnits = 256

// limiter limits the read units a second of a process. The cost of a request is unknown until the answer comes, so each
// request takes the units of a whole page in advance. It may overdraw the balance; the next request waits until the
// debt is paid. The answer corrects the units that the request took. limiter is safe for concurrent use.
type limiter struct {
	pace          *Pace
	slot          chan struct{} // holds a value while a request waits, so that requests pass one by one
	unitsReturned chan struct{} // receives a value when an answer returns units

	mu        sync.Mutex
	balance   float64   // units that may be spent; negative is debt
	balanceAt time.Time // time of balance
	spent     float64   // units that all requests have cost
}

func newLimiter(pace *Pace) *limiter {
	return &limiter{pace: pace, slot: make(chan struct{}, 1), unitsReturned: make(chan struct{}, 1), balanceAt: time.Now()}
}

// reserve blocks until there is no debt, and takes the units of a page. Without a limit it takes nothing. After a
// successful reserve, the caller calls adjust with the units that were taken.
func (l *limiter) reserve(ctx context.Context) (taken float64, err error) {
	if l.pace.Rate() == 0 {
		return 0, nil
	}
	select {
	case l.slot <- struct{}{}:
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	defer func() { <-l.slot }()
	for {
		wait := l.tryReserve()
		if wait <= 0 {
			return pageUnits, nil
		}
		select {
		case <-time.After(min(wait, time.Second)): // the rate may rise
		case <-l.unitsReturned:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

// tryReserve returns the time until there is no debt. If there is no debt now, it takes the units of a page and returns
// 0.
func (l *limiter) tryReserve() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	rate := l.addUnits()
	if l.balance < 0 {
		return time.Duration(-l.balance/rate*float64(time.Second)) + 1 // never 0
	}
	l.balance -= pageUnits
	return 0
}

// adjust replaces the units that a request took by the units that the request has cost.
func (l *limiter) adjust(taken, units float64) {
	l.pace.AddUnits(units)
	l.mu.Lock()
	l.spent += units
	if taken > 0 {
		l.addUnits()
		l.balance += taken - units
	}
	l.mu.Unlock()
	if units < taken {
		select {
		case l.unitsReturned <- struct{}{}:
		default:
		}
	}
}

// addUnits adds the units of the time since the last call, and returns the rate. The balance is at most the units of
// one second: older unused units expire.
func (l *limiter) addUnits() float64 {
	now, rate := time.Now(), l.pace.Rate()
	l.balance = min(l.balance+rate*now.Sub(l.balanceAt).Seconds(), rate)
	l.balanceAt = now
	return rate
}
