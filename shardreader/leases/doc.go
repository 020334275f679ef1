// Package leases says who reads which shard, and how far it has come.
//
// A [Table] holds one [Lease] a shard and one [Member] a worker. Every write of a
// lease is a [Table.Swap]: it holds only while owner and counter are those that
// its writer knows, so that a worker that was replaced can move nothing. Workers
// show that they live by their members' beats, not by their leases: an idle
// fleet writes one row a worker, however many shards it has. Nobody compares
// clocks: a worker is gone when its beat stood still for as long as another one
// measured by its own clock.
//
// leases/dynamo keeps leases in the table of Amazon's KCL, which may take them
// over and hand them back. leases/file keeps them in a file, for one process.
package leases
