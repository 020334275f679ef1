// Package fleet says how the consumers of a pipeline stand, and plans what may be
// changed of their leases by hand.
//
// A [Look] is what can be seen from outside: leases and members, the stream's
// listing, the gaps that were noted. [Look.Report] makes a [Report] of it: the tree of
// shards, who reads each, how far and how far behind, and what is wrong. [Edit]s say
// what becomes of a lease that is released, reset or pinned, before anything is
// written. Both are pure.
package fleet
