package sinks

import (
	"context"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
)

// NoRun is the Run of outputs that began with the changes of that moment, by the user's decision.
const NoRun = "none"

// ChangeBirths stores what change makes of each birth, with compare-and-swap, and returns the births as they are then.
// A crash between two of them leaves the first changed: the caller repeats it. It returns a transient error if another
// process changed a birth.
func ChangeBirths(ctx context.Context, births state.Births, all []state.Birth, change func(*state.Birth)) ([]state.Birth, error) {
	changed := make([]state.Birth, len(all))
	for i, b := range all {
		changed[i] = b
		if change(&changed[i]); changed[i] == b {
			continue
		}
		done, err := births.SetBirth(ctx, b, changed[i])
		if err == nil && !done {
			err = pipeline.Transient(errs.Errorf("another process changed the stage of the sink %s: start again", b.Sink))
		}
		if err != nil {
			return nil, err
		}
	}
	return changed, nil
}
