package run

import (
	"context"
	"sync"
	"time"

	"github.com/tablewake/tablewake/pipeline"
)

// Budget bounds how many read units a second are used, and counts them. It is safe for concurrent use.
type Budget struct {
	perSecond float64 // 0: no limit

	mu   sync.Mutex
	used float64
	paid time.Time // until when the used units last
}

// maxBurst is for how long units that were not used can be used later.
const maxBurst = 2 * time.Second

// NewBudget returns a budget of units a second; 0 is no limit.
func NewBudget(perSecond float64) *Budget { return &Budget{perSecond: perSecond} }

// Spend counts units that were used, and waits until the next may be.
func (b *Budget) Spend(ctx context.Context, units float64) error {
	b.mu.Lock()
	b.used += units
	if b.perSecond == 0 {
		b.mu.Unlock()
		return nil
	}
	if earliest := time.Now().Add(-maxBurst); b.paid.Before(earliest) {
		b.paid = earliest
	}
	b.paid = b.paid.Add(time.Duration(units / b.perSecond * float64(time.Second)))
	wait := time.Until(b.paid)
	b.mu.Unlock()
	return pipeline.Sleep(ctx, wait)
}

// Units returns how many units were used.
func (b *Budget) Units() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}
