package sinks

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/state"
)

// Values of state.Birth.Run for outputs that no backfill fills. A birth is the recorded identity of one output.
const (
	RebuildRun = "rebuild" // `replay --rebuild` fills or filled the output
	NoRun      = "none"    // the user decided that the output begins with the changes from that moment on
)

// FilledByDefault reports whether a backfill that names no sinks fills this sink. It does if the sink's output is a
// function of the table's items, and the file does not forbid it.
func FilledByDefault(s config.Sink) bool {
	return s.KeepsState() && !s.NoBackfill
}

// CheckNamed returns an error if a backfill that names the sink cannot fill it. A backfill fills an archive or a Go
// sink only if it names the sink. These sinks get the items with the operation SNAPSHOT. They never wait for a
// backfill, and take all changes of the stream.
func CheckNamed(s config.Sink) error {
	switch {
	case s.Notify != nil:
		return errs.New("a snapshot raises no events, and a notify sink publishes nothing else: leave it out")
	case s.Archive != nil && !archivesItems(s.Archive):
		return errs.Errorf(
			"its kinds are %s, and an item of a snapshot is of the kind %s: nothing would be archived; leave it out",
			redact.Safe(strings.Join(s.Archive.Kinds, ", ")), redact.Safe(archive.AnyChange))
	}
	return nil
}

// archivesItems reports whether an archive takes items of a snapshot.
func archivesItems(a *config.Archive) bool {
	return len(a.Kinds) == 0 || slices.Contains(a.Kinds, string(archive.AnyChange))
}

// checkBackfill returns an error if the backfill names a sink that it cannot fill, or a sink that the file lacks.
func (a *assembly) checkBackfill() error {
	if a.backfill == nil {
		return nil
	}
	var refused []error
	for _, name := range a.backfill.Sinks {
		isGoSink := slices.ContainsFunc(a.typed, func(t typedSpec) bool { return t.name() == name })
		if isGoSink {
			continue // it takes the items
		}
		s, known := a.cfg.Sink(name)
		if !known {
			refused = append(refused, errs.Errorf("%s: the backfill names %q, and no sink has that name", a.cfg.File, name))
		} else if err := CheckNamed(s); err != nil {
			refused = append(refused, a.atLine(s.Line, "sinks."+name, err))
		}
	}
	return errors.Join(refused...)
}

// stageSink wraps a sink if it is not live, if its backfill has a floor, or if its output is fresh. A floor is the
// earliest time of the stream's changes that the sink takes. An archive is never wrapped, because it takes all changes
// at every stage.
func (a *assembly) stageSink(s config.Sink, sink pipeline.Sink) pipeline.Sink {
	if a.births == nil || a.backfill != nil || !s.KeepsState() {
		return sink
	}
	i := slices.IndexFunc(a.opened, func(o openOutput) bool { return o.sink == s.Name })
	if i < 0 {
		return sink
	}
	birth := a.opened[i].birth
	switch {
	case birth.Stage != state.Live || !birth.Floor.IsZero():
		return newStagedSink(sink, a.births.births, birth, a.redrive)
	case birth.Fresh:
		keepsRemoved := s.Aggregate != nil && s.Aggregate.KeepOnTTL
		return &freshSink{forwarder: forwarder{sink}, births: a.births.births, birth: birth, keepsRemoved: keepsRemoved}
	}
	return sink
}

// FilledAsOf returns the earliest time as of which a backfill may have brought items to the output of a birth: the
// items are as they were then, or later. It returns zero if no backfill brought items, or if the time is unknown.
func FilledAsOf(ctx context.Context, backfills state.Backfills, birth state.Birth) (time.Time, error) {
	if birth.Run == "" || birth.Run == NoRun {
		return time.Time{}, nil
	}
	at := birth.Floor // a backfill reads the items after the floor
	for b, err := range backfills.Backfills(ctx) {
		if err != nil {
			return at, err
		}
		if b.Fills(birth) && b.From.After(at) {
			at = b.From
		}
	}
	return at, nil
}

// isRebuilding reports whether a rebuild fills the output. It also returns true if a rebuild began to fill the output
// and was interrupted.
func isRebuilding(b state.Birth) bool { return b.Stage == state.Filling && b.Run == RebuildRun }

// beginRebuild sets the stage of an output to Filling, unless an interrupted rebuild did. It returns an error if the
// output is not empty, or if a backfill fills it. Without a state it only checks that the output is empty. isEmpty may
// be nil.
func (a *assembly) beginRebuild(
	ctx context.Context, b state.Birth, isEmpty func(context.Context) (bool, error), notEmpty error,
) error {
	if isRebuilding(b) {
		return nil
	}
	if isEmpty != nil {
		if empty, err := isEmpty(ctx); err != nil || !empty {
			return cmp.Or(err, notEmpty)
		}
	}
	if a.births == nil {
		return nil
	}
	if b.Stage == state.Filling || b.Stage == state.Settling {
		return errs.Errorf("the backfill %s fills the sink: let it end, or give the sink another name and a place of its own",
			b.Run)
	}
	next := b
	next.Stage, next.Run = state.Filling, RebuildRun
	for i := range a.opened {
		if a.opened[i].birth == b {
			a.opened[i].replaceBirth(next)
		}
	}
	return nil
}

// FinishRebuild sets the stage Live for the outputs of cfg that a rebuild has filled. Call it after the run has ended
// without an error.
func FinishRebuild(ctx context.Context, cfg *config.Config, births state.Births) error {
	var filled []state.Birth
	for b, err := range births.Births(ctx) {
		if err != nil {
			return err
		}
		if hasOutput(cfg, b) && isRebuilding(b) {
			filled = append(filled, b)
		}
	}
	_, err := ChangeBirths(ctx, births, filled, func(b *state.Birth) { b.Stage = state.Live })
	return err
}

// warnOfStages logs each sink that is not live.
func (a *assembly) warnOfStages() {
	if a.backfill != nil || a.rebuild {
		return
	}
	for i := range a.opened {
		birth := a.opened[i].birth
		switch birth.Stage {
		case state.Waiting:
			a.warnOfWaiting(birth)
		case state.Filling, state.Settling:
			a.logWarning(context.Background(), "the sink is being filled: what it holds is not complete",
				slog.String("sink", birth.Sink), slog.String("stage", string(birth.Stage)), slog.String("run", birth.Run))
		}
	}
}

// warnOfWaiting logs that a sink waits for its backfill, and which former sinks have left rows or documents there.
func (a *assembly) warnOfWaiting(birth state.Birth) {
	a.logWarning(context.Background(),
		"the sink has missed changes that the pipeline acknowledged: it waits, and writes nothing until it is filled: tablewake backfill",
		slog.String("sink", birth.Sink))
	if left := a.births.formerSinksAt(a.cfg, birth.Target); len(left) > 0 {
		a.logWarning(context.Background(),
			"the rows or documents of former sinks are where the sink writes, and a key that both have becomes a dead letter: give the sink its former name, or a place of its own, or delete those first",
			slog.String("sink", birth.Sink), slog.Any("former", left))
	}
}

// logWarning logs a warning, if there is a log.
func (a *assembly) logWarning(ctx context.Context, text string, attrs ...slog.Attr) {
	if a.options.Logger != nil {
		a.options.Logger.LogAttrs(ctx, slog.LevelWarn, text, attrs...)
	}
}

// checkAddedSinks returns an error if a sink is added to a pipeline without a state, because nothing could remember
// that the sink waits.
func (a *assembly) checkAddedSinks() error {
	if a.births != nil || a.rebuild {
		return nil
	}
	hasWritten := slices.ContainsFunc(a.opened, func(o openOutput) bool { return o.hasFingerprint })
	added := slices.IndexFunc(a.opened, func(o openOutput) bool { return !o.hasFingerprint && FilledByDefault(o.spec) })
	if !hasWritten || added < 0 {
		return nil
	}
	s := a.opened[added].spec
	return a.atLine(s.Line, "sinks."+s.Name, errs.Errorf(
		"the pipeline has written before, and this sink missed it: the state remembers that a sink waits until it is filled, and the file has none: add state: {table: NAME}, or backfill: none to the sink, if it should begin with the changes from now on"))
}
