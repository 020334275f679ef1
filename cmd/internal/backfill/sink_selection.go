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

// selection has the sinks that a backfill fills.
type selection struct {
	births    []state.Birth  // birth of each sink's output, its recorded identity; sorted by name
	neverWait []config.Sink  // the archives and Go sinks of births; they accept all changes at every stage
	runID     string         // id of the backfill that fills the sinks; a new id if no backfill does yet
	replaced  []string       // runs without a stored backfill, from which the run runID takes sinks over
	stored    state.Backfill // the stored backfill with the id runID; zero if none is stored
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

// isStored reports whether the state has a backfill of the run. It has one if another process reads the source, or was
// interrupted.
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
	runs := findOpenRuns(births, stored)
	isSelected := func(s config.Sink, b state.Birth) bool {
		if len(names) > 0 {
			return slices.Contains(names, s.Name)
		}
		return runs.selectsByDefault(s, b)
	}
	var sel selection
	var selected []config.Sink // in the order of sel.births
	for _, s := range all {
		b, hasBirth := bySink[s.Name+"\n"+sinks.Target(s)]
		if !hasBirth || !isSelected(s, b) {
			continue
		}
		selected, sel.births = append(selected, s), append(sel.births, b)
		if !s.KeepsState() {
			sel.neverWait = append(sel.neverWait, s)
		}
	}
	for i, s := range selected {
		if err := runs.checkSelected(s, sel.births[i], &sel); err != nil {
			return nil, err
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
	return &sel, sel.findRun(runs, stored)
}

// openRuns are the backfills that have not ended.
type openRuns struct {
	births       []state.Birth    // the births of all sinks
	stored       []state.Backfill // the stored backfills that still fill sinks
	isFirstStart bool             // no sink waits, and no sink that is being filled has a floor
}

func findOpenRuns(births []state.Birth, stored []state.Backfill) *openRuns {
	runs := &openRuns{births: births, isFirstStart: true}
	for _, b := range births {
		switch b.Stage {
		case state.Waiting:
			runs.isFirstStart = false
		case state.Filling, state.Settling:
			if b.Run == sinks.RebuildRun {
				continue
			}
			runs.isFirstStart = runs.isFirstStart && b.Floor.IsZero()
			fillsSink := func(s state.Backfill) bool { return fills(s, b) && hasAllBirths(s, births) }
			if i := slices.IndexFunc(stored, fillsSink); i >= 0 && !slices.Contains(runs.stored, stored[i]) {
				runs.stored = append(runs.stored, stored[i])
			}
		}
	}
	return runs
}

// fills reports whether the run of a stored backfill fills or filled the output of a birth.
func fills(s state.Backfill, b state.Birth) bool {
	return s.Run == b.Run && slices.Contains(strings.Split(s.Sinks, ","), b.Sink)
}

// hasAllBirths reports whether the births of all sinks of a stored backfill name its run. Otherwise the run was
// abandoned, or another run took a sink over while the backfill was stored.
func hasAllBirths(s state.Backfill, births []state.Birth) bool {
	for name := range strings.SplitSeq(s.Sinks, ",") {
		if !slices.ContainsFunc(births, func(b state.Birth) bool { return b.Sink == name && b.Run == s.Run }) {
			return false
		}
	}
	return true
}

// findStored returns the stored backfill that fills the output of a birth; zero if there is none.
func (r *openRuns) findStored(b state.Birth) state.Backfill {
	if i := slices.IndexFunc(r.stored, func(s state.Backfill) bool { return fills(s, b) }); i >= 0 {
		return r.stored[i]
	}
	return state.Backfill{}
}

// continues reports whether a run of the selection continues with the output of a birth, which is live already because
// a process was killed while it made the sinks live. The run of an archive is not stored. So its other sinks of the
// selection must be settling.
func (r *openRuns) continues(b state.Birth, sel *selection) bool {
	isSettling := func(other state.Birth) bool { return other.Stage == state.Settling && other.Run == b.Run }
	return r.findStored(b).Run != "" || sel.allPartsRead() && slices.ContainsFunc(sel.births, isSettling)
}

// selectsByDefault reports whether a command without names selects a sink.
func (r *openRuns) selectsByDefault(s config.Sink, b state.Birth) bool {
	switch {
	case len(r.stored) > 0:
		return fills(r.stored[len(r.stored)-1], b)
	case b.Stage == state.Live:
		neverFilled := b.Run == "" && b.Floor.IsZero()
		return neverFilled && sinks.CanBeFilled(s) && r.isFirstStart
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
			return cli.UnknownSink(cfg, "sink", name, "")
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

// checkSelected returns an error if the sink s of the selection sel, whose birth is b, cannot be filled now.
func (r *openRuns) checkSelected(s config.Sink, b state.Birth, sel *selection) error {
	isLive := b.Stage == state.Live
	wasFilled := b.Run != "" || !b.Floor.IsZero()
	isFilled := isLive && wasFilled && !r.continues(b, sel)
	switch {
	case isLive && b.Run == sinks.NoRun:
		return cli.Usagef("--sink %s began with the changes of its first start "+
			"(backfill --none, or backfill: none in the file), and later changes are counted on those: give it another name and a place of its own, and fill that", s.Name)
	case isLive && !b.LeftOut.IsZero() && s.KeepsState():
		return cli.Usagef(
			"--sink %s may miss changes: a process ran without it, and a backfill would not bring what was removed meanwhile; "+
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

// findRun sets runID, replaced and stored to the run that fills the sinks. A new run takes over sinks whose runs have
// no stored backfill, unless the selection has all sinks of such a run: then another process may wait for its source.
// findRun returns an error if several runs fill the sinks, or if the run fills other sinks.
func (s *selection) findRun(open *openRuns, stored []state.Backfill) error {
	var runs []string
	canTakeOver := true
	for _, b := range s.births {
		isOpen := b.Stage == state.Filling || b.Stage == state.Settling || b.Stage == state.Live && open.continues(b, s)
		if !isOpen {
			continue
		}
		if !slices.Contains(runs, b.Run) {
			runs = append(runs, b.Run)
		}
		s.runID, s.stored = b.Run, open.findStored(b)
		canTakeOver = canTakeOver && b.Stage == state.Filling && !s.isStored()
	}
	isStored := func(b state.Backfill) bool { return b.Run == s.runID }
	isLeftOut := func(b state.Birth) bool {
		isOfRun := b.Run == s.runID && (b.Stage == state.Filling || b.Stage == state.Settling)
		return isOfRun && !slices.Contains(s.births, b)
	}
	switch {
	case len(runs) == 0:
		s.runID = state.NewID()
	case canTakeOver:
		joins := len(runs) == 1 && !slices.ContainsFunc(stored, isStored) && !slices.ContainsFunc(open.births, isLeftOut)
		if !joins {
			s.runID, s.replaced = state.NewID(), runs
		}
	case len(runs) > 1:
		return cli.Usagef("the sinks are filled by several runs (%s and %s): name those of one run with --sink", runs[0],
			runs[1])
	case s.isStored() && strings.Join(s.names(), ",") != s.stored.Sinks:
		return cli.Usagef("the run %s fills %s, and %s are named: name the same sinks", s.runID, s.stored.Sinks,
			fmt.Sprint(s.names()))
	}
	return nil
}
