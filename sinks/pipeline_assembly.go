package sinks

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/otel/metric/noop"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/pipeline/rules"
	"github.com/tablewake/tablewake/sinks/state"
)

// errs makes this package's errors. Their redacted text holds no data.
const errs = redact.Class("sink")

// assembly is the state of one call of Assemble.
type assembly struct {
	cfg         *config.Config
	stores      Stores
	custom      map[string]goSink
	funcs       map[string]pipeline.DetectorFunc
	goFilters   map[string]goFilter
	typed       []typedSpec // see [On]
	extended    bool        // the program has an [Extension]
	holdReason  string      // see [HoldCustom]; "" holds back no sink
	notHeld     []string    // names of Go sinks that holdReason does not concern
	passMissing bool        // see [PassMissingFilters]
	suppress    string
	flags       string        // see [WithCommands]
	noEntity    *atomic.Int64 // see [CountNoEntity]
	finite      bool
	rebuild     bool
	backfill    *BackfillOptions // nil: the pipeline is not a backfill
	redrive     bool
	recordOnly  bool // see [RecordOutputsOnly]
	maskAll     bool
	sensitive   *mask.Mask        // masks the sensitive attributes of the file
	readBefore  string            // see [SourceWasRead]
	bornAs      map[string]string // see [BornAs]
	stateStore  state.Store       // nil: the file names no state
	births      *birthRecords     // nil: the file names no state
	sinkStores  map[string]any    // the opened store of each sink, by name
	opened      []openOutput
	options     pipeline.Options
}

func newAssembly() *assembly {
	return &assembly{
		custom:    make(map[string]goSink),
		funcs:     make(map[string]pipeline.DetectorFunc),
		goFilters: make(map[string]goFilter),
	}
}

// Assemble makes the pipeline of cfg over the stores. If cfg has several faults, the error joins them all, each with
// its position in the file.
func Assemble(ctx context.Context, cfg *config.Config, stores Stores, opts ...Option) (*pipeline.Pipeline, error) {
	a := newAssembly()
	a.cfg, a.stores = cfg, stores
	discard := With(Discard, func(context.Context, struct{}) (pipeline.Sink, error) {
		return pipeline.SinkFunc(func(context.Context, []pipeline.Delivery) error { return nil }), nil
	})
	discard.add(a) // not apply: it is no extension of the program
	for _, o := range opts {
		o.apply(a)
	}
	if _, plans := stores.(planOnly); plans {
		a.options.Meter = noop.NewMeterProvider()
	}
	if err := errors.Join(a.makeMask(), a.checkBackfill(), a.checkNotHeld()); err != nil {
		return nil, err
	}
	a.options.Name, a.options.Decoder = cfg.Name, Decoder(cfg)
	a.options.Accept = newSourceCheck(cfg, a.options.Live)
	if err := a.addFilters(); err != nil {
		return nil, err
	}
	if err := a.openState(ctx); err != nil { // routes need the births
		return nil, err
	}
	err := errors.Join(a.checkFilters(), a.addDetectors(), a.addRoutes(ctx), a.addTypedRoutes(), a.openDeadLetters(ctx))
	if err != nil {
		return nil, err
	}
	a.setQuarantine()
	p, err := pipeline.New(a.options)
	if err != nil {
		return nil, err
	}
	if err := a.storeOutputs(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// addFilters adds the filters that precede the routes.
func (a *assembly) addFilters() error {
	filters := []pipeline.Filter{OwnWrites(a.cfg.Name)}
	if a.cfg.Source.Kinesis != "" {
		filters = append(filters, keepTable(a.cfg.Source.Tables[0].Name))
	}
	for _, f := range a.cfg.Filters {
		filters = append(filters, a.filter(f.Filter))
	}
	if es := a.cfg.EntitySet(); es != nil && a.noEntity != nil {
		f, err := a.newNoEntity(es)
		if err != nil {
			return err
		}
		filters = append(filters, f)
	}
	if a.backfill != nil && a.backfill.Narrowing != nil {
		filters = append(filters, rules.Keep("narrowing", a.backfill.Narrowing))
	}
	a.options.Filters = filters
	return nil
}

// Decoder returns the options that turn records of cfg's tables into changes. If cfg names the stream of its only
// table, records that name no stream belong to that stream.
func Decoder(cfg *config.Config) record.DecoderOptions {
	d := record.DecoderOptions{DynamoDBLocal: cfg.Source.DynamoDBLocal, TableInKey: len(cfg.Source.Tables) > 1}
	if len(cfg.Source.Tables) == 1 {
		d.Table, d.StreamARN = cfg.Source.Tables[0].Name, cfg.Source.Tables[0].StreamARN
	}
	return d
}

// addDetectors adds the detectors of the file.
func (a *assembly) addDetectors() error {
	if a.backfill != nil {
		return nil // a snapshot raises no events
	}
	var failures []error
	for _, spec := range a.cfg.Detectors {
		d, err := a.newDetector(spec)
		if err != nil {
			failures = append(failures, a.atLine(spec.Line, "detect."+spec.Name, err))
			continue
		}
		a.options.Detectors = append(a.options.Detectors, pipeline.NamedDetector{Name: spec.Name, Detector: d})
	}
	return errors.Join(failures...)
}

// newDetector returns the detector that spec describes. If spec.Func names a Go function, the detector calls that
// function for the changes that meet spec.When.
func (a *assembly) newDetector(spec config.Detector) (pipeline.Detector, error) {
	if spec.Func == "" {
		return spec.Detector, nil
	}
	f, ok := a.funcs[spec.Func]
	switch mayLackFunc := a.mayLackCode() && a.suppress != ""; {
	case !ok && mayLackFunc:
		f = noEvents
	case !ok:
		return nil, fmt.Errorf(
			"no Go function is named %q: give it to cli.Main, function.Main or Assemble with sinks.WithFunc (it has %s)",
			spec.Func, names(a.funcs))
	}
	if spec.When == nil {
		return f, nil
	}
	return rules.When(spec.When, f), nil
}

// noEvents is the detector that replaces a Go function that the program lacks. It raises no events.
func noEvents(dst []pipeline.Event, _ *record.Change) ([]pipeline.Event, error) { return dst, nil }

// addRoutes adds the routes to the sinks of the file. It records the births of new outputs only after all outputs were
// accepted: one recorded birth would hide that the whole state was lost, if a later sink is refused for that.
func (a *assembly) addRoutes(ctx context.Context) error {
	err := a.openOutputs(ctx)
	if err == nil {
		err = a.recordNewBirths(ctx)
	}
	failures := []error{err}
	for _, spec := range a.cfg.Sinks {
		_, hasStore := a.sinkStores[spec.Name]
		isRefused := spec.Custom == nil && !hasStore
		if isRefused || !a.isRouted(spec.Name) {
			continue
		}
		r, err := a.newRoute(ctx, spec)
		if err != nil {
			failures = append(failures, a.atLine(spec.Line, "sinks."+spec.Name, err))
			continue
		}
		a.options.Routes = append(a.options.Routes, r)
	}
	return errors.Join(failures...)
}

// isRouted reports whether the pipeline has a route to the named sink. A backfill has routes only to the sinks that it
// names.
func (a *assembly) isRouted(sink string) bool {
	return a.backfill == nil || slices.Contains(a.backfill.Sinks, sink)
}

// openDeadLetters opens the store of dead letters.
func (a *assembly) openDeadLetters(ctx context.Context) error {
	spec := a.cfg.DeadLetters // nil: the file names no dead letters
	letters, err := a.stores.DeadLetters(ctx, a.cfg)
	if err != nil {
		line := 1
		if spec != nil {
			line = spec.Line
		}
		return a.atLine(line, "dead_letters", err)
	}
	a.options.DeadLetters = letters
	if letters != nil && spec != nil && spec.BlockUndecodable {
		a.options.DeadLetters = stopOnUndecodable{letters, a.sensitive}
	}
	return nil
}

// openState opens the state and reads the births of the sinks' outputs. A birth is the recorded identity of one output.
func (a *assembly) openState(ctx context.Context) (err error) {
	a.stateStore, err = a.stores.State(ctx, a.cfg)
	if err == nil && a.stateStore != nil {
		a.births, err = readBirths(ctx, a.stateStore, a.readBefore)
	}
	if err != nil {
		line := 1
		if a.cfg.State != nil {
			line = a.cfg.State.Line
		}
		return a.atLine(line, "state", err)
	}
	return nil
}

// setQuarantine gives the pipeline max_hold and the store of its quarantined keys. Call it after openDeadLetters:
// without a store of dead letters, the pipeline accepts neither.
func (a *assembly) setQuarantine() {
	if a.options.DeadLetters == nil {
		return
	}
	if spec := a.cfg.DeadLetters; spec != nil {
		a.options.MaxHold = spec.MaxHold
		if spec.NoQuarantine {
			return
		}
	}
	if a.stateStore != nil {
		a.options.Quarantine = a.stateStore
	}
}

// atLine adds the position in the file to an error.
func (a *assembly) atLine(line int, field string, err error) error {
	return fmt.Errorf("%s:%d: %s: %w", a.cfg.File, line, field, err)
}

// names lists the registered names, for an error.
func names[T any](m map[string]T) string {
	if len(m) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(m)), ", ")
}
