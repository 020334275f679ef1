package stream

import (
	"context"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// AllGaps are the gaps that were noted, the oldest first.
func AllGaps(ctx context.Context, from state.Gaps) ([]record.Gap, error) {
	var gaps []record.Gap
	for g, err := range from.Gaps(ctx) {
		if err != nil {
			return nil, err
		}
		gaps = append(gaps, g)
	}
	return gaps, nil
}
