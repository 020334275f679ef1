package sinks

import (
	"context"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
)

// ChangeBirths applies change to each birth (the recorded identity of one output) with compare-and-swap, and returns
// the new births. After a crash only some of the births may be changed, so the caller repeats the call. If another
// process changed a birth first, change is applied to the stored birth. That process must belong to the same backfill
// run, or have changed only the fields Fresh and LeftOut. Otherwise ChangeBirths returns a transient error.
func ChangeBirths(
	ctx context.Context, births state.Births, all []state.Birth, change func(*state.Birth),
) ([]state.Birth, error) {
	changed := make([]state.Birth, len(all))
	for i, b := range all {
		var err error
		if changed[i], err = changeBirth(ctx, births, b, change); err != nil {
			return nil, err
		}
	}
	return changed, nil
}

// setBirth replaces the birth b by next. If another process changed b first, done is false, and stored is the birth
// that is stored now; the zero Birth if there is none.
func setBirth(
	ctx context.Context, births state.Births, b, next state.Birth,
) (stored state.Birth, done bool, err error) {
	if done, err = births.SetBirth(ctx, b, next); done || err != nil {
		return next, done, err
	}
	stored, _, err = state.FindBirth(ctx, births, b.Sink, b.Target)
	return stored, false, err
}

// changeBirth applies change to one birth. See ChangeBirths.
func changeBirth(
	ctx context.Context, births state.Births, b state.Birth, change func(*state.Birth),
) (state.Birth, error) {
	for {
		next := b
		change(&next)
		if next == b {
			return b, nil
		}
		stored, done, err := setBirth(ctx, births, b, next)
		if err != nil || done {
			return stored, err
		}
		onlyNotesDiffer := stored == withNotesOf(b, stored) // Fresh or LeftOut
		isSameRun := stored.ID == b.ID && stored.Run == b.Run && b.Run != ""
		if stored == b || !onlyNotesDiffer && !isSameRun {
			return b, pipeline.Transient(errs.Errorf("another process changed the stage of the sink %s: start again", b.Sink))
		}
		b = stored
	}
}

// updateBirth applies change to a birth, and stores the result. If another process changed the birth since it was read,
// change is applied to the stored birth. updateBirth returns false, and stores nothing, if change makes no difference,
// or if the stored birth has another ID.
func updateBirth(ctx context.Context, births state.Births, b state.Birth, change func(*state.Birth)) (bool, error) {
	for {
		next := b
		change(&next)
		if next == b {
			return false, nil
		}
		stored, done, err := setBirth(ctx, births, b, next)
		if err != nil || done || stored.ID != b.ID {
			return done, err
		}
		b = stored
	}
}

// withNotesOf returns b with the fields Fresh and LeftOut of another birth. Consumers change these two fields at any
// time.
func withNotesOf(b, other state.Birth) state.Birth {
	b.Fresh, b.LeftOut = other.Fresh, other.LeftOut
	return b
}
