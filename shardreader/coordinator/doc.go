// Package worker is the coordinator of one consumer of a fleet. It decides which shards the consumer reads,
// what it requests from the stream and when, what it hands to the pipeline, and when it writes checkpoints.
//
// A [Worker] is a step function: [Worker.Step] takes in one [Event] at a time and
// returns the [Action]s that follow. It has no goroutine, no lock, no clock and no
// I/O, so that a whole fleet runs in one thread of a simulation, and the
// same seed brings the same run. shardreader/consumer is the shell that makes the
// calls.
//
// What it promises, whatever the stream and the lease table answer and when:
//   - A shard is read only when every record of its parents is acknowledged and
//     that is durable. A shard ends only when the stream said so in a whole answer.
//   - A checkpoint never passes a record that is not acknowledged.
//   - Records that the stream dropped before they were read are a gap. It is durable and logged as soon as the stream
//     shows it, even if nothing is left of the shard, and before any later record is delivered.
//   - A consumer whose heartbeats fail reads nothing, and has the
//     pipeline's writes stopped before another one may take its leases.
//
// Where to find what:
//   - Step and the handling of each event: worker.go. Calls and their answers: calls.go, timers.go.
//   - The fleet: heartbeat.go, fleet.go (the lease table is read), rows.go (what is known of it), lease.go and
//     leasewrite.go (leases are taken and written), balance.go, handover.go, stop.go.
//   - One shard: assignment.go (its phases), poll.go (calls), page.go (answers), gap.go, checkpoint.go, children.go (its
//     end), budget.go.
//   - The topology of streams and shards: streams.go, listing.go, quota.go (DescribeStream calls), plan.go (leases that
//     should exist), sync.go.
//   - The end of all streams: end.go, unread.go. What is told: status.go, outage.go.
package coordinator
