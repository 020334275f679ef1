package stream

import (
	"context"
	"time"

	"github.com/tablewake/tablewake/shardreader/worker"
	"github.com/tablewake/tablewake/sinks/state"
)

// GapStore keeps a worker's gaps among what the pipeline remembers.
type GapStore struct{ state.Gaps }

// AddGap blocks until the gap is durable.
func (s GapStore) AddGap(ctx context.Context, g worker.Gap) error {
	return s.Gaps.AddGap(ctx, GapOf(g, time.Now().UTC()))
}

// GapOf is a worker's gap as it is kept, found at that time.
func GapOf(g worker.Gap, found time.Time) state.Gap {
	return state.Gap{
		StreamARN: g.Stream, Shard: g.Shard, After: g.After, Before: g.Before, Whole: g.Whole, UnknownExtent: g.UnknownExtent,
		From: TimeOf(g.From), To: TimeOf(g.To), Found: found,
	}
}

// WorkerGap is a gap as a worker notes it.
func WorkerGap(g state.Gap) worker.Gap {
	return worker.Gap{
		Stream: g.StreamARN, Shard: g.Shard, After: g.After, Before: g.Before, Whole: g.Whole, UnknownExtent: g.UnknownExtent,
		From: secondsOf(g.From), To: secondsOf(g.To), Found: secondsOf(g.Found),
	}
}

// TimeOf is a time of seconds, zero for 0.
func TimeOf(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

func secondsOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// AllGaps are the gaps that were noted, the oldest first.
func AllGaps(ctx context.Context, from state.Gaps) ([]state.Gap, error) {
	var gaps []state.Gap
	for g, err := range from.Gaps(ctx) {
		if err != nil {
			return nil, err
		}
		gaps = append(gaps, g)
	}
	return gaps, nil
}
