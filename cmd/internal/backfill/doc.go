// Package backfill is the command backfill: it fills sinks with the existing items of a table, while the stream runs.
//
// # A run
//
// A run fills a set of sinks from one source. Its narrowing is a part of the source. The rules of runs are:
//
//   - The state stores the [state.Backfill] of a run, with its sinks and its source, before the run writes anything. It
//     does so for every kind of source. The birth of each sink names the run.
//   - Whoever stores the backfill of a run first decides what the run is. A process that finds another one stored
//     writes nothing.
//   - A command continues a stored run only if it names the sinks and the source of the run, in every stage. Otherwise
//     it is refused.
//   - A sink leaves a stored run when the run makes it live, or when the narrowing of the run has selected no item for
//     the sink. Then nothing is written in the sink.
//   - A run that is not stored has written nothing. So another command may take its sinks, and --none may make them
//     live. That command first stores that the run is abandoned. A process of the run may be waiting for its floor or
//     its export: it finds this, and ends.
//
// A run that reads an archive has no parts: a command that continues it reads the archive from the start. The versions
// make that harmless.
//
// # The order of calls
//
//   - options.run (backfill.go) checks the flags; selectSinks (sink_selection.go) finds the sinks and their run.
//     checkTypes (type_flag_check.go) compares --type with the conditions of the sinks.
//   - job.run (backfill_job.go) calls the rest. job.begin (backfill_start.go) stores the stage, the floor and the run in
//     the birth of each sink, so that every process writes the changes after the floor. Before that, it stores the
//     backfill of an archive (job.storeArchive), because no other source may follow it.
//   - job.openSource (backfill_source.go) opens the export, the scan, the items or the saved records, and stores the
//     backfill; snapshot_choice.go, archive_source.go and table_keys.go help. Files of items are read before job.begin.
//     export_request.go requests an export, and export_note.go stores which export that is. [snapshot.Source] stores
//     how far each part is read.
//   - job.fill runs a pipeline of these sinks over the source. job.lagWaiter pauses the reading while consumers are
//     behind the stream; package stream measures their lag.
//   - job.leaveOutUnselected (narrowing.go) takes sinks out of the run for which the narrowing selects no item.
//   - job.finish calls job.waitAndMakeLive (live_stage.go), which waits until every shard is read past the last read of
//     the source. Then job.finish prints the result.
//
// planned_run.go is --dry-run and --prepare; lambda_function_check.go checks a Lambda function.
package backfill
