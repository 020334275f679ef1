package sinks

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/state"
)

// Adoption describes a sink whose output does not belong to its state, or was written under other settings. It also
// says whether the output can be accepted nevertheless.
type Adoption struct {
	Sink    string
	Target  string
	Problem string // what was expected, and what was found

	Known         bool        // the state has a birth (the identity of one output) for Sink and Target
	Recorded      state.Birth // the birth in the state, if Known
	StateIdentity string      // identity of the state that was found
	// StoreIdentity is the identity of the target that was found. It is "" if the target has no identity or is missing
	StoreIdentity string
	OutputBirth   string           // birth in the fingerprint that is stored beside the output; "" if there is none
	Inspection    state.Inspection // counts of the output
	Refused       string           // why the output cannot be accepted, and what to do; "" if it can
	Accepting     string           // what happens if the output is accepted

	next     state.Birth // the birth in the state after the output is accepted
	forgets  bool        // Accept makes the store forget the former output
	settings bool        // only the settings differ; Accept records those of the file
	found    foundOutput
}

// Adopt inspects the outputs of the named sinks, or of all sinks if names is empty. It returns the outputs that a
// pipeline over stores would refuse, or nil if it would refuse none. stores must open existing outputs and create none.
// readBefore is the argument of [SourceWasRead]. An error names what could not be read. Adopt also returns an error if
// the whole state was lost and names is not empty.
func Adopt(
	ctx context.Context, cfg *config.Config, stores Stores, readBefore string, names ...string,
) ([]Adoption, error) {
	r, err := openBirths(ctx, cfg, stores, readBefore)
	if err != nil {
		return nil, err
	}
	if r.lostReason != "" && len(names) > 0 {
		return nil, errs.Errorf("%s: the whole state was lost: adopt all sinks together, without naming one", r.lostReason)
	}
	var all []Adoption
	for _, s := range cfg.Sinks {
		if !isSelected(s, names) {
			continue
		}
		a, err := r.inspectOutput(ctx, cfg, s, stores)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: sinks.%s: %w", cfg.File, s.Line, s.Name, err)
		}
		if a.Problem != "" {
			all = append(all, a)
		}
	}
	return all, nil
}

// Accept records each output in the state, in order. It stops with an error at the first Adoption that is Refused or
// that changed since [Adopt]. The Adoptions before that one are accepted. No consumer may run during the call.
func Accept(ctx context.Context, cfg *config.Config, stores Stores, all []Adoption) error {
	r, err := openBirths(ctx, cfg, stores, "")
	if err != nil {
		return err
	}
	for i := range all {
		if err := r.accept(ctx, cfg, stores, &all[i]); err != nil {
			return fmt.Errorf("sinks.%s: %w", all[i].Sink, err)
		}
	}
	return nil
}

// openBirths opens the state, and reads the births of the outputs. A file without a state is an error.
func openBirths(ctx context.Context, cfg *config.Config, stores Stores, readBefore string) (*birthRecords, error) {
	stateStore, err := stores.State(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if stateStore == nil {
		return nil, errs.New("the file names no state, so the outputs of sinks are not recorded: add state: {table: NAME}")
	}
	return readBirths(ctx, stateStore, readBefore)
}

// openStore opens the store of a sink.
func openStore(ctx context.Context, cfg *config.Config, s config.Sink, stores Stores) (any, error) {
	switch {
	case s.View != nil:
		return stores.View(ctx, cfg, s)
	case s.Aggregate != nil:
		return stores.Aggregate(ctx, cfg, s)
	case s.Search != nil:
		return stores.Search(ctx, cfg, s)
	case s.Archive != nil:
		return stores.Archive(ctx, cfg, s)
	default:
		return stores.Notify(ctx, cfg, s)
	}
}

// dependsOnState reports whether a sink's output is correct only together with the items in the state.
func dependsOnState(s config.Sink) bool {
	isGuardedInTable := s.View != nil && s.View.InPlace && s.View.RowsGuardThemselves()
	return s.Aggregate != nil || s.View != nil && !isGuardedInTable
}

// inspectOutput returns the Adoption of a sink. The Adoption has no Problem if a pipeline would accept the output.
func (r *birthRecords) inspectOutput(
	ctx context.Context, cfg *config.Config, s config.Sink, stores Stores,
) (Adoption, error) {
	store, err := openStore(ctx, cfg, s, stores)
	if err != nil {
		return Adoption{}, err
	}
	f, err := r.find(ctx, cfg, s, store)
	f.partMissing = err != nil
	if err == nil {
		err = r.check(ctx, &f)
	}
	if err == nil {
		return r.adoptSettings(ctx, cfg, s, f)
	}
	lost, isLost := errors.AsType[*state.LostError](err)
	if !isLost {
		return Adoption{}, err
	}

	a := r.newAdoption(f, lost.What)
	if f.out != nil {
		if a.Inspection, err = f.out.Inspect(ctx, !f.hasBirth); err != nil {
			return a, err
		}
	}
	r.decide(&a, s)
	if !s.KeepsState() {
		a.next.Stage = state.Live // an archive never waits, not even if its objects are gone
	}
	return a, nil
}

// newAdoption returns the Adoption of an output with a problem, without the decision.
func (r *birthRecords) newAdoption(f foundOutput, problem string) Adoption {
	return Adoption{
		Sink: f.sink, Target: f.target, Problem: problem, Known: f.hasBirth, Recorded: f.birth,
		StateIdentity: r.identity, StoreIdentity: f.targetID, OutputBirth: f.storedFingerprint.Birth, found: f,
	}
}

// adoptSettings returns the Adoption of an output that was written under other settings. If the settings are the same
// or are not stored, the result has no Problem.
func (r *birthRecords) adoptSettings(
	ctx context.Context, cfg *config.Config, s config.Sink, f foundOutput,
) (a Adoption, err error) {
	if !f.hasFingerprint {
		return Adoption{}, nil
	}
	e := compareSettings(f.storedFingerprint, fingerprintOf(cfg, s))
	if e == nil {
		return Adoption{}, nil
	}
	a = r.newAdoption(f, e.changeText())
	a.next, a.settings = f.birth, true
	a.Refused = settingsRefusal(s, f, e)
	switch {
	case a.Refused != "":
	case s.Archive != nil && isRestricted(e.Old):
		a.Accepting = "what was written stays as it is; new changes are written under the new settings. No sink can be filled from the archive, since the former settings left out changes or masked values"
	case s.Archive != nil || s.Notify != nil:
		a.Accepting = "what was written stays as it is; new changes are written under the new settings"
	default:
		a.Accepting = "rows and documents stay as they are until their items change, or `tablewake gaps --repair --audit` fixes them. If the new settings only fix what failed, redrive the dead letters: the sink then holds what a clean pass leaves. " +
			"If they move what did not fail, fill another sink instead: an item may stay at its former place, too"
	}
	if a.Accepting != "" && s.View != nil && latestOwnsRow(s.View) {
		a.Accepting += ". With on_collision: last, only saved records show when an item claimed its row, so a repair by the table makes no missing claims: they come with the next change of their item"
	}
	if f.out != nil {
		a.Inspection, err = f.out.Inspect(ctx, false)
	}
	return a, err
}

// settingsRefusal returns why an output cannot continue under the settings of the file, and what to do; "" if it can.
func settingsRefusal(s config.Sink, f foundOutput, e *ChangedError) string {
	const elsewhere = "Take the setting back, or give the sink another name and another place, and fill it"
	isIndexTemplate := s.Search != nil && strings.Contains(f.movedFrom, "{") && strings.Contains(f.target, "{")
	switch {
	case f.movedFrom != "" && !isIndexTemplate:
		return "what it wrote is in another place, " + targetText(f.movedFrom) +
			", and would stay there. Take the setting back, or give the sink another name, and fill that"
	case changesStoredForm(e):
		return "what it wrote has another form under the former settings, and neither later changes nor a repair can continue it. " +
			elsewhere
	case movesContestedRows(e):
		return "with on_collision: last, no repair knows which item has a row that moves. " + elsewhere
	case slices.ContainsFunc(e.Settings, decidesOrder):
		return "the setting decides which of two changes is newer, and cannot change while there is output. " + elsewhere
	}
	return ""
}

// movesContestedRows reports whether the change may move rows that several items claim, under on_collision: last. A
// setting that only selects items moves no row: a redrive of the dead letters adds rows, and a repair removes rows.
func movesContestedRows(e *ChangedError) bool {
	moves := func(setting string) bool {
		return strings.HasPrefix(setting, "view.key") || strings.HasPrefix(setting, "entities.")
	}
	isLatest := e.New["view.on_collision"] == "last" && e.New["view.guards"] != "rows"
	return isLatest && slices.ContainsFunc(e.Settings, moves)
}

// outputBirths returns the births of the entries in the output, sorted.
func (a *Adoption) outputBirths() []string {
	if a.found.out != nil {
		births := slices.Sorted(maps.Keys(a.Inspection.Seen))
		isGone := a.Inspection.Complete && a.Inspection.Total() == 0
		if len(births) > 0 || isGone {
			return births
		}
	}
	if a.OutputBirth != "" { // from the fingerprint: entries may exist that the inspection did not see
		return []string{a.OutputBirth}
	}
	return nil
}

// decidesOrder reports whether the setting decides which of two changes is newer.
func decidesOrder(setting string) bool {
	return setting == "view.tombstones" || setting == "source.kinesis" || strings.HasSuffix(setting, ".mode")
}

// changesStoredForm reports whether rows and shares have another form under the new settings.
func changesStoredForm(e *ChangedError) bool {
	hasOtherGuards := slices.Contains(e.Settings, "view.guards")
	return hasOtherGuards || isAddedOrRemoved(e, "view.for_each.path") || changesValues(e) || changesTTLMembers(e)
}

// isAddedOrRemoved reports whether one of the compared settings lacks the setting.
func isAddedOrRemoved(e *ChangedError, setting string) bool {
	_, was := e.Old[setting]
	_, is := e.New[setting]
	return was != is
}

// changesValues reports whether an aggregate has other values now, or values of another kind. The stored shares have
// one element for each value.
func changesValues(e *ChangedError) bool {
	return slices.ContainsFunc(e.Settings, func(setting string) bool {
		return strings.HasPrefix(setting, "aggregate.values.") && isAddedOrRemoved(e, setting)
	})
}

// changesTTLMembers reports whether on_ttl_delete changes for values with members: min, max and distinct. The members
// are stored under other ids then.
func changesTTLMembers(e *ChangedError) bool {
	if !slices.Contains(e.Settings, "aggregate.on_ttl_delete") {
		return false
	}
	for setting := range e.Old {
		value, isValue := strings.CutPrefix(setting, "aggregate.values.")
		hasMembers := strings.HasSuffix(value, ".min") || strings.HasSuffix(value, ".max") || strings.HasSuffix(value, ".distinct")
		if isValue && hasMembers {
			return true
		}
	}
	return false
}

// decide sets a.Accepting or a.Refused, and a.next.
func (r *birthRecords) decide(a *Adoption, s config.Sink) {
	births := a.outputBirths()
	a.next = a.Recorded
	switch {
	case len(births) == 0:
		a.forgets = true
		a.next = r.newBirth(a.Sink, a.Target)
		a.Accepting = "nothing that the sink wrote is there. It begins again under another birth, and holds later changes only. To fill it, run tablewake replay over the whole history"
		if a.Recorded.Stage != state.Live { // what the backfill wrote is gone
			a.next.Stage = state.Waiting
			a.Accepting = "nothing that the sink wrote is there. It begins again under another birth, and waits until a backfill fills it"
		}
		return
	case len(births) > 1:
		a.Refused = fmt.Sprintf("the output has %d births: it does not belong to one state. %s", len(births), startOverAdvice)
		return
	case births[0] == "":
		a.Refused = "the output has no birth: it does not belong to one state. " + startOverAdvice
		return
	}

	isRecorded := a.Known && births[0] == a.Recorded.ID
	switch {
	case isRecorded && a.found.partMissing:
		a.forgets = true
		a.Accepting = "the missing part stays missing, and can be created again; the rest belongs to the state"
	case isRecorded && dependsOnState(s):
		a.Accepting = "the output has the recorded birth: it was restored or copied, or its state was. Accept it if both date from one moment, as when the pipeline last wrote. If one is older, its counts stay wrong"
	case isRecorded:
		a.Accepting = "the output has the recorded birth: it was restored or copied, or its state was. If it is older, the changes since then are missing: replay them"
	case dependsOnState(s):
		a.Refused = "the output has the birth " + births[0] +
			", and the state of that birth is gone: changes would count twice, or restore what was removed. " + startOverAdvice
	default:
		a.next = state.NewBirth(a.Sink, a.Target, time.Unix(0, 0)) // 1970, because the time of the birth is unknown
		a.next.ID = births[0]
		a.Accepting = "the output has the birth " + births[0] + ", and guards itself: the state records it as it is"
		if s.Archive != nil {
			a.Accepting = "the archive has the birth " + births[0] + ", and the state records it as it is. It is not known any more whether the archive misses changes: fill sinks from it only if it began with the pipeline, and no process ran without it"
		}
	}
}

const startOverAdvice = "Delete the output, run this command again, and fill the sink by tablewake backfill --archive, with the whole history. Or give the sink another name and another place, and fill it there"

// accept records one output in the state, and in the fingerprint that is stored beside the output.
func (r *birthRecords) accept(ctx context.Context, cfg *config.Config, stores Stores, a *Adoption) error {
	if a.Refused != "" {
		return errs.Errorf("%s", redact.Safe(a.Refused))
	}
	s, _ := cfg.Sink(a.Sink)
	store, err := openStore(ctx, cfg, s, stores)
	if err != nil {
		return err
	}
	if a.settings {
		return r.acceptSettings(ctx, cfg, s, store, a)
	}

	isNewOutput := a.forgets && a.next.ID != a.Recorded.ID
	next := a.next
	if s.KeepsState() && next.Stage != state.Waiting {
		next.Fresh, next.LeftOut = false, time.Now().UTC()
		if isNewOutput {
			next.LeftOut = next.Made
		}
	}
	next.State, next.Store, next.Begun = r.identity, a.StoreIdentity, !isNewOutput
	if a.forgets && a.found.out != nil {
		if err := a.found.out.Forget(ctx); err != nil {
			return err
		}
	}
	if fingerprints, ok := store.(state.Fingerprints); ok && (a.found.hasFingerprint || next.Begun) {
		if err := fingerprints.SetFingerprint(ctx, a.fingerprintWith(next.ID, fingerprintOf(cfg, s))); err != nil {
			return err
		}
	}
	return r.storeAdopted(ctx, a, next)
}

// fingerprintWith returns the fingerprint of the accepted output, with a birth. It keeps the stored settings. If there
// are none, or if the output begins again, it takes those of the file (current).
func (a *Adoption) fingerprintWith(birth string, current state.Fingerprint) state.Fingerprint {
	p := a.found.storedFingerprint
	if a.forgets || !a.found.hasFingerprint {
		p = current
	}
	p.Birth = birth
	return p
}

// storeAdopted stores the birth of an adopted output. It returns an error if the stored birth has changed since it was
// read.
func (r *birthRecords) storeAdopted(ctx context.Context, a *Adoption, next state.Birth) (err error) {
	var stored bool
	if a.Known {
		stored, err = r.births.SetBirth(ctx, a.Recorded, next)
	} else {
		var current state.Birth
		current, err = r.births.RecordBirth(ctx, next)
		stored = current == next
	}
	if err == nil && !stored {
		err = errStateChanged
	}
	return err
}

var errStateChanged = errs.New("the state has changed: stop all consumers, and run the command again")

// acceptSettings records that an output continues under the settings of the file.
func (r *birthRecords) acceptSettings(
	ctx context.Context, cfg *config.Config, s config.Sink, store any, a *Adoption,
) error {
	current, err := r.find(ctx, cfg, s, store)
	switch {
	case err != nil:
		return err
	case current.birth != a.found.birth, len(current.storedFingerprint.Changed(a.found.storedFingerprint)) > 0:
		return errStateChanged
	}
	leavesOut := s.Archive != nil && isRestricted(a.found.storedFingerprint.Settings)
	if s.KeepsState() || leavesOut {
		if err := noteMissed(ctx, r.births, a.Recorded); err != nil {
			return err
		}
	}
	p := a.found.storedFingerprint
	p.Settings = s.Settings
	if a.found.movedFrom != "" {
		next := a.next
		next.Target, next.Store = a.Target, a.StoreIdentity
		next.Fresh, next.LeftOut = false, time.Now().UTC()
		stored, err := r.births.RecordBirth(ctx, next) // the birth of the former target stays; both have one ID
		if err == nil && stored != next {
			err = errStateChanged
		}
		if err != nil {
			return err
		}
	}
	return store.(state.Fingerprints).SetFingerprint(ctx, p) // the store has a fingerprint, so it implements this
}
