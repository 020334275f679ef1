package sinks

import (
	"context"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
)

// ChangeBirths stores what change makes of each birth, with compare-and-swap, and returns the births as they are then.
// A crash between two of them leaves the first changed: the caller repeats it. If another process of the same run changed
// a birth, it changes that one. It returns a transient error if a process of another run did.
func ChangeBirths(ctx context.Context, births state.Births, all []state.Birth, change func(*state.Birth)) ([]state.Birth, error) {
	changed := make([]state.Birth, len(all))
	for i, b := range all {
		var err error
		if changed[i], err = changeBirth(ctx, births, b, change); err != nil {
			return nil, err
		}
	}
	return changed, nil
}

func changeBirth(ctx context.Context, births state.Births, b state.Birth, change func(*state.Birth)) (state.Birth, error) {
	for {
		next := b
		if change(&next); next == b {
			return b, nil
		}
		done, err := births.SetBirth(ctx, b, next)
		if err != nil || done {
			return next, err
		}
		is, ok, err := state.FindBirth(ctx, births, b.Sink, b.Target)
		switch {
		case err != nil:
			return b, err
		case ok && is != b && is == withNotesOf(b, is):
			// A consumer has acknowledged the first change, or a process began without the sink.
		case !ok || is.ID != b.ID || is.Run != b.Run || b.Run == "" || is == b:
			return b, pipeline.Transient(errs.Errorf("another process changed the stage of the sink %s: start again", b.Sink))
		}
		b = is
	}
}

// withNotesOf returns b with what consumers note at another birth.
func withNotesOf(b, of state.Birth) state.Birth {
	b.Fresh, b.LeftOut = of.Fresh, of.LeftOut
	return b
}

// notFresh returns b as it is when a change was acknowledged to the sink.
func notFresh(b state.Birth) state.Birth {
	b.Fresh = false
	return b
}
