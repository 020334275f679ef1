// Package replay has the commands replay and record. It also has the summary of a run, which the command consume
// prints, too.
//
// options.run opens the records and the stores, assembles the pipeline, and runs it with a progress bar (runPipeline).
// Read replay.go first, then run_summary.go. record_command.go is the command record.
package replay
