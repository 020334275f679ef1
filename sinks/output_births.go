package sinks

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/state"
)

// Outputs is implemented by stores that can inspect the output of a sink.
type Outputs interface {
	// Output returns a value whose methods inspect the output of a sink. Output itself sends no request.
	Output(p state.OutputRef) state.Output
}

// Target returns the target of a sink, as [state.Birth] records it. Examples are "table shop-views", "index products",
// "bucket audit changes/", "Go sink crm" and "events".
func Target(s config.Sink) string {
	switch {
	case s.View != nil:
		return "table " + s.View.Table.Name
	case s.Aggregate != nil:
		return "table " + s.Aggregate.Table.Name
	case s.Search != nil:
		return "index " + s.Search.Index.String()
	case s.Archive != nil:
		return "bucket " + cmp.Or(s.Archive.Bucket, s.Name) + " " + s.Archive.Prefix
	case s.Custom != nil:
		return goTarget + s.Custom.Name
	}
	return "events"
}

// targetText returns a target for people. The target of an archive without a prefix ends with a space.
func targetText(target string) string { return strings.TrimSpace(target) }

// goTarget is the beginning of the target of a Go sink. The birth of a Go sink is recorded when a backfill first names
// the sink.
const goTarget = "Go sink "

// RecordGoBirth records the birth of a Go sink that a backfill names, if none is recorded yet.
func RecordGoBirth(ctx context.Context, births state.Births, s config.Sink) (err error) {
	b := state.NewBirth(s.Name, Target(s), time.Now())
	if b.State, err = births.Identity(ctx); err == nil {
		_, err = births.RecordBirth(ctx, b)
	}
	return err
}

// OutputRef names the output of a sink, for [Outputs]. Its Name is "" for archives and notify sinks.
func OutputRef(cfg *config.Config, s config.Sink) state.OutputRef {
	p := state.OutputRef{Pipeline: cfg.Name, Sink: s.Name}
	if s.KeepsState() {
		_, p.Name, _ = strings.Cut(Target(s), " ")
	}
	return p
}

// Births returns the ID of the birth of each sink's output, by the name of the sink. The ID is "" if the state has
// no birth of the output.
func Births(ctx context.Context, cfg *config.Config, births state.Births) (map[string]string, error) {
	stored, err := storedBirths(ctx, births)
	if err != nil {
		return nil, err
	}
	bySink := make(map[string]string)
	for _, s := range cfg.Sinks {
		bySink[s.Name] = stored[outputKey{s.Name, Target(s)}].ID
	}
	return bySink, nil
}

// outputKey identifies an output of a pipeline.
type outputKey struct{ sink, target string }

// storedBirths reads all births of a pipeline.
func storedBirths(ctx context.Context, births state.Births) (map[outputKey]state.Birth, error) {
	stored := make(map[outputKey]state.Birth)
	for b, err := range births.Births(ctx) {
		if err != nil {
			return nil, err
		}
		stored[outputKey{b.Sink, b.Target}] = b
	}
	return stored, nil
}

// birthRecords has the births in a pipeline's state. A birth is the recorded identity of one output of a sink.
type birthRecords struct {
	births   state.Births
	identity string // identity of the state
	// started means that an output has begun. A new output then belongs to a sink that was added later
	started    bool
	stored     map[outputKey]state.Birth // by sink and target
	lostReason string                    // the evidence that the state was lost; "" if there is no evidence
}

// readBirths reads the births of a pipeline. readBefore is the evidence that the source was read before; "" if there is
// none (see [SourceWasRead]).
func readBirths(ctx context.Context, births state.Births, readBefore string) (*birthRecords, error) {
	r := &birthRecords{births: births}
	var err error
	if r.stored, err = storedBirths(ctx, births); err != nil {
		return nil, err
	}
	for _, b := range r.stored {
		r.started = r.started || b.Begun
	}
	if r.identity, err = births.Identity(ctx); err != nil {
		return r, err
	}
	if len(r.stored) == 0 {
		r.lostReason, err = lossEvidence(ctx, births, readBefore)
	}
	return r, err
}

// lossEvidence returns the evidence that a state without births was lost; "" if there is none. readBefore is the
// argument of [SourceWasRead].
func lossEvidence(ctx context.Context, births state.Births, readBefore string) (string, error) {
	detector, ok := births.(state.LossDetector)
	if !ok {
		return readBefore, nil
	}
	reason, err := detector.DetectLoss(ctx)
	return cmp.Or(reason, readBefore), err
}

// foundOutput is a sink's output as it is now, and its birth in the state.
type foundOutput struct {
	sink              string
	target            string
	birth             state.Birth
	hasBirth          bool              // the state has a birth of the output
	out               state.Output      // nil: the store cannot inspect the output
	targetID          string            // identity of the target
	storedFingerprint state.Fingerprint // settings that shaped the output, as stored beside it
	hasFingerprint    bool              // storedFingerprint was found
	// partMissing means that the output could not be read completely, because a part of it is missing
	partMissing bool

	// movedFrom is the former target, if the file named another target when the output was written. Otherwise it is ""
	movedFrom string
}

// find returns what the store and the state know about the output of a sink.
func (r *birthRecords) find(
	ctx context.Context, cfg *config.Config, s config.Sink, store any,
) (f foundOutput, err error) {
	f = foundOutput{sink: s.Name, target: Target(s)}
	f.birth, f.hasBirth = r.stored[outputKey{f.sink, f.target}]
	if fingerprints, ok := store.(state.Fingerprints); ok {
		if f.storedFingerprint, f.hasFingerprint, err = fingerprints.Fingerprint(ctx, cfg.Name, s.Name); err != nil {
			return f, err
		}
	}
	if !f.hasBirth && f.storedFingerprint.Birth != "" {
		r.findMoved(&f)
	}
	if outputs, ok := store.(Outputs); ok {
		f.out = outputs.Output(OutputRef(cfg, s))
		f.targetID, err = f.out.Identity(ctx)
	}
	return f, err
}

// findMoved sets the birth of an output that the sink wrote to another target.
func (r *birthRecords) findMoved(f *foundOutput) {
	for _, b := range r.stored {
		if b.Sink == f.sink && b.ID == f.storedFingerprint.Birth {
			f.birth, f.hasBirth, f.movedFrom = b, true, b.Target
			return
		}
	}
}

// check returns a [state.LostError] if an output and the state do not belong together.
func (r *birthRecords) check(ctx context.Context, f *foundOutput) error {
	if f.hasBirth {
		return r.checkRecorded(ctx, f)
	}
	return r.checkUnrecorded(ctx, f)
}

// lost returns the error of an output that does not belong to the state.
func (f *foundOutput) lost(format string, args ...any) error {
	return state.NewLostError(f.sink, fmt.Sprintf(format, args...))
}

// checkRecorded returns a [state.LostError] if an output is not the output that the birth in the state describes.
func (r *birthRecords) checkRecorded(ctx context.Context, f *foundOutput) error {
	switch b := f.birth; {
	case !b.Begun: // nothing was written yet
		return nil
	case b.State != r.identity:
		return f.lost("the state of the sink was recorded as %s, and this is %s: it was restored, copied or exchanged",
			quoteID(b.State), quoteID(r.identity))
	case f.movedFrom != "": // the checks below are about the former target; compareSettings reports the move
		return nil
	case f.targetID != b.Store:
		return f.lost("%s was recorded as %s, and there is %s: it was deleted, restored or exchanged",
			targetText(f.target), quoteID(b.Store), quoteID(f.targetID))
	case !f.hasFingerprint:
		return f.lost(
			"%s held what the sink wrote since %s, and the record that the sink left there is gone: it was deleted, emptied or exchanged", targetText(f.target), b.Made.Format(time.RFC3339))
	case f.storedFingerprint.Birth != b.ID:
		return f.lost("%s has the birth %s, and the state knows %s: one of the two was restored or exchanged",
			targetText(f.target), quoteID(f.storedFingerprint.Birth), quoteID(b.ID))
	case f.out == nil:
		return nil
	}
	emptied, err := f.out.Emptied(ctx, f.birth.ID)
	if err != nil || !emptied {
		return err
	}
	return f.lost("%s holds nothing of the sink, and the state remembers rows: it was emptied", targetText(f.target))
}

// checkUnrecorded returns a [state.LostError] if an output without a birth in the state is not new. If the whole state
// was lost, the error is about all sinks, which are then adopted together.
func (r *birthRecords) checkUnrecorded(ctx context.Context, f *foundOutput) error {
	switch {
	case r.lostReason != "":
		return state.NewLostError("", r.lostReason)
	case f.storedFingerprint.Birth != "":
		return f.lost("%s has the birth %s, and the state knows nothing of it: the state was lost",
			targetText(f.target), quoteID(f.storedFingerprint.Birth))
	case f.out == nil:
		return nil
	}
	// If the state has births of other sinks, it was not lost, and this sink is new. Then one row is enough for the
	// error. Otherwise the number of rows helps the user.
	all := len(r.stored) == 0
	inspection, err := f.out.Inspect(ctx, all)
	if err != nil || inspection.Total() == 0 {
		return err
	}
	return f.lost("%s holds rows of the sink (%d were seen), and the state knows nothing of them: the state was lost",
		targetText(f.target), inspection.Total())
}

// quoteID returns an ID in quotes; "nothing" for "".
func quoteID(id string) string {
	if id == "" {
		return "nothing"
	}
	return "'" + id + "'"
}

// checkForStart returns a [state.LostError] if an output and the state do not belong together. If that is only because
// another process has recorded the birth of a new output meanwhile, checkForStart sets f.birth to it.
func (r *birthRecords) checkForStart(ctx context.Context, f *foundOutput) error {
	err := r.check(ctx, f)
	if err != nil && !f.hasBirth {
		return r.checkRecordedMeanwhile(ctx, f, err)
	}
	return err
}

// birthOf returns the birth of a new output. If the pipeline has written before, the output has missed changes. If
// fillable is true, it then waits for a backfill.
func (r *birthRecords) birthOf(f *foundOutput, fillable bool) state.Birth {
	b := r.newBirth(f.sink, f.target)
	b.State, b.Store = r.identity, f.targetID
	if fillable && r.started {
		b.Stage = state.Waiting
	}
	b.Fresh = fillable && b.Stage == state.Live
	return b
}

// checkRecordedMeanwhile checks an output again if another process has recorded its birth since the births were read.
// Otherwise it returns unrecordedErr, the error of an output without a birth.
func (r *birthRecords) checkRecordedMeanwhile(ctx context.Context, f *foundOutput, unrecordedErr error) (err error) {
	if f.birth, f.hasBirth, err = state.FindBirth(ctx, r.births, f.sink, f.target); err != nil {
		return err
	}
	if !f.hasBirth {
		return unrecordedErr
	}
	recorded := *f
	// the fingerprint may be missing yet: the other process stores it only before it writes
	recorded.hasFingerprint, recorded.storedFingerprint.Birth = true, f.birth.ID
	return r.checkRecorded(ctx, &recorded)
}

// markBegun records that the sink begins to write to an output. The fingerprint with the birth must be stored before
// that.
func (r *birthRecords) markBegun(ctx context.Context, f *foundOutput) error {
	if f.birth.Begun {
		return nil
	}
	stored, _, err := updateBirth(ctx, r.births, f.birth, func(b *state.Birth) {
		if !b.Begun {
			b.State, b.Store, b.Begun = r.identity, f.targetID, true
		}
	})
	if err != nil {
		return err
	}
	isOurs := stored.ID == f.birth.ID && stored.State == r.identity && stored.Store == f.targetID
	if !isOurs {
		return pipeline.Transient(errs.Errorf("another process begins the sink %s at the same time: start again", f.sink))
	}
	return nil
}
