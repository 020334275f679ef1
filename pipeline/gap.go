package pipeline

import (
	"context"

	"github.com/tablewake/tablewake/pipeline/record"
)

// GapStore keeps the gaps of a pipeline.
type GapStore interface {
	// AddGap blocks until g is durable or ctx is done. It replaces the gap of the same StreamARN, Shard and
	// After, so that a caller may repeat it until it succeeds, and complete a gap later.
	AddGap(ctx context.Context, g record.Gap) error
}

// GapFunc makes a function a GapStore.
type GapFunc func(ctx context.Context, g record.Gap) error

// AddGap calls f.
func (f GapFunc) AddGap(ctx context.Context, g record.Gap) error { return f(ctx, g) }
