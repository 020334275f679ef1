package pipeline

import (
	"cmp"
	"context"
	"math/rand/v2"
	"time"
)

// Backoff spaces retries: full jitter between 0 and min(Max, Base << attempt), never less than the server's wait.
type Backoff struct {
	Base time.Duration // Default: 100ms
	Max  time.Duration // Default: 30s
}

func (b Backoff) withDefaults() Backoff {
	return Backoff{cmp.Or(b.Base, 100*time.Millisecond), cmp.Or(b.Max, 30*time.Second)}
}

// Delay is the wait before the retry that follows attempt (0: the first try), at
// least the server's.
func (b Backoff) Delay(attempt int, server time.Duration) time.Duration {
	return b.withDefaults().delay(attempt, server)
}

// delay is Delay with the defaults filled in.
func (b Backoff) delay(attempt int, server time.Duration) time.Duration {
	top := b.Max
	if attempt < 32 && b.Base<<attempt > 0 {
		top = min(top, b.Base<<attempt)
	}
	return max(server, rand.N(top+1))
}

// Sleep waits for d and returns nil, or the cause of ctx if that ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
