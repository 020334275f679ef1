package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/exporters/stdout/stdoutmetric"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/telemetry/emf"
)

// exporters makes the exporters that the options and the environment variables choose.
//
// The contrib module autoexport reads the same variables and more. This package does not use it, because it links
// Prometheus' client, a server and exporters of logs. A Lambda function would load these 2 MB for nothing.
type exporters struct{ Options }

// spanExporter returns the exporter of spans, and a description of its destination for a log. The exporter is nil if
// spans are not exported. OTLP's exporters log their failures. The console's exporter returns its errors.
func (e exporters) spanExporter(ctx context.Context) (sdktrace.SpanExporter, string, error) {
	withLog := func(x sdktrace.SpanExporter, err error) (sdktrace.SpanExporter, error) {
		return loggedSpans{x, &failureLog{log: e.Logger, signal: "spans"}}, err
	}
	return newExporter(e, "TRACES", "spans",
		func() (sdktrace.SpanExporter, error) { return stdouttrace.New(stdouttrace.WithWriter(e.Writer)) },
		func() (sdktrace.SpanExporter, error) { return withLog(otlptracegrpc.New(ctx)) },
		func() (sdktrace.SpanExporter, error) { return withLog(otlptracehttp.New(ctx)) })
}

// metricReader returns the reader that exports metrics, and a description of its destination for a log. The reader is
// nil if metrics are not exported.
func (e exporters) metricReader(ctx context.Context) (flushableReader, string, error) {
	x, destination, err := e.metricExporter(ctx)
	if err != nil || x == nil {
		return nil, destination, err
	}
	logged := loggedMetrics{x, &failureLog{log: e.Logger, signal: "metrics"}}
	if e.Lambda {
		return newManualReader(logged), destination, nil
	}
	return periodicReader{sdkmetric.NewPeriodicReader(logged)}, destination, nil
}

func (e exporters) metricExporter(ctx context.Context) (sdkmetric.Exporter, string, error) {
	switch {
	case e.Metrics == config.MetricsNone:
		return nil, nowhere, nil
	case e.Metrics == config.MetricsEMF, e.Metrics == config.MetricsDefault && e.Lambda:
		x, err := emf.New(emf.Options{Writer: e.Writer, Pipeline: e.Pipeline})
		return x, "as EMF", err
	}
	return newExporter(e, "METRICS", "metrics",
		func() (sdkmetric.Exporter, error) { return stdoutmetric.New(stdoutmetric.WithWriter(e.Writer)) },
		func() (sdkmetric.Exporter, error) { return otlpmetricgrpc.New(ctx) },
		func() (sdkmetric.Exporter, error) { return otlpmetrichttp.New(ctx) })
}

// newExporter returns the exporter that the environment variables choose for a signal, TRACES or METRICS. destination
// describes where it exports to, for a log. The exporter is nil if the variable of the exporter is "none", or if no
// variable names an endpoint or an exporter. signalWord is the word for the signal in errors, such as "spans".
func newExporter[X any](
	e exporters, signal, signalWord string, console, grpc, http func() (X, error),
) (x X, destination string, err error) {
	name := "OTEL_" + signal + "_EXPORTER"
	hasEndpoint := e.Environ("OTEL_EXPORTER_OTLP_ENDPOINT") != "" ||
		e.Environ("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != ""
	kind := strings.ToLower(strings.TrimSpace(e.Environ(name)))
	if kind == "" && hasEndpoint {
		kind = "otlp"
	}
	switch kind {
	case "console":
		x, err = console()
		return x, "on the console", err
	case "none", "":
		return x, nowhere, nil
	case "otlp":
	default:
		return x, "", fmt.Errorf("telemetry: %s is %q: it takes otlp, console or none", name, kind)
	}
	protocol, err := e.protocol(signal)
	if err != nil {
		return x, "", err
	}
	newOTLP := http
	if protocol == "grpc" {
		newOTLP = grpc
	}
	if x, err = newOTLP(); err != nil {
		return x, "", fmt.Errorf("telemetry: OTLP exporter of %s: %w", signalWord, err)
	}
	return x, "by otlp (" + protocol + ")", nil
}

// protocol returns OTLP's protocol for a signal, http/protobuf by default.
func (e exporters) protocol(signal string) (string, error) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_" + signal + "_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		switch p := strings.TrimSpace(e.Environ(name)); p {
		case "grpc", "http/protobuf":
			return p, nil
		case "":
		default:
			return "", fmt.Errorf("telemetry: %s is %q: it takes grpc or http/protobuf", name, p)
		}
	}
	return "http/protobuf", nil
}

// logEvery is the shortest time between two log lines about the same signal, spans or metrics.
const logEvery = time.Minute

// failureLog logs failed exports, at most one line in logEvery. An exporter that uses it reports no errors, because a
// pipeline must also run without its collector.
type failureLog struct {
	log    *slog.Logger
	signal string // spans or metrics

	mu     sync.Mutex
	last   time.Time // time of the last line
	failed int       // failures since the last line, including those that are not logged
}

func (l *failureLog) logFailure(ctx context.Context, err error) {
	if err == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed++
	if !l.last.IsZero() && time.Since(l.last) < logEvery {
		return
	}
	l.log.WarnContext(ctx, l.signal+" are not exported", "exports", l.failed, "error", err)
	l.last, l.failed = time.Now(), 0
}

type loggedSpans struct {
	sdktrace.SpanExporter
	*failureLog
}

func (l loggedSpans) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	l.logFailure(ctx, l.SpanExporter.ExportSpans(ctx, spans))
	return nil
}

type loggedMetrics struct {
	sdkmetric.Exporter
	*failureLog
}

func (l loggedMetrics) Export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	l.logFailure(ctx, l.Exporter.Export(ctx, rm))
	return nil
}

// flushableReader is a reader of metrics that can export at once.
type flushableReader interface {
	sdkmetric.Reader
	flush(context.Context) error
}

// periodicReader exports once in each OTEL_METRIC_EXPORT_INTERVAL (60 s by default), and in flush.
type periodicReader struct{ *sdkmetric.PeriodicReader }

func (p periodicReader) flush(ctx context.Context) error { return p.ForceFlush(ctx) }

// manualReader exports only in flush and Shutdown. It has no timer, because Lambda freezes the process, and a timer in
// a frozen process fires at the wrong time or never.
type manualReader struct {
	*sdkmetric.ManualReader
	exporter sdkmetric.Exporter

	mu   sync.Mutex
	data metricdata.ResourceMetrics // reused memory
}

func newManualReader(x sdkmetric.Exporter) *manualReader {
	return &manualReader{exporter: x, ManualReader: sdkmetric.NewManualReader(
		sdkmetric.WithTemporalitySelector(x.Temporality), sdkmetric.WithAggregationSelector(x.Aggregation))}
}

// flush exports the metrics. If ctx is done, flush collects nothing, so that the next flush exports everything.
//
// What a failed export loses depends on the temporality of the exporter:
//
//   - OTLP is cumulative by default. The SDK keeps the totals, so the next export has the lost values too.
//   - If OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE is delta, OTLP's client retries within ctx. Then the values
//     are lost. flush does not send them again, because those that did arrive would count twice.
//   - EMF is delta, too, but its exporter does not fail if ctx ends.
func (m *manualReader) flush(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return m.export(ctx)
}

// export collects the metrics, even if ctx is done, and passes them to the exporter.
func (m *manualReader) export(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.data.ScopeMetrics = m.data.ScopeMetrics[:0]
	err := m.Collect(context.WithoutCancel(ctx), &m.data)
	if err != nil && len(m.data.ScopeMetrics) == 0 {
		return err
	}
	return errors.Join(err, m.exporter.Export(ctx, &m.data)) // if a callback failed, other metrics are still exported
}

// Shutdown exports the metrics and stops the exporter. It collects them even if ctx is done, because no other export
// follows. EMF's exporter then still writes them, but OTLP's exporter fails.
func (m *manualReader) Shutdown(ctx context.Context) error {
	return errors.Join(m.export(ctx), m.ManualReader.Shutdown(ctx), m.exporter.Shutdown(ctx))
}
