package sinks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/state"
)

// OutputChange is the result of comparing the output of a sink with the file. A removed sink has one, too.
type OutputChange struct {
	Sink   string
	Target string // target of the sink, as [Target] returns it; for a removed sink, its former target
	Kind   ChangeKind
	Birth  state.Birth // recorded identity of the output; zero if the state has none

	Settings []SettingChange // settings that differ, for a changed sink
	// Problem says why a start is refused for another reason than settings, and what to do; "" if it is not
	Problem   string
	StateLost bool // the whole state was lost: all sinks have a Problem, and [Accept] accepts them together

	FilledByDefault bool // a backfill can fill the sink
	// WaitsForBackfill means that the sink has missed changes: after its next start it waits for a backfill
	WaitsForBackfill bool
	// TakesSettings means that the sink is changed and its output is empty. So the sink takes the new settings at its
	// next start
	TakesSettings bool
	CanAdopt      bool // for a changed sink: [Accept] can accept the settings

	// LeftThere is set for an added or waiting sink. It names the sinks that are not in the file any more and whose
	// rows or documents are still in the target. Writes to the keys of such rows are refused.
	LeftThere []string

	// Underivable describes parts of the output that do not depend on the table's items alone. A backfill cannot fill
	// these parts.
	Underivable []string
}

// ChangeKind is the kind of an OutputChange.
type ChangeKind string

// The kinds of an OutputChange.
const (
	Unchanged ChangeKind = "unchanged"
	Added     ChangeKind = "added"   // the file has the sink, and nothing was written for it
	Changed   ChangeKind = "changed" // the output was written under other settings
	Removed   ChangeKind = "removed" // the state knows an output of a sink that the file does not have
)

// SettingChange is a setting that differs. An absent setting is "".
type SettingChange struct{ Name, Old, New string }

// CompareOutputs compares each sink of the file with its output, in the order of the file. Then it lists the outputs of
// sinks that the file does not have. If names are given, it compares only these sinks, and does not read or list the
// outputs of other sinks. stores must open existing outputs and create none.
func CompareOutputs(ctx context.Context, cfg *config.Config, stores Stores, names ...string) ([]OutputChange, error) {
	r, err := openBirths(ctx, cfg, stores, "")
	if err != nil {
		return nil, err
	}
	var all []OutputChange
	for _, s := range cfg.Sinks {
		if !isSelected(s, names) {
			continue
		}
		c, err := r.compareOutput(ctx, cfg, s, stores)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: sinks.%s: %w", cfg.File, s.Line, s.Name, err)
		}
		all = append(all, c)
	}
	if len(names) > 0 {
		return all, nil
	}
	return append(all, r.removedOutputs(all)...), nil
}

// isSelected reports whether names has the sink, or is empty. A Go sink is never selected, because it has no output to
// compare.
func isSelected(s config.Sink, names []string) bool {
	isNamed := len(names) == 0 || slices.Contains(names, s.Name)
	return s.Custom == nil && isNamed
}

// removedOutputs returns the recorded outputs that belong to no sink of the file, sorted. inFile has the outputs of the
// file's sinks.
func (r *birthRecords) removedOutputs(inFile []OutputChange) (removed []OutputChange) {
	for _, b := range r.stored {
		isInFile := slices.ContainsFunc(inFile, func(c OutputChange) bool {
			isSameOutput := c.Target == b.Target || c.Birth.ID == b.ID // adopt may have moved the output
			return c.Sink == b.Sink && isSameOutput
		})
		if !isInFile && !strings.HasPrefix(b.Target, goTarget) {
			removed = append(removed, OutputChange{Sink: b.Sink, Target: b.Target, Kind: Removed, Birth: b})
		}
	}
	slices.SortFunc(removed, func(a, b OutputChange) int {
		return cmp.Or(cmp.Compare(a.Sink, b.Sink), cmp.Compare(a.Target, b.Target))
	})
	return removed
}

// AddedOutputs is CompareOutputs for a pipeline that never ran. Every sink is Added.
func AddedOutputs(cfg *config.Config) []OutputChange {
	var all []OutputChange
	for _, s := range cfg.Sinks {
		if s.Custom == nil {
			all = append(all, addedOutput(s))
		}
	}
	return all
}

// addedOutput describes a sink that has written nothing.
func addedOutput(s config.Sink) OutputChange {
	return OutputChange{Sink: s.Name, Target: Target(s), Kind: Added, FilledByDefault: FilledByDefault(s),
		Underivable: underivableParts(s)}
}

// compareOutput compares one sink with its output.
func (r *birthRecords) compareOutput(
	ctx context.Context, cfg *config.Config, s config.Sink, stores Stores,
) (OutputChange, error) {
	c := addedOutput(s)
	store, err := openStore(ctx, cfg, s, stores)
	if err != nil {
		return c, err
	}
	f, err := r.find(ctx, cfg, s, store)
	c.StateLost = r.lostReason != ""
	if err == nil && (f.hasBirth || f.hasFingerprint || c.StateLost) {
		err = r.check(ctx, &f)
		c.Birth = f.birth
	}

	birth, isKnown := r.stored[outputKey{c.Sink, c.Target}] // f.birth of a moved output has its former target
	isMissing := !isKnown && state.IsPermanent(err)         // the table or index of a sink that never ran
	isUnwritten := err == nil && !f.hasFingerprint && !f.birth.Begun
	lost, isLost := errors.AsType[*state.LostError](err)
	switch {
	case isLost:
		c.Kind, c.Birth, c.Problem = Changed, birth, lost.Error()
	case isMissing, isUnwritten:
		// c.Kind stays Added. For a birth without output, adopt has decided whether the sink waits
		c.WaitsForBackfill = c.FilledByDefault && r.started && !f.hasBirth
	case err != nil:
		return c, err
	default:
		c.Kind = Unchanged
		changed := compareSettings(f.storedFingerprint, fingerprintOf(cfg, s))
		if f.hasFingerprint && changed != nil {
			err = c.describeSettings(ctx, cfg, s, store, f, changed)
			return c, err
		}
	}
	if c.FilledByDefault && (c.Kind == Added || c.Birth.Stage == state.Waiting) {
		c.LeftThere = r.formerSinksAt(cfg, c.Target)
	}
	return c, nil
}

// describeSettings describes an output that was written under other settings.
func (c *OutputChange) describeSettings(
	ctx context.Context, cfg *config.Config, s config.Sink, store any, f foundOutput, changed *ChangedError,
) (err error) {
	c.Kind = Changed
	for _, name := range changed.Settings {
		c.Settings = append(c.Settings, SettingChange{Name: name, Old: changed.Old[name], New: changed.New[name]})
	}
	c.CanAdopt = settingsRefusal(s, f, changed) == ""
	needsBackfill := needsRefill(s, f, changed.Settings) || c.Birth.Stage == state.Waiting
	c.TakesSettings, err = canTakeSettings(ctx, cfg, s, store, f, changed.Settings)
	c.WaitsForBackfill = c.TakesSettings && needsBackfill
	return err
}

// formerSinksAt returns the names of the sinks that have written to a target and that no longer have this target in the
// file.
func (r *birthRecords) formerSinksAt(cfg *config.Config, target string) (names []string) {
	for _, b := range r.stored {
		if b.Target == target && b.Begun && b.Stage != state.Waiting && !hasOutput(cfg, b) {
			names = append(names, b.Sink)
		}
	}
	slices.Sort(names)
	return names
}

// latestOwnsRow reports whether several items may claim a row of a view, and the one that changed last owns it.
func latestOwnsRow(v *config.View) bool { return v.Collision == "last" && !v.RowsGuardThemselves() }

// underivableParts describes the parts of a sink's output that do not depend on the table's items alone.
func underivableParts(s config.Sink) []string {
	var found []string
	switch {
	case s.View != nil:
		found = appendUnstable(found, "key attribute", s.View.Key)
		found = appendUnstable(found, "attribute", s.View.Attributes)
		if latestOwnsRow(s.View) {
			found = append(found,
				"on_collision: last: who changed last is not in the table, so that a row that several items claim may have another owner than the stream would give it")
		}
	case s.Aggregate != nil:
		found = appendUnstable(found, "group attribute", s.Aggregate.Group)
		if s.Aggregate.KeepOnTTL {
			found = append(found,
				"on_ttl_delete: keep: items that expired before are in no snapshot, and count for nothing: fill it from the archive (tablewake backfill --archive), or continue without them")
		}
	case s.Search != nil:
		found = appendUnstable(found, "index name", []config.Column{{Name: "index", Template: s.Search.Index}})
	case s.Archive != nil:
		text := "an archive holds what happened: earlier changes are in no snapshot"
		if archivesItems(s.Archive) {
			text += "; a backfill that names it adds the items as SNAPSHOT: tablewake backfill --sink " + s.Name
		}
		found = append(found, text)
	case s.Notify != nil:
		found = append(found, "events are of changes: a backfill publishes none")
	}
	return found
}

// appendUnstable appends a description of each column whose value depends on the change. what names the kind of the
// columns.
func appendUnstable(dst []string, what string, columns []config.Column) []string {
	for _, c := range columns {
		if !c.Template.Stable() {
			dst = append(dst, fmt.Sprintf(
				"%s %s (%s) depends on the change: rows of a backfill get SNAPSHOT, the time 0 and the version of a snapshot",
				what, c.Name, c.Template))
		}
	}
	return dst
}
