// Package shardreader reads the shards of DynamoDB streams.
//
// [API] is the seam to the service: four methods in this package's own types.
// shardreader/sdk implements it over the AWS SDK, shardreader/streamtest in
// memory. Two promises hold for every implementation: a page arrives decoded
// and owns its bytes, and a shard ends only on a complete, valid answer that says
// so. A broken answer is a transient error, to be asked for again with the same
// iterator.
//
// What reads a stream for as long as it runs is made of three parts below this one:
// shardreader/worker decides, as a step function; shardreader/leases keeps who reads
// which shard and how far it came; shardreader/consumer makes the calls, and is the source of a pipeline.
//
// [Record] copies a stream, parents before children, to JSON lines that
// shardreader/replay reads back.
package shardreader
