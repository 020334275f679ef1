package handlers

import (
	"context"
	"log/slog"
	"math/big"

	"github.com/tablewake/tablewake/pipeline"
)

// loss is records of a batch that Lambda gave up and that the stream keeps no more.
//
// Its ends are exact. records is what Lambda counted, less what was fetched, shared out among the
// losses of a batch, and no more than a hint where the event source mapping has filters or a
// ParallelizationFactor above 1: then between the two ends of a batch there are records that are
// none of it.
type loss struct {
	hole
	of      *position
	records int // at least 1
}

func (l loss) gap() pipeline.Gap {
	return pipeline.Gap{
		StreamARN: l.of.StreamARN, Shard: l.of.ShardID, After: step(l.first, -1), Before: step(l.last, 1), From: l.of.From, To: l.of.To,
	}
}

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

func (h *handler) logLoss(ctx context.Context, l loss, text string) {
	h.o.log.LogAttrs(ctx, slog.LevelError, text,
		slog.String("stream", l.of.StreamARN), slog.String("shard", l.of.ShardID), slog.String("first", l.first), slog.String("last", l.last),
		slog.Int("records_about", l.records), slog.Time("from", l.of.From), slog.Time("to", l.of.To))
}
