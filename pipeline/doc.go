// Package pipeline turns the records of a DynamoDB stream into typed changes
// and carries each change, in order per item, to every sink that wants it.
//
// A [Change] owns its bytes: its images are ranges of one immutable page, so
// reading an attribute costs no allocation and a change may be kept for as long
// as its page may be. Filters drop changes with a counted reason, detectors
// raise events, and sinks write; [Pipeline] runs them all and keeps two ledgers
// that always balance.
//
// The package imports the standard library and the OpenTelemetry API, nothing
// else: sources, stores and codecs live in the packages around it.
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
//   - Records: decode.go, document.go, record.go and record_*.go, lines.go, kinesis.go, answer.go; the JSON below: scan.go and
//     scan_*.go, read.go, locate.go. What is like the record before: outline.go, scan_twin.go, scan_shape.go, took.go.
//   - A change: change.go, key.go, version.go, image.go, value.go, decimal.go, attrs.go, clone.go, equal.go, diff.go. To Go
//     values: unmarshal.go and unmarshal_*.go. Back to JSON: encode.go. Masks: mask.go and mask_*.go.
//   - Filters and detectors: conditions.go, comparison.go, presence.go, changed.go, transition.go, threshold.go, membership.go,
//     combine.go, keep.go, when.go, ttl.go, replication.go; their paths: path.go, pattern.go.
package pipeline
