package pipeline

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// Options describe a pipeline.
type Options struct {
	Name      string          // required: keeps state and fingerprints apart, and names own writes
	Filters   []Filter        // in order, at the source. Default: none
	Detectors []NamedDetector // in order. Default: none
	Routes    []Route         // at least one

	DeadLetters DeadLetters // Default: none; a permanent failure then blocks its key

	Workers     int   // pages prepared at once. Default: GOMAXPROCS
	MaxBytes    int64 // bytes of pages in flight. Default: 64 MiB
	MaxChanges  int   // changes in flight. Default: 50,000
	Backoff     Backoff
	Logger      *slog.Logger         // Default: discards
	Tracer      trace.TracerProvider // Default: the global provider
	Meter       metric.MeterProvider // Default: the global provider
	StopTimeout time.Duration        // how long a soft stop drains before it turns hard. Default: 30s
}

// NamedDetector is a detector with the name that its events carry.
type NamedDetector struct {
	Name string
	Detector
}

// Route is the way to one sink.
type Route struct {
	Name        string
	Sink        Sink
	Filters     []Filter // of this route alone, after the source's. Default: none
	NeedsEvents bool     // a detector's error is this route's too
	Concurrency int      // Writes in flight. Default: 4
	Batch       Batch
	Rate        float64 // deliveries a second. Default (0): unlimited
}

// Batch bounds one Write. A Write starts when any bound is reached, when the source
// ends or stops, or when the pipeline's own bounds are.
type Batch struct {
	Count  int           // deliveries. Default: 500
	Bytes  int64         // raw bytes of records. Default: 4 MiB
	Linger time.Duration // how long a started batch waits to fill while a writer is free. Default (0): not at all
}

// Backoff spaces retries: full jitter between 0 and min(Max, Base << attempt), never less than the server's wait.
type Backoff struct {
	Base time.Duration // Default: 100ms
	Max  time.Duration // Default: 30s
}

// Pipeline runs changes through filters and detectors to sinks.
type Pipeline struct{}

// New checks the options and makes a pipeline.
func New(o Options) (*Pipeline, error) { panic("runner") }

// Run reads src until it ends (io.EOF) or ctx is done, delivers, and commits
// what is finished; c may be nil. It returns when everything read is finished
// (soft stop) or StopTimeout passed (hard stop). One Run at a time.
func (p *Pipeline) Run(ctx context.Context, src Source, c Committer) error { panic("runner") }

// Ledger is a consistent snapshot of both ledgers; it may be called at any time.
func (p *Pipeline) Ledger() Ledger { panic("runner") }

// Explain tells what the pipeline would do with one change, without doing it.
func (p *Pipeline) Explain(c *Change) Explanation { panic("runner") }
