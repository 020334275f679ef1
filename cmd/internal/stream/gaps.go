package stream

import (
	"context"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
)

// AllGaps are the gaps that were noted, the oldest first.
func AllGaps(ctx context.Context, from state.Gaps) ([]pipeline.Gap, error) {
	var gaps []pipeline.Gap
	for g, err := range from.Gaps(ctx) {
		if err != nil {
			return nil, err
		}
		gaps = append(gaps, g)
	}
	return gaps, nil
}
