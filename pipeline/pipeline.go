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
	MaxBytes    int64 // bytes of pages in flight. Default: 32 MiB
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
	Suppress    string  // plan every delivery and write none: its outcome is Suppressed, for this reason ("replay"). Default (""): write
}

// Batch bounds one Write: a batch is full when it has Count deliveries, or when the
// next one would pass Bytes. A single larger delivery passes alone.
//
// A free writer takes what is there at once. With Linger, it waits that long for
// the batch to be full; with Fill and no Linger it waits without a limit. Either
// wait also ends when the source ends or stops, and when the pipeline is at its
// bounds and nothing else can move.
//
// With Fill, no Linger, Concurrency 1 and a sink that is a [KeyOrderer], batches
// are cut by the input alone: as long as no delivery fails, replaying the same pages brings
// the same batches in the order of the source, however fast either side is.
type Batch struct {
	Count  int           // deliveries. Default: 500
	Bytes  int64         // raw bytes of records. Default: 4 MiB
	Linger time.Duration // from the first delivery waiting. Default (0): see Fill
	Fill   bool          // write full batches only. Default: write what is there
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

// Run reads src until it ends (io.EOF), fails, or ctx is done, delivers what was
// read, and commits what is finished; c may be nil. One Run at a time.
//
// The end of the source is waited out: Run returns when everything read is
// finished, however long retries take. When ctx is done it stops softly: it does
// the same, for at most StopTimeout, then stops hard. It returns nil after the end
// and after a soft stop, the source's error when that ended the run, a
// *[StopError] after a hard stop, and at once an error marked with Fatal.
func (p *Pipeline) Run(ctx context.Context, src Source, c Committer) error { panic("runner") }

// Stop stops a Run softly, and hard when ctx is done, and waits until it has
// returned. Without a Run it does nothing.
func (p *Pipeline) Stop(ctx context.Context) { panic("runner") }

// Ledger is a consistent snapshot of both ledgers; it may be called at any time.
func (p *Pipeline) Ledger() Ledger { panic("runner") }

// Explain tells what the pipeline would do with one change, without doing it.
func (p *Pipeline) Explain(c *Change) Explanation { panic("runner") }
