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

// updateBirth stores what change makes of a birth. If another process changed the birth since it was read, change is called
// with the newer one. updateBirth returns false, and stores nothing, if change leaves the birth as it is, or if the output
// has another birth by now.
func updateBirth(ctx context.Context, births state.Births, b state.Birth, change func(*state.Birth)) (bool, error) {
	for {
		next := b
		if change(&next); next == b {
			return false, nil
		}
		if done, err := births.SetBirth(ctx, b, next); done || err != nil {
			return done, err
		}
		is, ok, err := state.FindBirth(ctx, births, b.Sink, b.Target)
		if err != nil || !ok || is.ID != b.ID {
			return false, err
		}
		b = is
	}
}

// withNotesOf returns b with what consumers note at another birth.
func withNotesOf(b, of state.Birth) state.Birth {
	b.Fresh, b.LeftOut = of.Fresh, of.LeftOut
	return b
}
