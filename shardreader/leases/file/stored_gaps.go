package file

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

var _ state.Gaps = (*Table)(nil)

// AddGap stores a gap, or changes the stored gap with the same stream, shard and After. The file has times in whole
// seconds.
func (t *Table) AddGap(ctx context.Context, g record.Gap) error {
	g.From, g.To, g.Found = timeOf(seconds(g.From)), timeOf(seconds(g.To)), timeOf(seconds(g.Found))
	return t.changeDurably(ctx, func() error {
		now := time.Now().Truncate(time.Second).UTC()
		i, found := slices.BinarySearchFunc(t.gaps, g, compareGaps)
		if found {
			t.gaps[i] = t.gaps[i].NotedAgain(g, now)
		} else {
			t.gaps = slices.Insert(t.gaps, i, state.NewNotedGap(g, now))
		}
		return nil
	})
}

// SetGapRepair replaces the repair of a gap if the version of the repair is unchanged. It reports whether it did.
func (t *Table) SetGapRepair(ctx context.Context, g record.Gap, r state.GapRepair) (bool, error) {
	r.Exports, r.Sinks = slices.Clone(r.Exports), slices.Clone(r.Sinks)
	replaced := false
	err := t.changeDurably(ctx, func() error {
		i, found := slices.BinarySearchFunc(t.gaps, g, compareGaps)
		if found {
			t.gaps[i], replaced = t.gaps[i].SetRepair(r)
		}
		return nil
	})
	return replaced && err == nil, err
}

// Gaps yields the gaps, sorted by stream, shard and After. Gaps that are added during the iteration are not yielded.
func (t *Table) Gaps(ctx context.Context) iter.Seq2[state.NotedGap, error] {
	return func(yield func(state.NotedGap, error) bool) {
		var gaps []state.NotedGap
		err := t.runDurably(ctx, func() error {
			gaps = slices.Clone(t.gaps)
			return nil
		})
		if err != nil {
			yield(state.NotedGap{}, err)
			return
		}
		for _, g := range gaps {
			if !yield(g, nil) {
				return
			}
		}
	}
}

// compareGaps orders gaps by stream, shard and After.
func compareGaps(a state.NotedGap, b record.Gap) int {
	return cmp.Or(strings.Compare(a.StreamARN, b.StreamARN), strings.Compare(a.Shard, b.Shard),
		strings.Compare(a.After, b.After))
}
