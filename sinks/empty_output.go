package sinks

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/state"
)

// canTakeSettings reports whether a sink can take the settings of the file because its output is empty. Then no old
// content can mix with later writes. If the store cannot tell, the answer is false. A notify sink that was always
// suppressed has sent nothing; then its birth is not begun. changed has the names of the settings that differ.
func canTakeSettings(
	ctx context.Context, cfg *config.Config, s config.Sink, store any, f foundOutput, changed []string,
) (bool, error) {
	if slices.ContainsFunc(changed, decidesOrder) {
		return false, nil
	}
	if outputs, ok := store.(Outputs); ok {
		return isEmptyOutput(ctx, cfg, s, outputs, f, changed)
	}
	if s.Notify != nil {
		return f.hasBirth && !f.birth.Begun, nil
	}
	objects, ok := store.(archive.Lister)
	if !ok {
		return false, nil
	}
	return isEmptyArchive(ctx, objects, s.Archive.Prefix)
}

// isEmptyArchive reports whether an archive has no object. It returns false for an archive that cannot be listed, but
// an error if another try may list it.
func isEmptyArchive(ctx context.Context, objects archive.Lister, prefix string) (bool, error) {
	for _, err := range objects.List(ctx, prefix) { // the first object or error decides
		if _, retryable := pipeline.Retryable(err); err != nil && retryable {
			return false, err
		}
		return false, nil
	}
	return true, nil
}

// isEmptyOutput inspects the output at the target where the sink wrote it, and reports whether the output is empty. It
// also returns false if the output has tombstones that would refuse the items of a backfill.
func isEmptyOutput(
	ctx context.Context, cfg *config.Config, s config.Sink, outputs Outputs, f foundOutput, changed []string,
) (bool, error) {
	ref := OutputRef(cfg, s)
	hasMoved := f.movedFrom != ""
	if hasMoved {
		_, ref.Name, _ = strings.Cut(f.movedFrom, " ")
	}
	found, err := outputs.Output(ref).Inspect(ctx, false)
	if err != nil {
		return false, err
	}
	if !hasMoved && found.Tombstones > 0 && needsRefill(s, f, changed) {
		return false, nil // a tombstone of a former change would refuse the item of a backfill
	}
	return found.IsEmpty(), nil
}

// needsRefill reports whether an empty output needs a backfill under the settings of the file, because the former
// settings may have left out changes. changed has the names of the settings that differ. A fresh output
// (state.Birth.Fresh) needs no backfill, because it misses only its dead letters. But filters drop changes before they
// reach a sink. So if filters have changed, a fresh output may have missed changes too.
func needsRefill(s config.Sink, f foundOutput, changed []string) bool {
	hasWritten := f.hasBirth && f.birth.Begun && f.birth.Stage != state.Waiting
	if !FilledByDefault(s) || !hasWritten {
		return false
	}
	isFresh := f.birth.Fresh && f.birth.Run == ""
	if !isFresh {
		return true
	}
	return slices.ContainsFunc(changed, func(name string) bool {
		return name == "filters" || strings.HasSuffix(name, ".filters")
	})
}

// beginAgain gives an empty output a new birth that waits for a backfill. Tombstones and guards of earlier changes have
// the old ID, so they cannot refuse the items of the backfill. The new ID also makes a process with the former settings
// fail.
func (r *birthRecords) beginAgain(o *openOutput) {
	next := state.NewBirth(o.sink, o.target, time.Now())
	next.State, next.Store, next.Stage = r.identity, o.targetID, state.Waiting
	o.replaceBirth(next)
	o.storedFingerprint.Birth = next.ID
}
