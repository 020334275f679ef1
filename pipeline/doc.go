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
//   - run.read, run.addPage (pipeline_run.go): the reader calls Read, while the memory in use is below the limit.
//   - run.prepare (pipeline_run.go), Pipeline.evaluatePage (page_evaluation.go): preparers decode pages in parallel,
//     evaluate filters and detectors, and have each sink plan its deliveries.
//   - run.handOver, run.deliverPage (partition_state.go): pages reach the schedulers in the order of reading.
//   - scheduler.enqueue, scheduler.dispatch, scheduler.nextBatch (sink_scheduler.go): the scheduler of a sink starts a
//     writer, which takes a batch. A lane (key_lane.go) keeps the order of one key.
//   - scheduler.writer, batch.call, route.callWrite (batch.go): the writer calls the sink.
//
// # From a Write to a Commit
//
//   - batch.go: route.callWrite returns an error for each delivery. scheduler.writer takes the result to
//     scheduler.afterCall, which calls scheduler.afterWrite after a Write.
//   - batch_result.go: scheduler.applyResult decides the fate of each delivery (scheduler.fateOf, scheduler.applyFate).
//     scheduler.finishDelivery counts a finished delivery, and scheduler.setNextState moves its lane to the next state.
//   - watermark_commit.go: run.finishDeliveries counts down the page's unfinished deliveries. Watermark.Finish
//     (watermark.go) finds the new position of the partition, run.setWatermark stores it, and run.commit calls the
//     [Committer].
//
// Every result enters through run.step (run_step.go). run.step handles the result under the only lock of a run, and
// starts the calls that can start after it. Effects, such as log lines, follow after the lock is free.
//
// # Files, in the order to read them
//
//   - Contracts: source.go (with Control and Tracker), sink.go, filter.go, event_detector.go, sink_route.go,
//     dead_letter_queue.go, key_quarantine.go. Options and the pipeline itself: pipeline.go.
//   - A run: pipeline_run.go, page_evaluation.go, run_step.go, partition_state.go, watermark_commit.go, watermark.go;
//     inflight_memory_limit.go and memory_pressure.go limit memory; partition_revocation.go does what Control requests;
//     run_stop.go ends a run; undecodable_records.go handles records that cannot be decoded.
//   - One sink: delivery_queue.go, key_lane.go, sink_scheduler.go, batch.go, batch_result.go, object_pools.go;
//     compressed_pack.go and packed_batch.go compress changes that wait for a large batch; batch_result.go decides what
//     is tried again (fateOf). retry_policy.go has the marks of errors and the backoff, denied_call_tracker.go retries
//     denied calls.
//   - Reports: ledger.go, telemetry.go, sink_state.go, held_back_partitions.go, held_back_log.go, retry_log.go,
//     change_explanation.go.
//   - Others: redelivery.go (for redrives), image_requirements.go (images that stages need), plan_arena.go (memory of
//     plans), panic_guard.go (panics and failures in the log).
//
// The packages below this one, from the bottom up: redact (texts of errors without data), decimal, internal/ddbjson
// (the scanner), item (images, values, keys, paths), record (changes and their decoding), unmarshal (Go structs), rules
// (filters and detectors), mask.
package pipeline
