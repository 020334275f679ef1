// Package leases defines who reads which shard, and how far it was read.
//
// A [Table] stores one [Lease] per shard and one [Member] per consumer. Every write of a
// lease is a [Table.Swap]: it succeeds only if owner and counter are still those that
// its writer knows. So a consumer that was replaced cannot overwrite anything.
// Heartbeats are in the members' rows, not in the leases: an idle fleet writes one row per
// consumer, however many shards it has. No clocks are compared: a consumer counts as gone
// if its heartbeat did not change for a time that another consumer measures by its own clock.
//
// [Memory] is the reference implementation. leases/dynamo stores leases in the table of Amazon's KCL,
// so a KCL application can be taken over and handed back. leases/file stores them in a file, for one process.
//
// Read lease.go, table.go and member.go first: they are the contract. snapshot.go answers questions
// about a whole table.
package leases
