package sinks

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/state"
)

// A sink that is removed from the file misses every change that is acknowledged without it. If the sink is put back
// later, its output does not show what it missed. So a process that starts without the sink stores its start time in
// the birth of the output (Birth.LeftOut). The time stays until the output was compared with the whole table and
// repaired (`tablewake gaps --repair --audit`). Nothing brings an archive what it missed, so its time stays. An archive
// also gets such a time when it takes other settings, if its former ones left out changes or masked values. A view, an
// aggregate or a search index also gets the time when `tablewake adopt` accepts its output, because that output may
// lack changes.

// LeftOutText says why an output may miss changes. at is its Birth.LeftOut.
func LeftOutText(at time.Time) string {
	return "at " + at.Format(time.RFC3339) + ", a process without it was started, or adopt accepted it"
}

// BirthsMissingChanges returns the births of cfg's outputs that may miss changes and that a repair can complete: all
// but archives. all are the births of the pipeline.
func BirthsMissingChanges(cfg *config.Config, all []state.Birth) []state.Birth {
	return outputsThat(cfg, all, func(b state.Birth) bool { return MayMissChanges(b) && !isArchive(b) })
}

// MayMissChanges reports whether an output may miss changes that it should have. An output that only began late misses
// none once a backfill has filled it, or after `backfill --none`, which says that it may begin late. For an archive,
// --none is not enough.
func MayMissChanges(b state.Birth) bool {
	if b.LeftOut.IsZero() {
		return false
	}
	isFilled := b.Run != "" && b.Run != NoRun
	mayBeginLate := b.Run == NoRun && !isArchive(b)
	return !BeganLate(b) || !isFilled && !mayBeginLate
}

// BeganLate reports whether an output misses only changes from before it began.
func BeganLate(b state.Birth) bool { return b.LeftOut.Equal(b.Made) }

// ArchivesMissingChanges returns the births of cfg's archives that miss changes. No repair can complete them. all are
// the births of the pipeline.
func ArchivesMissingChanges(cfg *config.Config, all []state.Birth) []state.Birth {
	return outputsThat(cfg, all, func(b state.Birth) bool { return MissedByArchive(b) != "" })
}

// outputsThat returns the births of cfg's outputs for which matches returns true. all are the births of the pipeline.
func outputsThat(cfg *config.Config, all []state.Birth, matches func(state.Birth) bool) []state.Birth {
	isOther := func(b state.Birth) bool { return !matches(b) || !hasOutput(cfg, b) }
	return slices.DeleteFunc(slices.Clone(all), isOther)
}

// MissedByArchive says why the archive of a birth misses changes: it began after the pipeline, or a process ran without
// it. It returns "" if the archive misses none, or if b is of no archive.
func MissedByArchive(b state.Birth) string {
	switch {
	case !isArchive(b) || !MayMissChanges(b):
		return ""
	case BeganLate(b):
		return "it began after the pipeline, at " + b.LeftOut.Format(time.RFC3339)
	}
	return "at " + b.LeftOut.Format(time.RFC3339) +
		" or before, a process ran without it, or it had settings that leave out or mask changes"
}

// restrictions are the settings by which an archive leaves out changes or masks values, besides its kinds.
var restrictions = []string{"archive.when", "archive.of", "archive.filters", "filters", "sensitive"}

// isRestricted reports whether an archive with these settings leaves out changes or masks values.
func isRestricted(settings map[string]string) bool {
	kinds, hasKinds := settings["archive.kinds"]
	stored := config.Archive{Kinds: strings.Split(kinds, ", ")}
	leavesOutKinds := hasKinds && !stored.TakesAllKinds()
	return leavesOutKinds || slices.ContainsFunc(restrictions, func(name string) bool { return settings[name] != "" })
}

// noteMissed stores in a birth that its output may miss changes until now.
func noteMissed(ctx context.Context, births state.Births, b state.Birth) error {
	now := time.Now().UTC()
	_, _, err := updateBirth(ctx, births, b, func(current *state.Birth) {
		if needsEveryChange(*current) && current.LeftOut.Before(now) { // keep a later time of another process
			current.Fresh, current.LeftOut = false, now
		}
	})
	return err
}

func isArchive(b state.Birth) bool { return strings.HasPrefix(b.Target, "bucket ") }

// newBirth returns the birth of an output that begins now. An archive that begins after the pipeline has missed
// changes.
func (r *birthRecords) newBirth(sink, target string) state.Birth {
	b := state.NewBirth(sink, target, time.Now())
	if isArchive(b) && r.started {
		b.LeftOut = b.Made
	}
	return b
}

// hasOutput reports whether a sink of cfg writes to the output of a birth.
func hasOutput(cfg *config.Config, b state.Birth) bool {
	return slices.ContainsFunc(cfg.Sinks, func(s config.Sink) bool { return IsOutput(s, b) })
}

// IsOutput reports whether b is the birth of the output to which s writes.
func IsOutput(s config.Sink, b state.Birth) bool { return s.Name == b.Sink && Target(s) == b.Target }

// needsEveryChange reports whether the output of a birth must have every change from now on. It must if it has the
// table's items or changes, was written before, and is not waiting for a backfill.
func needsEveryChange(b state.Birth) bool {
	kind, _, _ := strings.Cut(b.Target, " ")
	isKept := kind == "table" || kind == "index" || kind == "bucket"
	return isKept && b.Begun && b.Stage != state.Waiting
}

// noteLeftOut stores the start time of this process in the birth of each output whose sink is not in the file. A
// backfill, a redrive, a rebuild or [RecordOutputsOnly] stores nothing: it acknowledges no changes.
func (a *assembly) noteLeftOut(ctx context.Context) error {
	acknowledgesNothing := a.backfill != nil || a.redrive || a.rebuild || a.recordOnly
	if a.births == nil || acknowledgesNothing {
		return nil
	}
	for _, b := range a.births.stored {
		if a.births.isInFile(a.cfg, b.ID) || !needsEveryChange(b) {
			continue
		}
		if err := noteMissed(ctx, a.births.births, b); err != nil {
			return err
		}
		wasNoted := !b.LeftOut.IsZero() && !BeganLate(b)
		if !wasNoted {
			a.logWarning(ctx, missingSinkWarning(b), slog.String("sink", b.Sink), slog.String("output", b.Target))
		}
	}
	return nil
}

// isInFile reports whether a sink of cfg writes to the output of a birth. If adopt has moved the output, it has a birth
// of this ID for each of its targets.
func (r *birthRecords) isInFile(cfg *config.Config, birthID string) bool {
	for _, b := range r.stored {
		if b.ID == birthID && hasOutput(cfg, b) {
			return true
		}
	}
	return false
}

// missingSinkWarning returns the warning that the file lacks the sink of a birth.
func missingSinkWarning(b state.Birth) string {
	if isArchive(b) {
		return "the file lacks an archive that has written: it misses all changes from now on, and fills no sink any more"
	}
	return "the file lacks a sink that has written: its output misses all changes from now on; put the sink back, then run `tablewake gaps --repair --audit`"
}

// warnOfMissedChanges logs each output that may miss changes.
func (a *assembly) warnOfMissedChanges() {
	if a.births == nil || a.backfill != nil || a.rebuild {
		return
	}
	for i := range a.opened {
		if b := a.opened[i].birth; MayMissChanges(b) && !isArchive(b) {
			a.logWarning(context.Background(),
				"the sink may miss changes: a process ran without it, or adopt accepted it; `tablewake gaps --repair --audit` compares it with the table, and repairs it",
				slog.String("sink", b.Sink), slog.Time("started", b.LeftOut))
		}
	}
}

// ClearLeftOut clears Birth.LeftOut, and reports whether it did. Call it after the output was compared with the whole
// table and repaired. b is the birth as it was read before the comparison. If another process was started without the
// sink since b was read, ClearLeftOut changes nothing.
func ClearLeftOut(ctx context.Context, births state.Births, b state.Birth) (bool, error) {
	_, cleared, err := updateBirth(ctx, births, b, func(current *state.Birth) {
		if current.LeftOut.Equal(b.LeftOut) {
			current.LeftOut = time.Time{}
		}
	})
	return cleared, err
}
