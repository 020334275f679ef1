package scan

import (
	"context"
	"sync"
	"time"
)

// pageUnits is the capacity that a request is expected to cost: a page of 1 MB, read consistently at a unit for 4 KB.
const pageUnits = 256

// bucket keeps the requests of a process to a rate of read capacity units. The cost of a request is known from its
// answer. So a request takes the cost of a whole page in advance, which may exceed what is there, and the next request
// waits until the debt is paid. The answer corrects what was taken. It is safe for concurrent use.
type bucket struct {
	rate float64       // units a second; 0: no limit
	turn chan struct{} // holds a value while a request waits, so that requests pass one by one
	more chan struct{} // an answer has returned units

	mu      sync.Mutex
	balance float64 // units; negative is debt
	at      time.Time
}

func newBucket(rate float64) *bucket {
	return &bucket{rate: rate, turn: make(chan struct{}, 1), more: make(chan struct{}, 1), at: time.Now()}
}

// take blocks until no debt is left, and takes the units of a page. A call that succeeds is followed by settle.
func (b *bucket) take(ctx context.Context) error {
	if b.rate == 0 {
		return nil
	}
	select {
	case b.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-b.turn }()
	for {
		wait := b.debt()
		if wait <= 0 {
			return nil
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-b.more:
		case <-ctx.Done():
			t.Stop()
			return context.Cause(ctx)
		}
		t.Stop()
	}
}

// debt takes the units of a page if there is no debt, and returns the time until there is none.
func (b *bucket) debt() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fill()
	if b.balance < 0 {
		return time.Duration(-b.balance/b.rate*float64(time.Second)) + 1
	}
	b.balance -= pageUnits
	return 0
}

// settle replaces the units of a page by those that the request has cost.
func (b *bucket) settle(units float64) {
	if b.rate == 0 {
		return
	}
	b.mu.Lock()
	b.fill()
	b.balance += pageUnits - units
	b.mu.Unlock()
	if units < pageUnits {
		select {
		case b.more <- struct{}{}:
		default:
		}
	}
}

// fill adds the units of the time since the last call. It keeps those of one second at most: what was not used for
// longer is lost.
func (b *bucket) fill() {
	now := time.Now()
	b.balance = min(b.balance+b.rate*now.Sub(b.at).Seconds(), b.rate)
	b.at = now
}
