package run

import (
	"context"
	"sync"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/snapshot/scan"
	"github.com/tablewake/tablewake/sinks/audit"
	"github.com/tablewake/tablewake/sinks/state"
)

// Budget limits the rate of read units, and counts the units. It halves the rate if a request is throttled, and
// restores it slowly ([scan.Pace]). It is safe for concurrent use.
type Budget struct {
	pace *scan.Pace

	mu        sync.Mutex
	used      float64
	paidUntil time.Time          // time from which the rate allows the next request
	onSlowed  func(rate float64) // called with each lower rate; may be nil
}

// maxBurst is the time for which unused units stay available.
const maxBurst = 2 * time.Second

// NewBudget returns a budget of perSecond units a second; 0 means no limit. Without a limit, the first throttled
// request sets one: half of the units of the last second.
func NewBudget(perSecond float64) *Budget {
	b := new(Budget)
	b.pace = scan.NewPace(perSecond, b.noteRate)
	return b
}

// Spend counts used units, and waits until the rate allows the next request.
func (b *Budget) Spend(ctx context.Context, units float64) error {
	b.pace.AddUnits(units)
	rate := b.pace.Rate()
	wait := b.pay(units, rate)
	if rate == 0 { // no limit
		return nil
	}
	return pipeline.Sleep(ctx, wait)
}

// pay counts used units, and returns the time to wait until rate allows the next request. A rate of 0 means no limit.
func (b *Budget) pay(units, rate float64) (wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used += units
	if rate == 0 {
		return 0
	}
	if earliest := time.Now().Add(-maxBurst); b.paidUntil.Before(earliest) {
		b.paidUntil = earliest
	}
	b.paidUntil = b.paidUntil.Add(time.Duration(units / rate * float64(time.Second)))
	return time.Until(b.paidUntil)
}

// Throttled halves the rate. It is called after a throttled request, before the request is repeated.
func (b *Budget) Throttled(error, time.Duration) { b.pace.SlowDown() }

// noteRate calls onSlowed with a lower rate.
func (b *Budget) noteRate(rate float64) {
	b.mu.Lock()
	onSlowed := b.onSlowed
	b.mu.Unlock()
	if onSlowed != nil {
		onSlowed(rate)
	}
}

// setOnSlowed sets the function that is called with each lower rate. Several goroutines may call the function.
func (b *Budget) setOnSlowed(onSlowed func(rate float64)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.onSlowed = onSlowed
}

// retryThrottled calls read until it is not throttled. It returns read's error, or the cause of ctx.
func (b *Budget) retryThrottled(ctx context.Context, read func() error) error {
	return audit.RetryThrottled(ctx, b.Throttled, read)
}

// listing returns a listing that is limited by the budget.
func (b *Budget) listing() state.Listing {
	return state.Listing{Spend: b.Spend, Throttled: b.Throttled}
}

// Units returns the number of used units.
func (b *Budget) Units() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}
