// Package pipeline carries the changes of a DynamoDB stream, in order per item, to every sink that wants them.
//
// A [Source] reads pages of changes ([record.Change]). Filters drop changes with a counted reason, detectors raise
// events, and sinks write. [Pipeline.Run] runs them all and keeps two ledgers that always balance.
//
// The package imports the standard library and the OpenTelemetry API, and nothing else. Sources, stores and codecs are
// in the packages around it.
//
// Where to find what:
//   - Interfaces: source.go, sink.go, filter.go, detector.go, control.go (what a source asks of its run), quarantine.go,
//     deadletter.go, route.go. Options and the pipeline itself: pipeline.go.
//   - A run: run.go (reading and preparing), step.go (steps under the lock), partition.go (states, commits), watermark.go,
//     bounds.go and pressure.go (memory), revoke.go (what Control asks), stop.go, undecodable.go.
//   - One sink: scheduler.go (what starts), lanes.go and laneset.go (order per key), batch.go (calls of a Write), sorted.go
//     and pack.go (packed batches), settle.go (results), retry.go, patience.go, dead_letter_queue.go.
//   - What it reports: ledger.go, telemetry.go, health.go, sinkstate.go, heldback.go, heldback_log.go, retrylog.go, logtext.go.
//   - A page's changes: prepare.go (filters, detectors, plans), plan_arena.go, explain.go, redeliver.go, requires.go, tracker.go.
//
// The packages below it, from the bottom up: redact (texts of errors without data), decimal, internal/ddbjson (the
// scanner), item (images, values, keys, paths), record (changes and their decoding), unmarshal (Go structs), rules
// (filters and detectors), mask.
package pipeline
