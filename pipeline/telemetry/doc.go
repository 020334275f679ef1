// Package telemetry sets OpenTelemetry up for a pipeline: where its spans and metrics
// go, what they say of the process, and what is seen of its calls to AWS.
//
// It reads the standard variables, as OpenTelemetry's specification has them:
// OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_SDK_DISABLED, OTEL_PROPAGATORS,
// OTEL_TRACES_SAMPLER, OTEL_BSP_*, OTEL_METRIC_EXPORT_INTERVAL, OTEL_EXPORTER_OTLP_* with the
// protocols grpc and http/protobuf, and OTEL_TRACES_EXPORTER and OTEL_METRICS_EXPORTER with
// otlp, console and none. One thing differs: nothing is sent to the collector that
// the specification supposes on localhost unless a variable says where one is, or asks for
// otlp by name. A program that nobody set up is silent.
//
// On Lambda metrics are documents of CloudWatch's embedded metric format unless the
// pipeline's file says otherwise; spans go to OTLP there too.
//
// What is exported never stops a pipeline: an export that fails is logged, once a
// minute at most, and [Telemetry.Flush] and [Telemetry.Shutdown] are bounded. No global of
// OpenTelemetry is read or set: the providers are handed on.
//
// Every metric and span, and what to watch, stands in METRICS.md.
package telemetry
