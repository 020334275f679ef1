// Package consume is the command consume: a consumer of a table's stream.
//
// options.run starts the health endpoint, opens the stream, leases and stores (openResources), assembles the pipeline
// and runs a consumerRun until a stop. Goroutines run beside the pipeline. consumerRun.watch ends a run that is idle,
// and consumerRun.noteHeldBack stores notes for `status`. With on_gap: repair, a gapRepair repairs the sinks. Read
// consume.go first, then consumer_run.go.
package consume
