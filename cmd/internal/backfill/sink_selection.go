package backfill

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/state"
)

// selection has the sinks that a backfill fills, and the run that fills them.
type selection struct {
	births    []state.Birth  // birth of each sink's output, its recorded identity; sorted by name
	allBirths []state.Birth  // the births of all outputs of the pipeline
	neverWait []config.Sink  // the archives and Go sinks of births; they accept all changes at every stage
	runID     string         // id of the run that fills the sinks
	stored    state.Backfill // the stored backfill of the run; zero if none is stored, so that the run has written nothing
	replaced  []string       // runs that have written nothing, from which the run takes sinks
}

// names returns the names of the sinks.
func (s *selection) names() []string {
	names := make([]string, len(s.births))
	for i, b := range s.births {
		names[i] = b.Sink
	}
	return names
}

// String returns the names of the sinks, for people.
func (s *selection) String() string { return strings.Join(s.names(), ", ") }

// isStored reports whether the state has the backfill of the run. Without one the run has written nothing.
func (s *selection) isStored() bool { return s.stored.Run != "" }

// hasWaiting reports whether a sink waits and needs a floor.
func (s *selection) hasWaiting() bool {
	return slices.ContainsFunc(s.births, func(b state.Birth) bool { return b.Stage == state.Waiting })
}

// missesChanges reports whether a consumer without one of the sinks would acknowledge changes that the sink needs.
// Waiting sinks, archives and Go sinks need all changes.
func (s *selection) missesChanges() bool { return s.hasWaiting() || len(s.neverWait) > 0 }

// keepsState reports whether one of the sinks compares versions with the tombstones of the state.
func (s *selection) keepsState() bool { return len(s.neverWait) < len(s.births) }

// allPartsRead reports whether all parts of the source were read, so that a sink only waits for the stream. Other sinks
// may be live already.
func (s *selection) allPartsRead() bool {
	isUnread := func(b state.Birth) bool { return b.Stage == state.Filling || b.Stage == state.Waiting }
	isSettling := func(b state.Birth) bool { return b.Stage == state.Settling }
	return slices.ContainsFunc(s.births, isSettling) && !slices.ContainsFunc(s.births, isUnread)
}

// errNothingToFill is the error of a command without --sink if every sink is filled.
var errNothingToFill = errors.New("every view, aggregate and search index is filled: there is nothing to do")

// selectSinks selects sinks from all, the sinks of the program. births are the births of all sinks, and stored has the
// backfills of the state. If names is not empty, it selects the sinks with these names. Otherwise it selects the first
// of these groups that has a sink:
//
//   - the sinks of a stored run, also those that are live already, because the run continues;
//   - the sinks that wait or are being filled. If a process was killed while it stored the stages of a first start,
//     the group also has all sinks that were never filled;
//   - all sinks that were never filled.
func selectSinks(all []config.Sink, births []state.Birth, stored []state.Backfill, names []string) (*selection, error) {
	bySink := make(map[string]state.Birth)
	for _, b := range births {
		bySink[b.Sink+"\n"+b.Target] = b
	}
	isOfFile := func(b state.Birth) bool {
		return slices.ContainsFunc(all, func(s config.Sink) bool { return sinks.IsOutput(s, b) })
	}
	runs := findOpenRuns(births, stored, isOfFile)
	isSelected := func(s config.Sink, b state.Birth) bool {
		if len(names) > 0 {
			return slices.Contains(names, s.Name)
		}
		return runs.selectsByDefault(s, b)
	}
	sel := selection{allBirths: births}
	for _, s := range all {
		b, hasBirth := bySink[s.Name+"\n"+sinks.Target(s)]
		if !hasBirth || !isSelected(s, b) {
			continue
		}
		if err := runs.checkSelected(s, b); err != nil {
			return nil, err
		}
		sel.births = append(sel.births, b)
		if !s.KeepsState() {
			sel.neverWait = append(sel.neverWait, s)
		}
	}
	for _, name := range names {
		if !slices.Contains(sel.names(), name) {
			return nil, fmt.Errorf("--sink %s: the state has no record of its output: start the pipeline once", name)
		}
	}
	if len(sel.births) == 0 {
		return nil, errNothingToFill
	}
	slices.SortFunc(sel.births, func(a, b state.Birth) int { return strings.Compare(a.Sink, b.Sink) })
	return &sel, sel.findRun(runs)
}

// openRuns are the runs that have not ended.
type openRuns struct {
	births       []state.Birth    // the births of all sinks
	stored       []state.Backfill // the stored backfills of these runs
	begun        []string         // ids of all stored backfills; no other backfill can have one of them
	isFirstStart bool             // no sink waits, and no sink that is being filled has a floor
}

// findOpenRuns finds the runs that fill an output of the file. A run whose sinks all have other names or places now is
// given up.
func findOpenRuns(births []state.Birth, stored []state.Backfill, isOfFile func(state.Birth) bool) *openRuns {
	runs := &openRuns{births: births, isFirstStart: true}
	for _, b := range births {
		isBeingFilled := b.Stage != state.Live && b.Run != sinks.RebuildRun
		waited := b.Stage == state.Waiting || isBeingFilled && !b.Floor.IsZero()
		if waited {
			runs.isFirstStart = false
		}
	}
	for _, s := range stored {
		runs.begun = append(runs.begun, s.Run)
		fillsFile := func(b state.Birth) bool { return s.Fills(b) && isOfFile(b) }
		if isOpen(s, births) && slices.ContainsFunc(births, fillsFile) {
			runs.stored = append(runs.stored, s)
		}
	}
	return runs
}

// isOpen reports whether a stored backfill has to make one of the outputs of births live.
func isOpen(s state.Backfill, births []state.Birth) bool {
	isUnfilled := func(b state.Birth) bool { return s.Fills(b) && b.Stage != state.Live }
	return slices.ContainsFunc(births, isUnfilled)
}

// findStored returns the stored backfill that fills the output of a birth; zero if there is none.
func (r *openRuns) findStored(b state.Birth) state.Backfill {
	if i := slices.IndexFunc(r.stored, func(s state.Backfill) bool { return s.Fills(b) }); i >= 0 {
		return r.stored[i]
	}
	return state.Backfill{}
}

// selectsByDefault reports whether a command without names selects a sink.
func (r *openRuns) selectsByDefault(s config.Sink, b state.Birth) bool {
	switch {
	case len(r.stored) > 0:
		return r.stored[len(r.stored)-1].Fills(b)
	case b.Stage == state.Live:
		neverFilled := b.Run == "" && b.Floor.IsZero()
		return neverFilled && sinks.FilledByDefault(s) && r.isFirstStart
	}
	return b.Run != sinks.RebuildRun
}

// checkNames returns an error if a named sink is not in the file, or can never be filled. exts is the Go code of the
// program.
func checkNames(cfg *config.Config, exts []sinks.Extension, names []string) error {
	all := sinks.AllSinks(cfg, exts...)
	for _, name := range names {
		i := slices.IndexFunc(all, func(s config.Sink) bool { return s.Name == name })
		if i < 0 {
			return cli.CheckSinks(cfg, name)
		}
		s := all[i]
		switch err := sinks.CheckNamed(s); {
		case err != nil:
			return cli.Usagef("--sink %s: %w", name, err)
		case s.Custom != nil && s.Custom.Name == sinks.Discard:
			return cli.Usagef("--sink %s: it drops every change: there is nothing to fill", name)
		case i < len(cfg.Sinks):
			onlyThis := config.Config{Sinks: []config.Sink{s}}
			if missing := sinks.Missing(&onlyThis, exts...); len(missing) > 0 {
				return cli.Usagef("--sink %s: this program does not have %s: "+
					"run the command in the program that has it (package cmd/cli)", name, strings.Join(missing, ", "))
			}
		}
	}
	return nil
}

// checkSelected returns an error if the sink s, whose birth is b, cannot be filled now. A live sink of a run that has
// not ended is not filled yet, because the run makes its sinks live one after the other.
func (r *openRuns) checkSelected(s config.Sink, b state.Birth) error {
	isLive := b.Stage == state.Live
	wasFilled := b.Run != "" || !b.Floor.IsZero()
	isFilled := isLive && wasFilled && r.findStored(b).Run == ""
	switch {
	case isLive && b.Run == sinks.NoRun:
		return cli.Usagef("--sink %s began with the changes of its first start "+
			"(backfill --none, or backfill: none in the file), and later changes are counted on those: give it another name and a place of its own, and fill that", s.Name)
	case isLive && sinks.MayMissChanges(b) && !sinks.BeganLate(b) && s.KeepsState():
		return cli.Usagef(
			"--sink %s may miss changes: a process ran without it, or adopt accepted it, and a backfill would not bring what was removed meanwhile; "+
				"`tablewake gaps --repair --audit` with the same -c and --live or --local compares it with the table, and repairs it", s.Name)
	case isFilled && s.Custom != nil: // a Go sink gets the items again
	case isFilled && s.Archive != nil:
		return cli.Usagef("--sink %s has the items already (run %s), and a reader takes one of two with the same version: "+
			"for the items of now, give it another name and a place of its own", s.Name, b.Run)
	case isFilled:
		return cli.Usagef("--sink %s is filled (run %s): a second backfill would bring back what was removed since; "+
			"to fill it anew, give it another name and a place of its own", s.Name, b.Run)
	case b.Stage == state.Filling && b.Run == sinks.RebuildRun:
		return cli.Usagef("--sink %s: `tablewake replay --rebuild` fills it, or was interrupted: repeat that", s.Name)
	}
	return nil
}

// findRun sets runID, stored and replaced. A stored run is continued with its own sinks. A run that is not stored has
// written nothing, so a new run takes its sinks over. It continues only if the selection has all of its sinks, because
// another process of the run may wait for its export.
func (s *selection) findRun(open *openRuns) error {
	var others []string // the runs of sinks that no stored run fills
	for _, b := range s.births {
		stored := open.findStored(b)
		switch {
		case stored.Run != "":
			s.runID, s.stored = stored.Run, stored
		case b.Stage == state.Filling && !slices.Contains(others, b.Run):
			others = append(others, b.Run)
		}
	}
	if s.isStored() {
		return s.checkSinks(open)
	}
	continuesRun := len(others) == 1 && s.hasAllOf(others[0], open.births) && !slices.Contains(open.begun, others[0])
	if continuesRun {
		s.runID = others[0]
		return nil
	}
	s.runID, s.replaced = state.NewID(), others
	return nil
}

// hasAllOf reports whether the selection has all sinks of a run. births are the births of all sinks.
func (s *selection) hasAllOf(run string, births []state.Birth) bool {
	isLeftOut := func(b state.Birth) bool { return b.Run == run && !slices.Contains(s.births, b) }
	return !slices.ContainsFunc(births, isLeftOut)
}

// checkSinks returns an error unless the selection has the sinks of its stored run, and no others.
func (s *selection) checkSinks(open *openRuns) error {
	var names []string
	for _, b := range open.births {
		if s.stored.Fills(b) && !slices.Contains(names, b.Sink) {
			names = append(names, b.Sink)
		}
	}
	isOfOtherRun := func(b state.Birth) bool { return !s.stored.Fills(b) }
	if len(names) == len(s.births) && !slices.ContainsFunc(s.births, isOfOtherRun) {
		return nil
	}
	return cli.Usagef("the run %s fills %s, and not %s: name the same sinks", s.runID, strings.Join(names, ", "), s)
}
