// Package backfill is the command backfill: it fills sinks with the existing items of a table, while the stream runs.
//
// The order of calls:
//
//   - options.run (backfill.go) checks the flags; selectSinks (sink_selection.go) finds the sinks and their run.
//     checkTypes (type_flag_check.go) compares --type with the conditions of the sinks.
//   - job.run (backfill_job.go) calls the rest. job.begin (backfill_start.go) stores the stage, the floor and the run
//     in the birth of each sink, so that every process writes the changes after the floor.
//   - job.openSource (backfill_source.go) opens the export, the scan, the items or the saved records, and stores the
//     state.Backfill; snapshot_choice.go and table_keys.go help. Files of items are read before job.begin.
//     export_request.go requests an export, and export_note.go stores which export that is. [snapshot.Source] stores
//     how far each part is read.
//   - job.fill runs a pipeline of these sinks over the source. job.lagWaiter pauses the reading while consumers are
//     behind the stream; package stream measures their lag.
//   - job.finish calls job.waitAndMakeLive (live_stage.go), which waits until every shard is read past the last read of
//     the source. Then job.finish prints the result.
//
// planned_run.go is --dry-run and --prepare; lambda_function_check.go checks a Lambda function.
package backfill
