// Package coordinator decides what one consumer of a fleet does: which shards it reads, what it requests from the
// stream, what it delivers to the pipeline, and when it writes checkpoints.
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
//   - Step: coordinator.go. The inputs and outputs: event.go, action.go. Calls and their results: calls.go, timers.go.
//   - The fleet: heartbeat.go (contact with the others), refresh.go (reads the lease table), rows.go (the leases as
//     last read), fleet.go, lease.go and leasewrite.go (take and write leases), balance.go, handover.go, stop.go.
//   - One shard: assignment.go (its phases), poll.go (calls), page.go (pages), gap.go, checkpoint.go, children.go (the
//     end of the shard), budget.go.
//   - The topology of streams and shards: streams.go, listing.go, quota.go (DescribeStream calls), plan.go (leases that
//     should exist), sync.go.
//   - The end of all streams: end.go, unread.go. Reports: status.go, outage.go.
//
// The call chain of a page: Coordinator.dispatch → requestPage → the consumer's GetRecords → handlePage → receive →
// accept → deliver → Acked.handle → save.
package coordinator
