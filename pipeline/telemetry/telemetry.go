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
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/tablewake/tablewake/pipeline/config"
)

// Options say what is set up.
type Options struct {
	Pipeline string         // required: its name, which is service.name unless OTEL_SERVICE_NAME says otherwise
	Metrics  config.Metrics // as the pipeline's file says. Default: EMF on Lambda, else OTLP
	Lambda   bool           // the process is frozen between invocations: metrics are exported by Flush alone
	Version  string         // service.version. Default: the main module's, of the build
	Writer   io.Writer      // of EMF documents and of the console exporters; each document is one Write. Default: os.Stdout
	Logger   *slog.Logger   // of exports that fail. Default: discards

	// Patience bounds each Flush and Shutdown, beside their context. Default: 2s on
	// Lambda, where an invocation waits for it, else 10s.
	Patience time.Duration

	// Environ answers a variable of the environment. Default: os.Getenv. What the SDK reads by
	// itself (samplers, batches, endpoints) is of the process in any case.
	Environ func(name string) string
}

// Telemetry is OpenTelemetry as it was set up. It is safe for concurrent use.
type Telemetry struct {
	Tracer     trace.TracerProvider          // never nil
	Meter      metric.MeterProvider          // never nil
	Propagator propagation.TextMapPropagator // of OTEL_PROPAGATORS; on Lambda with X-Ray's header before W3C's by default

	pipeline string
	patience time.Duration
	metrics  string // where they go, in words
	traces   string
	flush    []func(context.Context) error
	shutdown []func(context.Context) error
}

// Start sets up what o and the environment ask for, and starts what exports it. The
// error names the variable that is wrong. It calls nothing but, on ECS, the task's
// metadata, for a second at the most.
func Start(ctx context.Context, o Options) (*Telemetry, error) {
	if o.Pipeline == "" {
		return nil, errors.New("telemetry: Options.Pipeline is empty: give the pipeline's name")
	}
	if o.Environ == nil {
		o.Environ = os.Getenv
	}
	if o.Writer == nil {
		o.Writer = os.Stdout
	}
	o.Writer = &oneByOne{w: o.Writer}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	t := &Telemetry{
		Tracer: tracenoop.NewTracerProvider(), Meter: metricnoop.NewMeterProvider(), Propagator: propagation.NewCompositeTextMapPropagator(),
		pipeline: o.Pipeline, metrics: nowhere, traces: nowhere,
		patience: cmp.Or(o.Patience, patience(o.Lambda)),
	}
	if strings.EqualFold(o.Environ("OTEL_SDK_DISABLED"), "true") {
		return t, nil
	}
	var err error
	if t.Propagator, err = propagator(o); err != nil {
		return nil, err
	}
	e := exporters{o}
	spans, traces, err := e.spans(ctx)
	if err != nil {
		return nil, err
	}
	reader, metrics, err := e.metrics(ctx)
	if err != nil {
		return nil, err
	}
	if spans == nil && reader == nil {
		return t, nil
	}
	res := detect(ctx, o)
	if reader != nil {
		p := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithResource(res))
		t.Meter, t.metrics = p, metrics
		t.flush, t.shutdown = append(t.flush, reader.flush), append(t.shutdown, p.Shutdown)
	}
	if spans != nil {
		p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(spans), sdktrace.WithResource(res))
		t.Tracer, t.traces = p, traces
		t.flush, t.shutdown = append(t.flush, p.ForceFlush), append(t.shutdown, p.Shutdown)
	}
	return t, nil
}

// nowhere is where spans or metrics go that nobody asked for.
const nowhere = "none"

func patience(lambda bool) time.Duration {
	if lambda {
		return 2 * time.Second
	}
	return 10 * time.Second
}

// propagator is what OTEL_PROPAGATORS names.
func propagator(o Options) (propagation.TextMapPropagator, error) {
	var names []string
	for name := range strings.SplitSeq(o.Environ("OTEL_PROPAGATORS"), ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	switch {
	case len(names) == 0 && o.Lambda:
		names = []string{"xray", "tracecontext", "baggage"} // what comes later wins where both are there
	case len(names) == 0:
		names = []string{"tracecontext", "baggage"}
	}
	p, err := autoprop.TextMapPropagator(names...)
	if err != nil {
		return nil, fmt.Errorf("telemetry: OTEL_PROPAGATORS: %w: it takes tracecontext, baggage, xray, b3, b3multi, jaeger, ottrace and none", err)
	}
	return p, nil
}

// Enabled tells whether anything goes anywhere.
func (t *Telemetry) Enabled() bool { return t.metrics != nowhere || t.traces != nowhere }

// String says where spans and metrics go: "metrics by otlp (http/protobuf), traces none".
func (t *Telemetry) String() string {
	return fmt.Sprintf("metrics %s, traces %s", t.metrics, t.traces)
}

// Flush exports what there is, and blocks until that is done, ctx is, or Options.Patience is
// over. On Lambda it is called before each reply: behind it the process may stand still
// for ever.
func (t *Telemetry) Flush(ctx context.Context) error { return t.all(ctx, t.flush) }

// Shutdown exports what there is and ends all; as Flush, it is bounded. It is called once,
// when the pipeline has ended.
func (t *Telemetry) Shutdown(ctx context.Context) error { return t.all(ctx, t.shutdown) }

// all does it for spans and metrics at once: one does not wait for the other's collector.
func (t *Telemetry) all(ctx context.Context, do []func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, t.patience)
	defer cancel()
	errs := make([]error, len(do))
	var wg sync.WaitGroup
	for i, f := range do {
		wg.Go(func() { errs[i] = f(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// oneByOne lets the exporters of both signals write.
type oneByOne struct {
	mu sync.Mutex
	w  io.Writer
}

// Write writes all of it, or fails.
func (o *oneByOne) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.w.Write(p)
}
