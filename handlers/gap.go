package handlers

import (
	"context"
	"log/slog"
	"math/big"
	"time"
)

// Gap is records that Lambda gave up and that the stream keeps no more.
//
// First and Last are exact. Records is what Lambda counted, less what was fetched, shared out among the
// gaps of a batch, and no more than a hint where the event source mapping has filters or a
// ParallelizationFactor above 1: then between the two ends of a batch there are records that are
// none of it.
type Gap struct {
	StreamARN   string
	Shard       string
	First, Last string    // sequence numbers: the records from First to Last, both included, are lost
	Records     int       // about how many they are, at least 1
	From, To    time.Time // arrival of the first and the last record of the batch; zero where Lambda did not say
}

// After is the sequence number below First: what is lost comes behind it.
func (g Gap) After() string { return step(g.First, -1) }

// Before is the sequence number above Last: what is lost comes before it.
func (g Gap) Before() string { return step(g.Last, 1) }

// Gaps notes what is lost, for those who look after the pipeline.
type Gaps interface {
	// AddGap blocks until g is durable. The same gap again does no harm.
	AddGap(ctx context.Context, g Gap) error
}

// GapsFunc makes a function Gaps.
type GapsFunc func(ctx context.Context, g Gap) error

// AddGap calls f.
func (f GapsFunc) AddGap(ctx context.Context, g Gap) error { return f(ctx, g) }

// step is the number by so many above a sequence number, which is made of digits.
func step(sequence string, by int64) string {
	n, ok := new(big.Int).SetString(sequence, 10)
	if !ok {
		return sequence
	}
	if n.Add(n, big.NewInt(by)).Sign() < 0 {
		return "0"
	}
	return n.String()
}

func (h *handler) logGap(ctx context.Context, g *Gap, text string) {
	h.o.log.LogAttrs(ctx, slog.LevelError, text,
		slog.String("stream", g.StreamARN), slog.String("shard", g.Shard), slog.String("first", g.First), slog.String("last", g.Last),
		slog.Int("records_about", g.Records), slog.Time("from", g.From), slog.Time("to", g.To))
}
