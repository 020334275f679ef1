// Package telemetry holds the names of metrics and spans against each other: what a
// pipeline, a consumer, a handler and calls of AWS emit, what METRICS.md says of it, and what
// dashboards and alarms ask for.
package telemetry
