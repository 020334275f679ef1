package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/tablewake/tablewake/pipeline/record"
)

// Options describe a pipeline.
type Options struct {
	// Name is required. It is part of the keys of stored state and fingerprints, and marks the pipeline's own writes.
	Name      string
	Filters   []Filter        // filters of the source, in order. Default: none
	Detectors []NamedDetector // in order. Default: none
	Routes    []Route         // at least one

	Decoder record.DecoderOptions // options of Pipeline.Decoder. Default: the zero options

	// Accept is called first for every change. An error means that the pipeline is not meant for this source. It ends
	// the run like an error marked with Fatal. Default: all changes are accepted.
	Accept func(c *record.Change) error

	DeadLetters DeadLetters // Default: none; a permanent failure then blocks its key, or returns to the source

	// MaxHold is how long a change can fail before it is dead-lettered, and its key quarantined if there is a Quarantine.
	// The time counts from the creation of the record if Live is set and the creation is known, otherwise from the first
	// try that failed. MaxHold needs DeadLetters. Default (0): no limit.
	MaxHold time.Duration
	// Live says that the source is a live stream, not a replay. New then refuses a Batch that can wait longer than
	// MaxLinger to be full.
	Live       bool
	Quarantine Quarantine // needs DeadLetters. Default: none; the changes after a dead letter are written

	Workers    int   // pages prepared at once. Default: GOMAXPROCS
	MaxBytes   int64 // bytes of pages in flight, with their deliveries. Default: 32 MiB
	MaxChanges int   // changes in flight. Default: 50,000
	// MaxPacked is how many compressed bytes can wait for batches of a [SortedWriter] to fill. Default: MaxBytes
	MaxPacked     int64
	Backoff       Backoff              // wait between tries. Default: the defaults of Backoff
	Logger        *slog.Logger         // Default: discards
	DetailCommand func(Failure) string // the command that shows more about a failure, for the log. Default: none
	Tracer        trace.TracerProvider // Default: the global provider
	Meter         metric.MeterProvider // Default: the global provider
	StopTimeout   time.Duration        // how long a soft stop lasts before it becomes hard. Default: 30s
}

// Failure describes a failure for Options.DetailCommand.
type Failure struct {
	Sink   string // "" if no sink failed
	Letter bool   // true: the change was dead-lettered; false: it is tried again
}

// NamedDetector is a detector with a name, which its events carry.
type NamedDetector struct {
	Name string
	Detector
}

// Pipeline runs changes through filters and detectors to sinks.
type Pipeline struct {
	options       Options
	log           *slog.Logger
	filters       []filterStage
	detectors     []detectorStage
	routes        []*route
	needs         requirements
	ignoresEvents bool         // no sink uses events
	seed          maphash.Seed // seed of the hashes of keys
	tel           *telemetry
	denials       struct{ deadLetters, quarantineRead, quarantineWrite, commit DenialTracker }

	// mu guards the following fields, the ledgers and newest of the routes, and the state of the run; see run.step.
	mu     sync.Mutex
	run    *run          // nil between runs
	ended  chan struct{} // closed when run has returned
	source SourceLedger
	events map[string]int64
	newest time.Time // newest creation time of the changes that were read; zero: none yet
}

// New checks the options and returns a pipeline.
func New(o Options) (*Pipeline, error) {
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("pipeline: %w", err)
	}
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	o.MaxBytes = cmp.Or(o.MaxBytes, 32<<20)
	o.MaxChanges = cmp.Or(o.MaxChanges, 50_000)
	o.MaxPacked = cmp.Or(o.MaxPacked, o.MaxBytes)
	o.StopTimeout = cmp.Or(o.StopTimeout, 30*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Tracer = cmp.Or(o.Tracer, otel.GetTracerProvider())
	o.Meter = cmp.Or(o.Meter, otel.GetMeterProvider())
	p := &Pipeline{
		options: o, log: o.Logger.With(slog.String("pipeline", o.Name)),
		filters:       nameFilters(o.Filters, ""),
		seed:          maphash.MakeSeed(),
		ignoresEvents: true,
		source:        SourceLedger{Filtered: map[string]int64{}},
		events:        map[string]int64{},
	}
	for _, f := range p.filters {
		p.needs.add(f.stage, f.Filter)
	}
	for _, d := range o.Detectors {
		stage := fmt.Sprintf("detector %q", d.Name)
		p.detectors = append(p.detectors, detectorStage{d.Detector, d.Name, stage})
		p.needs.add(stage, d.Detector)
	}
	for _, rt := range o.Routes {
		r := newRoute(rt)
		for _, f := range r.filters {
			p.needs.add(f.stage, f.Filter)
		}
		p.needs.add(r.stage, rt.Sink)
		p.routes = append(p.routes, r)
		p.ignoresEvents = p.ignoresEvents && r.ignoresEvents
	}
	var err error
	if p.tel, err = newTelemetry(p); err != nil {
		return nil, fmt.Errorf("pipeline: metrics: %w", err)
	}
	return p, nil
}

// check returns an error for the first option that is missing or out of range.
func (o *Options) check() error {
	if o.Name == "" {
		return errors.New("Options.Name is empty")
	}
	if len(o.Routes) == 0 {
		return errors.New("Options.Routes is empty: a pipeline has at least one route")
	}
	isCountNegative := o.Workers < 0 || o.MaxBytes < 0 || o.MaxChanges < 0 || o.MaxPacked < 0
	isTimeNegative := o.StopTimeout < 0 || o.MaxHold < 0 || o.Backoff.Base < 0 || o.Backoff.Max < 0
	if isCountNegative || isTimeNegative {
		return errors.New(
			"Options: Workers, MaxBytes, MaxChanges, MaxPacked, StopTimeout, MaxHold and Backoff must not be negative")
	}
	if needsDeadLetters := o.MaxHold > 0 || o.Quarantine != nil; needsDeadLetters && o.DeadLetters == nil {
		return errors.New("Options: MaxHold and Quarantine need DeadLetters, which keep what is given up")
	}
	if i := slices.Index(o.Filters, nil); i >= 0 {
		return fmt.Errorf("Options.Filters[%d] is nil", i)
	}
	for i, d := range o.Detectors {
		if d.Name == "" || d.Detector == nil {
			return fmt.Errorf("Options.Detectors[%d] needs a Name and a Detector", i)
		}
		if slices.ContainsFunc(o.Detectors[:i], func(earlier NamedDetector) bool { return earlier.Name == d.Name }) {
			return fmt.Errorf("Options.Detectors[%d]: the name %q is taken", i, d.Name)
		}
	}
	for i, r := range o.Routes {
		if r.Name == "" || r.Sink == nil {
			return fmt.Errorf("Options.Routes[%d] needs a Name and a Sink", i)
		}
		if slices.ContainsFunc(o.Routes[:i], func(earlier Route) bool { return earlier.Name == r.Name }) {
			return fmt.Errorf("Options.Routes[%d]: the name %q is taken", i, r.Name)
		}
		if err := r.check(o.Live); err != nil {
			return fmt.Errorf("route %q: %w", r.Name, err)
		}
	}
	return nil
}

// Run reads src until it ends (io.EOF), fails, or ctx is done. It delivers the changes that were read, and commits
// finished positions to c, which may be nil. Only one Run at a time is possible.
//
// After the source ends or fails, Run returns once all changes that were read are finished, however long retries take.
// When ctx is done, the run stops softly: it finishes the changes that were read for at most StopTimeout, and then
// stops hard. A hard stop cancels Writes and leaves the rest pending. An error of a [Controlled] source also stops the
// run softly, because other consumers wait for its partitions.
//
// Run returns nil after the end of the source, and after a soft stop that finished in time. It returns the error of the
// source if that ended the run. After a hard stop it returns a *[StopError], joined with the error of the source if
// there is one. An error that is marked with Fatal stops the run hard, and Run returns this error alone. Errors of the
// source and of Flush never stop the run hard.
func (p *Pipeline) Run(ctx context.Context, src Source, c Committer) error {
	p.mu.Lock()
	if p.run != nil {
		p.mu.Unlock()
		return errs.Errorf("pipeline %q is running: one Run at a time", p.options.Name)
	}
	for _, rt := range p.routes {
		// A hard stop left deliveries pending. This run reads and routes their changes again.
		rt.ledger.Revoked += rt.ledger.Pending
		rt.ledger.Pending = 0
	}
	r := newRun(ctx, p, src, c)
	ended := make(chan struct{})
	p.run, p.ended = r, ended
	p.mu.Unlock()
	err := r.do()
	p.mu.Lock()
	p.run = nil
	p.mu.Unlock()
	close(ended)
	return err
}

// Name returns Options.Name.
func (p *Pipeline) Name() string { return p.options.Name }

// Decoder returns a decoder with Options.Decoder, for a source that receives records of unknown tables.
func (p *Pipeline) Decoder() *record.Decoder { return record.NewDecoder(p.options.Decoder) }

// Ledger returns a consistent snapshot of the ledgers. It is safe for concurrent use.
func (p *Pipeline) Ledger() Ledger {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := Ledger{Source: p.source, Sinks: make(map[string]SinkLedger, len(p.routes)), Events: maps.Clone(p.events)}
	l.Source.Filtered = maps.Clone(l.Source.Filtered)
	for _, r := range p.routes {
		s := r.ledger
		s.NoEffect, s.RouteFiltered = maps.Clone(s.NoEffect), maps.Clone(s.RouteFiltered)
		l.Sinks[r.Name] = s
	}
	return l
}

// countPage adds a page to the ledger of the source. mu is held.
func (p *Pipeline) countPage(page *preparedPage) {
	s, n := &p.source, &page.source
	s.Read += n.Read
	s.Duplicate += n.Duplicate
	s.Unrouted += n.Unrouted
	s.Undecodable += n.Undecodable
	s.Routed += n.Routed
	page.drops.addTo(s.Filtered)
	page.events.addTo(p.events)
	p.newest = laterOf(p.newest, page.newest)
}
