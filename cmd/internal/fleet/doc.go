// Package fleet is the commands status and leases: it reports the state of a pipeline's consumers, and changes
// their leases by hand.
//
// A [Look] has what is visible outside of the consumers: leases, heartbeats, the listed shards of the stream, and
// noted gaps. [Look.Report] makes a [Report] of it: the tree of shards, the consumer that reads each, its position
// and lag, and the problems. An [Edit] is the change of a lease that is released, reset or pinned, with its effects,
// before anything is written. Neither makes a call.
package fleet
