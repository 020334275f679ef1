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

// exporters makes the exporters that the environment asks for.
//
// The contrib module autoexport reads the same variables and more. It is not used because it links
// Prometheus' client, a server and exporters of logs: 2 MB that a Lambda function would load for
// nothing.
type exporters struct{ Options }

// spans returns the exporter of spans and its destination in words; nil if there is none.
func (e exporters) spans(ctx context.Context) (_ sdktrace.SpanExporter, where string, err error) {
	kind, err := e.kind("TRACES")
	if err != nil || kind == nowhere {
		return nil, nowhere, err
	}
	if kind == "console" {
		x, err := stdouttrace.New(stdouttrace.WithWriter(e.Writer))
		return x, "on the console", err
	}
	protocol, err := e.protocol("TRACES")
	if err != nil {
		return nil, "", err
	}
	var x sdktrace.SpanExporter
	if protocol == "grpc" {
		x, err = otlptracegrpc.New(ctx)
	} else {
		x, err = otlptracehttp.New(ctx)
	}
	if err != nil {
		return nil, "", fmt.Errorf("telemetry: OTLP exporter of spans: %w", err)
	}
	return loggedSpans{x, &failureLog{log: e.Logger, what: "spans"}}, "by otlp (" + protocol + ")", nil
}

// metrics returns the reader of metrics and its destination in words; nil if there is none.
func (e exporters) metrics(ctx context.Context) (_ flusher, where string, err error) {
	x, where, err := e.metricExporter(ctx)
	if err != nil || x == nil {
		return nil, where, err
	}
	logged := loggedMetrics{x, &failureLog{log: e.Logger, what: "metrics"}}
	if e.Lambda {
		return newManual(logged), where, nil
	}
	return periodic{sdkmetric.NewPeriodicReader(logged)}, where, nil
}

func (e exporters) metricExporter(ctx context.Context) (_ sdkmetric.Exporter, where string, err error) {
	switch {
	case e.Metrics == config.MetricsNone:
		return nil, nowhere, nil
	case e.Metrics == config.MetricsEMF, e.Metrics == config.MetricsDefault && e.Lambda:
		x, err := emf.New(emf.Options{Writer: e.Writer, Pipeline: e.Pipeline})
		return x, "as EMF", err
	}
	kind, err := e.kind("METRICS")
	if err != nil || kind == nowhere {
		return nil, nowhere, err
	}
	if kind == "console" {
		x, err := stdoutmetric.New(stdoutmetric.WithWriter(e.Writer))
		return x, "on the console", err
	}
	protocol, err := e.protocol("METRICS")
	if err != nil {
		return nil, "", err
	}
	var x sdkmetric.Exporter
	if protocol == "grpc" {
		x, err = otlpmetricgrpc.New(ctx)
	} else {
		x, err = otlpmetrichttp.New(ctx)
	}
	if err != nil {
		return nil, "", fmt.Errorf("telemetry: OTLP exporter of metrics: %w", err)
	}
	return x, "by otlp (" + protocol + ")", nil
}

// kind returns the exporter of a signal (TRACES, METRICS): otlp, console or none. It is none if no
// variable names an endpoint or an exporter.
func (e exporters) kind(signal string) (string, error) {
	name := "OTEL_" + signal + "_EXPORTER"
	switch kind := strings.ToLower(strings.TrimSpace(e.Environ(name))); kind {
	case "otlp", "console", "none":
		return kind, nil
	case "":
		if e.Environ("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || e.Environ("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != "" {
			return "otlp", nil
		}
		return nowhere, nil
	default:
		return "", fmt.Errorf("telemetry: %s is %q: it takes otlp, console or none", name, kind)
	}
}

// protocol returns OTLP's protocol for a signal.
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
