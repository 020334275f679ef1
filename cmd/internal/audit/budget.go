package audit

import (
	"context"
	"sync"
	"time"

	"github.com/tablewake/tablewake/pipeline"
)

// budget bounds how many read units a second are used, and counts them. It is safe for concurrent use.
type budget struct {
	perSecond float64 // 0: no limit

	mu   sync.Mutex
	used float64
	paid time.Time // until when the used units last
}

// maxBurst is for how long units that were not used can be used later.
const maxBurst = 2 * time.Second

func newBudget(perSecond float64) *budget { return &budget{perSecond: perSecond} }

// spend counts units that were used, and waits until the next may be.
func (b *budget) spend(ctx context.Context, units float64) error {
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

// units returns how many units were used.
func (b *budget) units() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}
