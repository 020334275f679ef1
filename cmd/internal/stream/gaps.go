package stream

import (
	"context"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// AllGaps returns the stored gaps, the oldest first.
func AllGaps(ctx context.Context, store state.Gaps) ([]record.Gap, error) {
	var gaps []record.Gap
	for g, err := range store.Gaps(ctx) {
		if err != nil {
			return nil, err
		}
		gaps = append(gaps, g)
	}
	return gaps, nil
}
