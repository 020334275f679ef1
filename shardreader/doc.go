// Package shardreader reads the shards of DynamoDB streams.
//
// [API] is the seam to the service: four methods in this package's own types.
// shardreader/sdk implements it over the AWS SDK, shardreader/streamtest in
// memory. Two promises hold for every implementation: a page arrives decoded
// and owns its bytes, and a shard ends only on a complete, valid answer that says
// so. A broken answer is a transient error, to be asked for again with the same
// iterator.
//
// [Recorder] copies a stream, parents before children, to JSON lines that
// shardreader/replay reads back.
package shardreader
