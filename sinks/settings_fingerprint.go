package sinks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/state"
)

// Generation is the number of the format in which the sinks of Assemble write. A sink cannot write to an output in
// another format.
const Generation = 3

// ChangedError reports that a sink's output was written under other settings than those of the file. If the sink wrote
// to that output, old and new rows, documents or objects would mix.
type ChangedError struct {
	Sink     string
	Settings []string // paths of the settings that differ
	Old, New map[string]string

	adopt string // the command that accepts the change; "" if the pipeline has no state
}

// Error names the settings that differ, with their old and new values.
func (e *ChangedError) Error() string {
	text := e.changeText() +
		": old and new would mix; take the settings back, give the sink another name and a place of its own, or begin with empty stores"
	if e.adopt != "" {
		text += "; if the change only fixes what failed, accept it: `" + e.adopt + "`"
	}
	return text
}

// changeText describes the changed settings, without advice.
func (e *ChangedError) changeText() string {
	var b strings.Builder
	b.WriteString("what it holds was written under other settings (")
	for i, s := range e.Settings {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s was %s and is %s", s, setting(e.Old, s), setting(e.New, s))
	}
	b.WriteByte(')')
	return b.String()
}

// fingerprintOf returns the fingerprint of a sink's settings in the file.
func fingerprintOf(cfg *config.Config, s config.Sink) state.Fingerprint {
	return state.Fingerprint{Pipeline: cfg.Name, Sink: s.Name, Generation: Generation, Settings: s.Settings}
}

// compareSettings returns an error with the settings that differ, or nil if all are equal.
func compareSettings(stored, current state.Fingerprint) *ChangedError {
	changed := stored.Changed(current)
	if len(changed) == 0 {
		return nil
	}
	return &ChangedError{Sink: current.Sink, Settings: changed, Old: stored.Settings, New: current.Settings}
}

// setting returns the text of a setting in an error.
func setting(settings map[string]string, name string) string {
	if text, ok := settings[name]; ok {
		return "'" + text + "'"
	}
	return "not set"
}

// openOutput is an output whose store was opened. storeOutputs stores its fingerprint (the settings that shape it) and
// its birth (its recorded identity) after all sinks were accepted.
type openOutput struct {
	foundOutput
	spec           config.Sink
	newFingerprint state.Fingerprint // fingerprint of the settings in the file; storedFingerprint is the stored one
	fingerprints   state.Fingerprints
	// the settings that differ; nil if none do. They are accepted, because the output is empty
	changed *ChangedError

	// formerBirth is the stored birth, if replaceBirth has set a new birth that will replace it. Otherwise it is zero
	formerBirth state.Birth
}

// replaceBirth sets o.birth to next. storeReplacedBirth stores next after every sink of the file was accepted. Until
// then the user can cancel the command or restore the settings.
func (o *openOutput) replaceBirth(next state.Birth) {
	if o.formerBirth.ID == "" {
		o.formerBirth = o.birth
	}
	o.birth = next
}

// storeReplacedBirth stores o.birth if replaceBirth set it.
func (o *openOutput) storeReplacedBirth(ctx context.Context, births state.Births) error {
	if o.formerBirth.ID == "" {
		return nil
	}
	stored, err := ChangeBirths(ctx, births, []state.Birth{o.formerBirth}, func(b *state.Birth) {
		next := o.birth
		if b.ID == next.ID { // the same output: consumers may have changed its notes
			next = withNotesOf(next, *b)
		}
		*b = next
	})
	if err == nil {
		o.birth, o.formerBirth = stored[0], state.Birth{}
	}
	return err
}

// openOutputs opens the stores of the routed sinks. It refuses an output that was written under other settings than
// those of the file, and an output of another state. It stores nothing.
func (a *assembly) openOutputs(ctx context.Context) error {
	a.sinkStores = make(map[string]any, len(a.cfg.Sinks))
	var failures []error
	for _, s := range a.cfg.Sinks {
		if s.Custom != nil || !a.isRouted(s.Name) {
			continue
		}
		store, err := openStore(ctx, a.cfg, s, a.stores)
		if err == nil {
			err = a.checkOutput(ctx, s, store)
		}
		if lost, ok := errors.AsType[*state.LostError](err); ok {
			lost.Flags = a.flags
		}
		if err != nil {
			failures = append(failures, a.atLine(s.Line, "sinks."+s.Name, err))
			continue
		}
		a.sinkStores[s.Name] = store
	}
	return errors.Join(failures...)
}

// openedStore returns the store of a sink that openOutputs opened, and the birth of the sink's output. Without a state,
// or without a fingerprint (as with [PlanOnly]), the birth has only the ID of [BornAs]; "" if there is none.
func openedStore[T any](a *assembly, s config.Sink) (store T, birth state.Birth) {
	birth.ID = a.bornAs[s.Name]
	for i := range a.opened {
		if a.opened[i].spec.Name == s.Name {
			birth = a.opened[i].birth
		}
	}
	store, _ = a.sinkStores[s.Name].(T)
	return store, birth
}

// checkOutput checks the output of a sink, and adds it to a.opened if it has a fingerprint.
func (a *assembly) checkOutput(ctx context.Context, s config.Sink, store any) (err error) {
	fingerprints, hasFingerprints := store.(state.Fingerprints)
	leavesNoTrace := a.births == nil && a.publishesNothing(s)
	if !hasFingerprints || leavesNoTrace {
		return nil // the sink has no output of its own, or nothing will be written there
	}
	o := openOutput{spec: s, fingerprints: fingerprints, newFingerprint: fingerprintOf(a.cfg, s)}
	if a.births == nil {
		o.storedFingerprint, o.hasFingerprint, err = fingerprints.Fingerprint(ctx, a.cfg.Name, s.Name)
	} else {
		o.foundOutput, err = a.births.find(ctx, a.cfg, s, store)
	}
	if err != nil {
		return err
	}
	mayMissChanges := true // if the output is new; for other outputs it has no effect
	if o.hasFingerprint {
		if err := checkGeneration(o.storedFingerprint.Generation); err != nil {
			return err
		}
		o.changed = compareSettings(o.storedFingerprint, o.newFingerprint)
	}
	if o.changed != nil {
		if mayMissChanges, err = a.acceptNewSettings(ctx, &o, store); err != nil {
			return err
		}
	}
	if a.births != nil {
		if err := a.births.checkForStart(ctx, &o.foundOutput); err != nil {
			return err
		}
		if !o.hasBirth {
			o.birth = a.births.birthOf(&o.foundOutput, FilledByDefault(s) && mayMissChanges)
		}
	}
	a.opened = append(a.opened, o)
	return nil
}

// recordNewBirths records the births of new outputs. It puts the birth of every output into its new fingerprint.
func (a *assembly) recordNewBirths(ctx context.Context) error {
	for i := range a.opened {
		o := &a.opened[i]
		if a.births != nil && !o.hasBirth {
			if err := a.recordNewBirth(ctx, o); err != nil {
				return a.atLine(o.spec.Line, "sinks."+o.spec.Name, err)
			}
		}
		o.newFingerprint.Birth = o.birth.ID
	}
	return nil
}

// recordNewBirth records the birth of a new output. If another process was first, o gets its birth. Then that process
// must have the same settings.
func (a *assembly) recordNewBirth(ctx context.Context, o *openOutput) error {
	recorded, err := a.births.births.RecordBirth(ctx, o.birth)
	isOurs := recorded.ID == o.birth.ID
	o.birth = recorded
	if err != nil || isOurs {
		return err
	}
	o.storedFingerprint, o.hasFingerprint, err = o.fingerprints.Fingerprint(ctx, a.cfg.Name, o.sink)
	if err != nil || !o.hasFingerprint {
		return err
	}
	if changed := compareSettings(o.storedFingerprint, o.newFingerprint); changed != nil {
		return changed
	}
	return nil
}

// checkGeneration returns an error if an output has another generation than this program writes.
func checkGeneration(stored int) error {
	switch {
	case stored > Generation:
		return pipeline.Fatal(errs.Errorf(
			"what it holds is of generation %d, and this program writes generation %d: use the newer program", stored,
			Generation))
	case stored < Generation:
		return pipeline.Fatal(errs.Errorf(
			"what it holds is of generation %d, and this program writes generation %d: give the sink another name and a place of its own, "+
				"and fill it: `tablewake backfill`", stored, Generation))
	}
	return nil
}

// acceptNewSettings lets an output take the changed settings of the file if the output is empty. Otherwise it returns
// o.changed as the error. needsBackfill means that the former settings may have left out changes that the output needs:
// it begins again, and waits for a backfill.
func (a *assembly) acceptNewSettings(ctx context.Context, o *openOutput, store any) (needsBackfill bool, err error) {
	if a.births != nil && settingsRefusal(o.spec, o.foundOutput, o.changed) == "" {
		o.changed.adopt = strings.Join(strings.Fields("tablewake adopt "+a.flags+" --sink "+o.spec.Name), " ")
	}
	taken, err := canTakeSettings(ctx, a.cfg, o.spec, store, o.foundOutput, o.changed.Settings)
	switch {
	case err != nil:
		return false, err
	case !taken:
		return false, o.changed
	}
	needsBackfill = needsRefill(o.spec, o.foundOutput, o.changed.Settings)
	switch {
	case o.movedFrom != "": // the sink begins a new output at the new target
		o.foundOutput = foundOutput{sink: o.sink, target: o.target, out: o.out, targetID: o.targetID}
	case needsBackfill:
		a.births.beginAgain(o)
	}
	return needsBackfill, nil
}

// publishesNothing reports whether s is a suppressed notify sink. Its output is not recorded as begun, so its settings
// can still change.
func (a *assembly) publishesNothing(s config.Sink) bool { return s.Notify != nil && a.suppress != "" }

// storeOutputs notes left-out sinks, and stores the fingerprints and the changed births, before the pipeline writes
// anything.
func (a *assembly) storeOutputs(ctx context.Context) error {
	if err := a.checkAddedSinks(); err != nil {
		return err
	}
	a.warnOfStages()
	a.warnOfMissedChanges()
	if err := a.noteLeftOut(ctx); err != nil {
		return err
	}
	for i := range a.opened {
		if err := a.storeOutput(ctx, &a.opened[i]); err != nil {
			return err
		}
	}
	return nil
}

// storeOutput stores the birth and the fingerprint of one output.
func (a *assembly) storeOutput(ctx context.Context, o *openOutput) error {
	if a.births != nil {
		if err := o.storeReplacedBirth(ctx, a.births.births); err != nil {
			return err
		}
		if o.changed != nil && isArchive(o.birth) && isRestricted(o.changed.Old) {
			if err := noteMissed(ctx, a.births.births, o.birth); err != nil {
				return err
			}
		}
	}
	hasNewBirth := a.births != nil && o.storedFingerprint.Birth != o.newFingerprint.Birth
	if !o.hasFingerprint || o.changed != nil || hasNewBirth {
		if err := o.fingerprints.SetFingerprint(ctx, o.newFingerprint); err != nil {
			return err
		}
	}
	if a.births != nil && !a.publishesNothing(o.spec) {
		if err := a.births.markBegun(ctx, &o.foundOutput); err != nil {
			return err
		}
	}
	if o.changed != nil {
		a.warnOfTakenSettings(ctx, o)
	}
	return nil
}

// warnOfTakenSettings logs that an empty output takes new settings.
func (a *assembly) warnOfTakenSettings(ctx context.Context, o *openOutput) {
	text := "the sink holds nothing, and takes the settings of the file: redrive its dead letters, and replay what the former settings left out"
	if o.birth.Stage == state.Waiting {
		text = "the sink holds nothing, takes the settings of the file, and waits: the former ones left out changes that it may need"
	}
	a.logWarning(ctx, text, slog.String("sink", o.changed.Sink), slog.Any("changed", o.changed.Settings))
}
