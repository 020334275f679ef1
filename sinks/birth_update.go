package sinks

import (
	"context"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
)

// ChangeBirths applies change to each birth (the recorded identity of one output) with compare-and-swap, and returns
// the new births. After a crash only some of the births may be changed, so the caller repeats the call. If another
// process changed a birth first, change is applied to the stored birth. If that process belongs to another backfill run
// and changed more than the fields Fresh and LeftOut, ChangeBirths returns a transient error.
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

// changeBirth applies change to one birth. See ChangeBirths.
func changeBirth(
	ctx context.Context, births state.Births, b state.Birth, change func(*state.Birth),
) (state.Birth, error) {
	mayChange := func(current state.Birth) bool {
		onlyNotesDiffer := current == withNotesOf(b, current)
		isSameRun := current.Run == b.Run && b.Run != ""
		return onlyNotesDiffer || isSameRun
	}
	stored, changed, err := updateBirth(ctx, births, b, func(current *state.Birth) {
		if mayChange(*current) {
			change(current)
		}
	})
	if err != nil || changed {
		return stored, err
	}
	isOther := stored.ID != b.ID
	if isOther || !mayChange(stored) {
		return b, pipeline.Transient(errs.Errorf("another process changed the stage of the sink %s: start again", b.Sink))
	}
	return stored, nil
}

// updateBirth applies change to a birth, and stores and returns the result. If another process changed the birth since
// it was read, change is applied to the stored birth. changed is false, and nothing is stored, if change makes no
// difference, or if the stored birth has another ID. Then updateBirth returns the stored birth; the zero Birth if there
// is none. A refused write of an unchanged birth is a transient error: two processes may have changed it in turn.
func updateBirth(
	ctx context.Context, births state.Births, b state.Birth, change func(*state.Birth),
) (stored state.Birth, changed bool, err error) {
	for {
		next := b
		change(&next)
		if next == b {
			return b, false, nil
		}
		changed, err = births.SetBirth(ctx, b, next)
		if changed || err != nil {
			return next, changed, err
		}
		stored, _, err = state.FindBirth(ctx, births, b.Sink, b.Target)
		switch {
		case err != nil || stored.ID != b.ID:
			return stored, false, err
		case stored == b:
			return b, false, pipeline.Transient(errs.Errorf("the birth of the sink %s cannot be changed: start again", b.Sink))
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
