package state

import (
	"context"
	"iter"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Gaps keeps the gaps of one pipeline.
type Gaps interface {
	pipeline.GapStore
	// Gaps yields all gaps, those found first first. A pulled error ends the sequence.
	Gaps(ctx context.Context) iter.Seq2[record.Gap, error]
}
