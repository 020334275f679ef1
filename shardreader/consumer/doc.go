// Package consumer reads DynamoDB Streams for a long-lived process. Any number of consumers share the shards of a
// stream.
//
// A [Consumer] is the source of a [pipeline.Pipeline], and performs the actions of a [coordinator.Coordinator]. Each
// call of the stream or of the lease table has a goroutine and a timeout, and its result becomes an event of the
// coordinator. Pages wait in a queue, bounded in bytes, until the pipeline takes them. Acknowledgements of the pipeline
// are events too. The coordinator revokes partitions whose leases are lost.
//
// The call chain: [Consumer.Read] → Consumer.startReading → Consumer.loop → Consumer.stepAll → Consumer.step (the
// coordinator decides) → Consumer.perform → Consumer.makeCall → Consumer.sendEvent, which wakes the loop.
//
// Read the files in this order: pipeline_source.go (the contract with the pipeline), consumer.go (the loop),
// coordinator_actions.go, coordinator_calls.go, page_queue.go, consumer_close.go, then call_failures.go,
// consumer_health.go and telemetry.go.
//
// # Stopping
//
// A consumer is the source and the committer of one [pipeline.Pipeline.Run]. Close it after Run:
//
//	err = p.Run(ctx, c, c)
//	err = errors.Join(err, c.Close(context.WithoutCancel(ctx)))
//
// When the pipeline stops reading (ctx is done, Stop was called, or a stage failed), the consumer stops polling. It
// still sends heartbeats and writes checkpoints, and releases each lease once all records read of its shard are
// durable. After Run no more records become durable, so the remaining leases are released at their checkpoints.
// [Consumer.Close] waits until all leases are released.
//
// After a soft stop the next owners of the leases repeat no record. If the context of [pipeline.Pipeline.Stop] ends,
// the stop is hard. A hard stop also releases the leases at their durable checkpoints.
package consumer
