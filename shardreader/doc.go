// Package shardreader defines the DynamoDB Streams API with its own types, records streams and tails them.
//
// [API] is the interface to the service. shardreader/sdk implements it with the AWS SDK, and shardreader/streamtest in
// memory. Every implementation promises two things. A page is decoded and owns its bytes. A shard ends only if a
// complete, valid response says so. A broken response is a transient error, and the caller uses the same iterator
// again.
//
// Three packages below read a stream continuously. shardreader/coordinator decides which shards a consumer reads.
// shardreader/leases stores the owner and the checkpoint of each shard. shardreader/consumer makes the calls, and is
// the source of a pipeline.
//
// [Record] copies a stream to JSON lines, parents before children; shardreader/replay reads them. The call chain of
// Record: Record → recorder.run → shardReader.readToEnd (one goroutine per shard) → recordWriter.write. [Tail] yields
// the records that are written to a stream from now on: tailer.run → tailReader.readToEnd (one goroutine per shard).
//
// Read streams_api.go and errors.go first, then stream_finder.go and shard_cursor.go. Recordings are in recording.go,
// shard_lineage.go, recording_shard_reader.go and recording_writer.go. Tails are in stream_tail.go and
// tail_shard_reader.go.
package shardreader
