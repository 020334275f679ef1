package main

import (
	"context"
	"time"

	"github.com/tablewake/tablewake/shardreader/worker"
	"github.com/tablewake/tablewake/sinks/state"
)

// gapStore keeps a worker's gaps among what the pipeline remembers.
type gapStore struct{ state.Gaps }

// AddGap blocks until the gap is durable.
func (s gapStore) AddGap(ctx context.Context, g worker.Gap) error {
	return s.Gaps.AddGap(ctx, gapOf(g, time.Now().UTC()))
}

// gapOf is a worker's gap as it is kept, found at that time.
func gapOf(g worker.Gap, found time.Time) state.Gap {
	return state.Gap{
		StreamARN: g.Stream, Shard: g.Shard, After: g.After, Before: g.Before, Whole: g.Whole, UnknownExtent: g.UnknownExtent,
		From: timeOf(g.From), To: timeOf(g.To), Found: found,
	}
}

// workerGap is a gap as a worker notes it.
func workerGap(g state.Gap) worker.Gap {
	return worker.Gap{
		Stream: g.StreamARN, Shard: g.Shard, After: g.After, Before: g.Before, Whole: g.Whole, UnknownExtent: g.UnknownExtent,
		From: secondsOf(g.From), To: secondsOf(g.To), Found: secondsOf(g.Found),
	}
}

func timeOf(seconds int64) time.Time {
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

// allGaps are the gaps that were noted, the oldest first.
func allGaps(ctx context.Context, from state.Gaps) ([]state.Gap, error) {
	var gaps []state.Gap
	for g, err := range from.Gaps(ctx) {
		if err != nil {
			return nil, err
		}
		gaps = append(gaps, g)
	}
	return gaps, nil
}
