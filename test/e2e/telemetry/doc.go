// Package telemetry runs the built program with a real OpenTelemetry collector, and asks what
// arrived there.
package telemetry
