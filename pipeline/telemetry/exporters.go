package telemetry

import (
	"context"
	"fmt"
	"strings"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/exporters/stdout/stdoutmetric"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
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
// spans are not exported.
func (e exporters) spanExporter(ctx context.Context) (sdktrace.SpanExporter, string, error) {
	logged := func(x sdktrace.SpanExporter, err error) (sdktrace.SpanExporter, error) {
		return loggedSpans{x, &failureLog{log: e.Logger, exporter: "spans"}}, err
	}
	return newExporter(e, "TRACES", "spans",
		func() (sdktrace.SpanExporter, error) { return stdouttrace.New(stdouttrace.WithWriter(e.Writer)) },
		func() (sdktrace.SpanExporter, error) { return logged(otlptracegrpc.New(ctx)) },
		func() (sdktrace.SpanExporter, error) { return logged(otlptracehttp.New(ctx)) })
}

// metricReader returns the reader that exports metrics, and a description of its destination for a log. The reader is
// nil if metrics are not exported.
func (e exporters) metricReader(ctx context.Context) (flushableReader, string, error) {
	x, destination, err := e.metricExporter(ctx)
	if err != nil || x == nil {
		return nil, destination, err
	}
	logged := loggedMetrics{x, &failureLog{log: e.Logger, exporter: "metrics"}}
	if e.Lambda {
		return newManual(logged), destination, nil
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
	switch kind := strings.ToLower(strings.TrimSpace(e.Environ(name))); {
	case kind == "console":
		x, err = console()
		return x, "on the console", err
	case kind == "none", kind == "" && !hasEndpoint:
		return x, nowhere, nil
	case kind != "otlp" && kind != "":
		return x, "", fmt.Errorf("telemetry: %s is %q: it takes otlp, console or none", name, kind)
	}
	protocol, err := e.protocol(signal)
	if err != nil {
		return x, "", err
	}
	if protocol == "grpc" {
		x, err = grpc()
	} else {
		x, err = http()
	}
	if err != nil {
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
