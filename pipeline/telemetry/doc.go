// Package telemetry sets up OpenTelemetry for a pipeline: the exporters of its spans and metrics, the resource that
// describes the process, and the instrumentation of calls to AWS.
//
// It reads the standard variables of OpenTelemetry's specification: OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES,
// OTEL_SDK_DISABLED, OTEL_PROPAGATORS, OTEL_TRACES_SAMPLER, OTEL_BSP_*, OTEL_METRIC_EXPORT_INTERVAL,
// OTEL_EXPORTER_OTLP_* with the protocols grpc and http/protobuf, and OTEL_TRACES_EXPORTER and OTEL_METRICS_EXPORTER
// with otlp, console and none.
//
// One default differs. The specification assumes a collector on localhost. This package exports by OTLP only if a
// variable names an endpoint or otlp, so that a program without settings is silent.
//
// On Lambda, metrics are documents of CloudWatch's embedded metric format, unless the pipeline's file names another
// exporter. Spans use OTLP on Lambda, too.
//
// An export never stops a pipeline. A failed export is logged, at most once a minute, and [Telemetry.Flush] and
// [Telemetry.Shutdown] are bounded. The package uses no global of OpenTelemetry, so callers pass the providers of
// [Telemetry] on.
//
// [Options.Scrape] adds a second reader of the metrics, such as the reader of package prometheus for GET /metrics.
//
// METRICS.md lists every metric and span, and what to watch.
package telemetry
