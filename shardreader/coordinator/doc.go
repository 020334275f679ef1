// Package coordinator decides what one consumer of a fleet does. It decides which shards the consumer reads, what the
// consumer requests from the stream and delivers to the pipeline, and when it writes checkpoints.
//
// A [Coordinator] is a step function: [Coordinator.Step] handles one [Event] and returns the [Action]s that follow. It
// has no goroutine, no lock, no clock and no I/O. So a simulation runs a whole fleet in one thread, and the same seed
// always gives the same run. shardreader/consumer performs the actions and sends the events.
//
// The coordinator promises, whatever the stream and the lease table return:
//   - A shard is read only after every record of its parents is durable. A shard ends only if the stream said so in a
//     complete page.
//   - A checkpoint never passes a record that is not acknowledged.
//   - Records that the stream dropped before they were read are a gap. The gap is stored and logged as soon as the
//     stream shows it, even if the shard has no records left. No later record is delivered before that.
//   - A consumer whose heartbeats fail reads nothing. It stops the pipeline's writes before another consumer may take
//     its leases.
//
// Where to find what:
//   - Step: coordinator.go. The inputs and outputs: input_events.go, output_actions.go. Calls and their results:
//     call_results.go, timers.go.
//   - The fleet: consumer_heartbeat.go (the consumer's heartbeats), refresh_leases.go (reads the lease table and
//     compares each row), known_leases.go (the leases as last read), live_consumers.go, lease_state.go (which leases
//     this consumer may take, keeps and loses), lease_write.go (writes leases), lease_balance.go, lease_handover.go,
//     coordinator_stop.go.
//   - One shard: shard_assignment.go (its phases, and what is acknowledged), shard_polling.go (calls), receive_page.go
//     (pages), lost_records.go, lease_checkpoint.go, find_children.go (the end of the shard), call_budget.go.
//   - The topology of streams and shards: find_streams.go, shard_listing.go, describe_stream_quota.go (DescribeStream
//     calls), lease_plan.go (leases that should exist), lease_sync.go.
//   - The end of all streams: stream_end_check.go, unread_search.go. Reports: coordinator_status.go, outage_log.go.
//
// The call chain of a page: Coordinator.dispatch → requestPage → the consumer's GetRecords → handlePage → receive →
// accept → deliver → Acked.handle → save.
package coordinator
