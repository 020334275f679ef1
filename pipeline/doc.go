// Package pipeline delivers the changes of a DynamoDB stream, in order per item, to sinks.
//
// A [Source] reads pages of changes ([record.Change]). Filters drop changes and count why, detectors raise events, and
// sinks write. [Pipeline.Run] runs all of this, and counts every change at the source and at each sink ([Ledger]).
//
// The package imports only the standard library and the OpenTelemetry API. Sources, stores and codecs are in the
// packages around it.
//
// # From a page to a Write
//
//   - run.read, run.addPage (run.go): the reader calls Read, while the memory in use is below the limit.
//   - run.prepare (run.go), Pipeline.evaluatePage (prepare_page.go): preparers decode pages in parallel, evaluate
//     filters and detectors, and have each sink plan its deliveries.
//   - run.handOver, run.deliverPage (partition.go): pages reach the schedulers in the order of reading.
//   - scheduler.accept, scheduler.dispatch, scheduler.nextBatch (scheduler.go): the scheduler of a sink starts a
//     writer, which takes a batch. A lane (lane.go) keeps the order of one key.
//   - scheduler.writer, batch.call, route.callWrite (batch.go): the writer calls the sink.
//
// # From a Write to a Commit
//
//   - batch.go: route.callWrite returns an error for each delivery. scheduler.writer takes the result to
//     scheduler.afterCall, which calls scheduler.afterWrite after a Write.
//   - batch_result.go: scheduler.applyResult decides the fate of each delivery (scheduler.fateOf, scheduler.applyFate).
//     scheduler.finishDelivery counts a finished delivery, and scheduler.setNextState moves its lane to the next state.
//   - finish_page.go: run.finishDeliveries counts down the page's unfinished deliveries. Watermark.Finish
//     (watermark.go) finds the new position of the partition, run.setWatermark stores it, and run.commit calls the
//     [Committer].
//
// Every result enters through run.step (scheduler_step.go). run.step handles the result under the only lock of a run,
// and starts the calls that can start after it. Effects, such as log lines, follow after the lock is free.
//
// # Files, in the order to read them
//
//   - Contracts: source.go (with Control and Tracker), sink.go, filter.go, event.go, route.go, dead_letter_queue.go,
//     quarantine.go. Options and the pipeline itself: pipeline.go.
//   - A run: run.go, prepare_page.go, scheduler_step.go, partition.go, finish_page.go, watermark.go; inflight_bounds.go
//     and memory_pressure.go limit memory; revoke.go does what Control requests; stop.go ends a run; undecodable.go
//     handles records that cannot be decoded.
//   - One sink: queue.go, lane.go, scheduler.go, batch.go, batch_result.go, object_pools.go; pack.go and
//     packed_batch.go compress changes that wait for a large batch; batch_result.go decides what is tried again
//     (fateOf). retry.go has the marks of errors and the backoff, refusal_tracker.go retries denied calls.
//   - Reports: ledger.go, telemetry.go, sink_state.go, heldback.go, heldback_log.go, retry_log.go, explain.go.
//   - Others: redeliver.go (for redrives), requirements.go (images that stages need), plan_arena.go (memory of plans),
//     panic.go (panics and failures in the log).
//
// The packages below this one, from the bottom up: redact (texts of errors without data), decimal, internal/ddbjson
// (the scanner), item (images, values, keys, paths), record (changes and their decoding), unmarshal (Go structs), rules
// (filters and detectors), mask.
package pipeline
