// Package worker decides what one worker of a fleet does: which shards it takes,
// when it asks the stream and for what, what it hands to the pipeline, and when it
// says how far it came.
//
// A [Worker] is a step function: [Worker.Step] takes in one [Event] at a time and
// gives back the [Action]s that follow. It has no goroutine, no lock, no clock and no
// I/O, so that a whole fleet of workers runs in one thread of a simulation, and the
// same seed brings the same run. shardreader/consumer is the shell that does the
// calls.
//
// What it promises, whatever the stream and the table answer and when:
//   - A shard is read only when every record of its parents is acknowledged and
//     that is durable. A shard ends only when the stream said so in a whole answer.
//   - A checkpoint never passes a record that is not acknowledged.
//   - Records that the stream dropped before they were read are a gap: durable, and
//     told, as soon as the stream says so, also where nothing is left of the shard, and
//     before anything behind it is delivered.
//   - A worker that cannot show that it lives reads nothing and has the
//     pipeline's writes stopped before another one may take its leases.
package worker
