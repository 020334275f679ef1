package state

import (
	"context"
	"iter"
	"time"
)

// Gap is a range of a stream that was lost before it was read.
type Gap struct {
	StreamARN string
	Shard     string
	After     string    // sequence number of the last record before it; "" where none was read
	Before    string    // sequence number of the first record behind it; "" where it is not known
	From, To  time.Time // creation times beside it; zero where they are not known
	Found     time.Time

	Whole         bool // the rest of the shard is lost, not only what was its oldest part
	UnknownExtent bool // nobody knows whether there was anything to lose
}

// Gaps keeps the gaps of one pipeline.
type Gaps interface {
	// AddGap blocks until g is durable. The same StreamARN, Shard and After again replaces it.
	AddGap(ctx context.Context, g Gap) error
	// Gaps yields all gaps, those found first first. A pulled error ends the sequence.
	Gaps(ctx context.Context) iter.Seq2[Gap, error]
}
