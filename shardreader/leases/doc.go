// Package leases defines which consumer reads a shard, and how far the shard was read.
//
// A [Table] stores one [Lease] per shard and one [Member] per consumer. Every change of a lease is a [Table.Swap]. A
// Swap succeeds only if the row's owner and counter still have the values that the writer knows. So a consumer that was
// replaced cannot overwrite a lease.
//
// Heartbeats are in the members' rows, not in the leases. So an idle fleet writes one row per consumer, even if it has
// thousands of shards. No clocks are compared. A consumer counts as gone if its heartbeat did not change for some time,
// and every other consumer measures that time with its own clock.
//
// [Memory] is the reference implementation. leases/dynamo stores leases in the table of a KCL application, so that
// tablewake can take over its shards and hand them back. leases/file stores leases in a file, for one process.
//
// Read lease.go, lease_table.go and fleet_member.go first: they are the contract. table_snapshot.go answers questions
// about the content of a table.
package leases
