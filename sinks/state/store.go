package state

import (
	"context"
	"time"
)

// Store is what one pipeline remembers, apart from guards and contributions: these
// change in one transaction with rows, so that the stores of rows keep them.
type Store interface {
	Quarantine
	Gaps
	Births
}

// Purger forgets what can no longer be asked for.
type Purger interface {
	// Purge removes the tombstones apart from their rows, the guards without a row and the
	// contributions without a share that were written before a time, each on condition that it
	// is unchanged, and tells how many. What has a row or a share never goes.
	Purge(ctx context.Context, before time.Time) (int, error)
}
