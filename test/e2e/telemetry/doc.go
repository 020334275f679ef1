// Package telemetry runs the built programs with a real OpenTelemetry collector, and checks what the collector
// received.
package telemetry
