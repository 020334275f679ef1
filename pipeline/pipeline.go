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
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/tablewake/tablewake/pipeline/record"
)

// Options describe a pipeline.
type Options struct {
	Name      string          // required: keeps state and fingerprints apart, and names own writes
	Filters   []Filter        // in order, at the source. Default: none
	Detectors []NamedDetector // in order. Default: none
	Routes    []Route         // at least one

	Decoder record.DecoderOptions // how the records of its tables become changes; see Pipeline.Decoder. Default: the zero options

	// Accept is asked of every change before anything else is. Its error ends the run as one marked with Fatal does:
	// the source is another one than the pipeline is made for. Default: all are accepted
	Accept func(c *record.Change) error

	DeadLetters DeadLetters // Default: none; a permanent failure then blocks its key

	// MaxHold is how long a change may fail and be tried again before it is given up to dead letters, with its key
	// quarantined where there is a Quarantine. It counts from the record's creation where Live is set, and from the
	// first try where not. Default (0): without end. It needs DeadLetters.
	MaxHold    time.Duration
	Live       bool       // the source is a stream that is read as it is written, not a replay: no batch waits longer than MaxLinger
	Quarantine Quarantine // Default: none; behind a change that was given up its key goes on. It needs DeadLetters

	Workers     int                  // pages prepared at once. Default: GOMAXPROCS
	MaxBytes    int64                // bytes of pages in flight. Default: 32 MiB
	MaxChanges  int                  // changes in flight. Default: 50,000
	MaxPacked   int64                // bytes of what waits for batches of a [SortedWriter] to fill, compressed. Default: MaxBytes
	Backoff     Backoff              // between the tries of what failed. Default: that of Backoff
	Logger      *slog.Logger         // Default: discards
	See         func(Failure) string // the command that shows more of a failure, which its line in the log has. Default: none
	Tracer      trace.TracerProvider // Default: the global provider
	Meter       metric.MeterProvider // Default: the global provider
	StopTimeout time.Duration        // how long a soft stop drains before it turns hard. Default: 30s
}

// Failure is what the log has a line of.
type Failure struct {
	Sink   string // "" where it is of none
	Letter bool   // there are dead letters of it; else it is tried again
}

// NamedDetector is a detector with the name that its events carry.
type NamedDetector struct {
	Name string
	Detector
}

// Pipeline runs changes through filters and detectors to sinks.
type Pipeline struct {
	o             Options
	log           *slog.Logger
	filters       []filterStage
	detectors     []detectorStage
	routes        []*route
	needs         requirements
	ignoresEvents bool         // no sink looks at events
	seed          maphash.Seed // of the hashes of keys
	tel           *telemetry
	patience      struct{ deadLetters, quarantineRead, quarantineWrite, commit Patience }

	// mu guards what follows, the ledgers of the routes, and all that changes in a run; see run.on.
	mu     sync.Mutex
	run    *run          // nil between runs
	ended  chan struct{} // closed when run has returned
	source SourceLedger
	events map[string]int64
	newest newestTime // read
}

// New checks the options and makes a pipeline.
func New(o Options) (*Pipeline, error) {
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("pipeline: %w", err)
	}
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	o.MaxBytes = cmp.Or(o.MaxBytes, 32<<20)
	o.MaxChanges = cmp.Or(o.MaxChanges, 50_000)
	o.MaxPacked = cmp.Or(o.MaxPacked, o.MaxBytes)
	o.StopTimeout = cmp.Or(o.StopTimeout, 30*time.Second)
	o.Backoff = o.Backoff.withDefaults()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Tracer == nil {
		o.Tracer = otel.GetTracerProvider()
	}
	if o.Meter == nil {
		o.Meter = otel.GetMeterProvider()
	}
	p := &Pipeline{
		o: o, log: o.Logger.With(slog.String("pipeline", o.Name)),
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
		r := newRoute(rt, o.DeadLetters != nil)
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

// check names the first option that is missing or out of range.
func (o *Options) check() error {
	if o.Name == "" {
		return errors.New("Options.Name is empty")
	}
	if len(o.Routes) == 0 {
		return errors.New("Options.Routes is empty: a pipeline has at least one route")
	}
	if o.Workers < 0 || o.MaxBytes < 0 || o.MaxChanges < 0 || o.MaxPacked < 0 || o.StopTimeout < 0 || o.Backoff.Base < 0 || o.Backoff.Max < 0 {
		return errors.New("Options: Workers, MaxBytes, MaxChanges, MaxPacked, StopTimeout and Backoff must not be negative")
	}
	if o.MaxHold < 0 || (o.MaxHold > 0 || o.Quarantine != nil) && o.DeadLetters == nil {
		return errors.New("Options: MaxHold must not be negative, and MaxHold and Quarantine need DeadLetters, which keep what is given up")
	}
	for i, f := range o.Filters {
		if f == nil {
			return fmt.Errorf("Options.Filters[%d] is nil", i)
		}
	}
	detectors := map[string]bool{}
	for i, d := range o.Detectors {
		if d.Name == "" || d.Detector == nil {
			return fmt.Errorf("Options.Detectors[%d] needs a Name and a Detector", i)
		}
		if detectors[d.Name] {
			return fmt.Errorf("Options.Detectors[%d]: the name %q is taken", i, d.Name)
		}
		detectors[d.Name] = true
	}
	routes := map[string]bool{}
	for i, r := range o.Routes {
		if r.Name == "" || r.Sink == nil {
			return fmt.Errorf("Options.Routes[%d] needs a Name and a Sink", i)
		}
		if routes[r.Name] {
			return fmt.Errorf("Options.Routes[%d]: the name %q is taken", i, r.Name)
		}
		routes[r.Name] = true
		if r.Concurrency < 0 || r.Rate < 0 || r.Batch.Count < 0 || r.Batch.Bytes < 0 || r.Batch.Linger < 0 {
			return fmt.Errorf("route %q: Concurrency, Rate, Batch.Count, Batch.Bytes and Batch.Linger must not be negative", r.Name)
		}
		if b := r.Batch; o.Live && (b.Linger > MaxLinger || b.Fill && b.Linger == 0) {
			return fmt.Errorf("route %q: a batch of a Live pipeline waits for %v at most: set Batch.Linger", r.Name, MaxLinger)
		}
		for k, f := range r.Filters {
			if f == nil {
				return fmt.Errorf("route %q: Filters[%d] is nil", r.Name, k)
			}
		}
	}
	return nil
}

// Run reads src until it ends (io.EOF), fails, or ctx is done, delivers what was read, and commits what is finished; c
// may be nil. One Run at a time.
//
// The end of the source is waited out, and so is its error: Run returns when everything read is finished, however long
// retries take. When ctx is done it stops softly: it does the same, for at most StopTimeout, then stops hard. So does
// an error of a source that is [Controlled], because others wait for what it has. Run returns nil after the end and
// after a soft stop, the source's error when that ended the run, a *[StopError] after a hard stop (joined with the
// source's error), and at once an error marked with Fatal.
func (p *Pipeline) Run(ctx context.Context, src Source, c Committer) error {
	p.mu.Lock()
	if p.run != nil {
		p.mu.Unlock()
		return errs.Errorf("pipeline %q is running: one Run at a time", p.o.Name)
	}
	for _, rt := range p.routes {
		rt.ledger.revokePending()
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

// Name is Options.Name.
func (p *Pipeline) Name() string { return p.o.Name }

// Decoder is a decoder with Options.Decoder, for a source that is handed records and knows nothing of the tables that
// they are of.
func (p *Pipeline) Decoder() *record.Decoder { return record.NewDecoder(p.o.Decoder) }

// Ledger is a consistent snapshot of both ledgers; it may be called at any time.
func (p *Pipeline) Ledger() Ledger {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := Ledger{Source: p.source.clone(), Sinks: make(map[string]SinkLedger, len(p.routes)), Events: maps.Clone(p.events)}
	for _, r := range p.routes {
		l.Sinks[r.Name] = r.ledger.clone()
	}
	return l
}

// countPage adds a page to the source's ledger. mu is held.
func (p *Pipeline) countPage(prep *preparedPage) {
	s, n := &p.source, &prep.source
	s.Read += n.Read
	s.Duplicate += n.Duplicate
	s.Unrouted += n.Unrouted
	s.Undecodable += n.Undecodable
	s.Routed += n.Routed
	prep.drops.addTo(s.Filtered)
	prep.events.addTo(p.events)
	p.newest.update(prep.newest)
}
