package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/contrib/propagators/autoprop"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/tablewake/tablewake/pipeline/config"
)

// Options are the options of [Start].
type Options struct {
	Pipeline string         // required: the pipeline's name, which is service.name unless OTEL_SERVICE_NAME is set
	Metrics  config.Metrics // the setting in the pipeline's file. Default: EMF on Lambda, else OTLP
	Lambda   bool           // the process is frozen between invocations, so only Flush and Shutdown export metrics
	Version  string         // service.version. Default: the version of the build's main module
	Writer   io.Writer      // receives EMF documents, one in each Write, and console exports. Default: os.Stdout
	Logger   *slog.Logger   // logs failed exports. Default: no log

	// Scrape is a second reader of the metrics, in addition to the exporter. It is not used if OTEL_SDK_DISABLED is
	// true. After Start, the meter provider owns Scrape. Default: none.
	Scrape sdkmetric.Reader

	// Patience is the longest time that a Flush or a Shutdown takes. Both also end if their context ends. Default: 10s,
	// but 2s on Lambda, because an invocation waits for Flush.
	Patience time.Duration

	// Environ returns a variable of the environment. Default: os.Getenv. The SDK reads some variables itself (samplers,
	// batches, endpoints), always from the process.
	Environ func(name string) string
}

// Telemetry is the result of [Start]. It is safe for concurrent use.
type Telemetry struct {
	Tracer     trace.TracerProvider          // never nil
	Meter      metric.MeterProvider          // never nil
	Propagator propagation.TextMapPropagator // OTEL_PROPAGATORS. Default: W3C's headers; on Lambda, X-Ray's header, too

	pipeline string
	patience time.Duration
	metrics  string // description of the destination
	measured bool   // metrics are exported or scraped
	traces   string
	flush    []func(context.Context) error
	shutdown []func(context.Context) error
}

// withDefaults returns the options with their defaults, and with a Writer that is safe for concurrent use.
func (o Options) withDefaults() Options {
	if o.Environ == nil {
		o.Environ = os.Getenv
	}
	o.Writer = &lockedWriter{w: cmp.Or[io.Writer](o.Writer, os.Stdout)}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Lambda {
		o.Patience = cmp.Or(o.Patience, 2*time.Second)
	}
	o.Patience = cmp.Or(o.Patience, 10*time.Second)
	return o
}

// Start sets up the exporters that o and the environment variables choose, and starts them. The error names the wrong
// variable. Start makes no call, except to the task's metadata on ECS, for at most a second.
func Start(ctx context.Context, o Options) (*Telemetry, error) {
	if o.Pipeline == "" {
		return nil, errors.New("telemetry: Options.Pipeline is empty: give the pipeline's name")
	}
	o = o.withDefaults()
	t := &Telemetry{
		Tracer: tracenoop.NewTracerProvider(), Meter: metricnoop.NewMeterProvider(),
		Propagator: propagation.NewCompositeTextMapPropagator(),
		pipeline:   o.Pipeline, metrics: nowhere, traces: nowhere, patience: o.Patience,
	}
	if strings.EqualFold(o.Environ("OTEL_SDK_DISABLED"), "true") {
		return t, nil
	}
	var err error
	if t.Propagator, err = propagator(o); err != nil {
		return nil, err
	}
	e := exporters{o}
	spans, traces, err := e.spanExporter(ctx)
	if err != nil {
		return nil, err
	}
	reader, metrics, err := e.metricReader(ctx)
	if err != nil {
		return nil, err
	}
	if spans == nil && reader == nil && o.Scrape == nil {
		return t, nil
	}
	res := detect(ctx, o)
	if reader != nil || o.Scrape != nil {
		t.measure(res, reader, metrics, o.Scrape)
	}
	if spans != nil {
		t.trace(res, spans, traces)
	}
	return t, nil
}

// trace sets a tracer provider. destination describes where spans exports to.
func (t *Telemetry) trace(res *resource.Resource, spans sdktrace.SpanExporter, destination string) {
	p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(spans), sdktrace.WithResource(res))
	t.Tracer, t.traces = p, destination
	t.flush, t.shutdown = append(t.flush, p.ForceFlush), append(t.shutdown, p.Shutdown)
}

// measure sets a meter provider with the readers that are not nil. destination describes where reader exports to.
func (t *Telemetry) measure(
	res *resource.Resource, reader flushableReader, destination string, scrape sdkmetric.Reader,
) {
	opts := []sdkmetric.Option{sdkmetric.WithResource(res)}
	if reader != nil {
		opts = append(opts, sdkmetric.WithReader(reader))
		t.metrics, t.flush = destination, append(t.flush, reader.flush)
	}
	if scrape != nil {
		opts = append(opts, sdkmetric.WithReader(scrape))
	}
	p := sdkmetric.NewMeterProvider(opts...)
	t.Meter, t.measured, t.shutdown = p, true, append(t.shutdown, p.Shutdown)
}

// nowhere describes the destination of spans or metrics that are not exported.
const nowhere = "none"

// propagator returns the propagators that OTEL_PROPAGATORS names, or the default ones.
func propagator(o Options) (propagation.TextMapPropagator, error) {
	var names []string
	for name := range strings.SplitSeq(o.Environ("OTEL_PROPAGATORS"), ",") {
		name = strings.TrimSpace(name)
		if name != "" {
			names = append(names, name)
		}
	}
	switch {
	case len(names) == 0 && o.Lambda:
		names = []string{"xray", "tracecontext", "baggage"} // a later propagator overrides an earlier one
	case len(names) == 0:
		names = []string{"tracecontext", "baggage"}
	}
	p, err := autoprop.TextMapPropagator(names...)
	if err != nil {
		return nil, fmt.Errorf(
			"telemetry: OTEL_PROPAGATORS: %w: it takes tracecontext, baggage, xray, b3, b3multi, jaeger, ottrace and none", err)
	}
	return p, nil
}

// Enabled reports whether spans or metrics are exported. A scrape is not an export.
func (t *Telemetry) Enabled() bool { return t.metrics != nowhere || t.traces != nowhere }

// String names the destinations, as in "metrics by otlp (http/protobuf), traces none".
func (t *Telemetry) String() string {
	return fmt.Sprintf("metrics %s, traces %s", t.metrics, t.traces)
}

// Flush exports spans and metrics. It blocks until they are exported, ctx ends, or Options.Patience is over. A Lambda
// function must call Flush before each answer, because after the answer Lambda may freeze the process forever.
func (t *Telemetry) Flush(ctx context.Context) error { return t.all(ctx, t.flush) }

// Shutdown exports spans and metrics, and stops the exporters. It has the same time limits as Flush. Call it once,
// after the pipeline has ended.
func (t *Telemetry) Shutdown(ctx context.Context) error { return t.all(ctx, t.shutdown) }

// all calls the functions for spans and for metrics concurrently, so that a slow collector of one does not delay the
// other.
func (t *Telemetry) all(ctx context.Context, functions []func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, t.patience)
	defer cancel()
	errs := make([]error, len(functions))
	var wg sync.WaitGroup
	for i, f := range functions {
		wg.Go(func() { errs[i] = f(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// lockedWriter lets the exporters of spans and of metrics share a writer.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

// Write implements [io.Writer].
func (o *lockedWriter) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.w.Write(p)
}
