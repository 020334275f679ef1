// Package telemetry compares the names of metrics and spans: those that a pipeline, a consumer, a handler and calls of
// AWS emit, those in METRICS.md, and those that dashboards and alarms query.
package telemetry
